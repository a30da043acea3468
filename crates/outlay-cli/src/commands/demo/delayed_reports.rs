//! Delayed delivery of reports: some are late, some are duplicated, some are lost.

use std::collections::BTreeMap;

use outlay::random::{Draws, Purpose};
use outlay_server::api::{BulkLine, TaskResult};

/// Reports by arrival time, in rounds since the start.
#[derive(Debug)]
pub(super) struct DelayedReports {
    in_transit: BTreeMap<u64, Vec<BulkLine>>,
    luck: Draws,
    /// A delay after which the round has expired.
    very_late: u64,
}

/// Probabilities for each report.
const LOST: f64 = 0.01;
const VERY_LATE: f64 = 0.01;
const TWICE: f64 = 0.05;

impl DelayedReports {
    pub(super) fn new(seed: u64, very_late: u64) -> Self {
        Self {
            in_transit: BTreeMap::new(),
            luck: Draws::new(seed, Purpose::Availability),
            very_late,
        }
    }

    /// Sends the outcome of one task.
    pub(super) fn send(
        &mut self,
        now: u64,
        round: u64,
        task: usize,
        delay: u64,
        result: TaskResult,
    ) {
        let luck = self.luck.round(round).uniform(task);
        let report = BulkLine { round, results: vec![result] };
        let due = now + 1 + delay;
        match luck {
            luck if luck < LOST => {}
            luck if luck < LOST + VERY_LATE => self.put(due + self.very_late, report),
            luck if luck < LOST + VERY_LATE + TWICE => {
                self.put(due + 2, report.clone());
                self.put(due, report);
            }
            _ => self.put(due, report),
        }
    }

    fn put(&mut self, due: u64, report: BulkLine) {
        self.in_transit.entry(due).or_default().push(report);
    }

    /// The reports that have arrived.
    pub(super) fn arrived(&mut self, now: u64) -> Vec<BulkLine> {
        let later = self.in_transit.split_off(&(now + 1));
        std::mem::replace(&mut self.in_transit, later).into_values().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_reports_arrive_once_some_twice_late_or_never() {
        let mut reports = DelayedReports::new(1, 1000);
        for round in 1..=5000 {
            reports.send(
                0,
                round,
                0,
                round % 7,
                TaskResult {
                    task: "a".to_owned(),
                    completed: Some(false),
                    ..TaskResult::default()
                },
            );
        }
        assert_eq!(reports.arrived(0), []);
        let in_time = reports.arrived(20);
        let late = reports.arrived(1020);
        assert!(reports.in_transit.is_empty());
        let mut count = BTreeMap::<u64, usize>::new();
        in_time.iter().for_each(|report| *count.entry(report.round).or_default() += 1);
        let twice = count.values().filter(|count| **count == 2).count();
        let lost = 5000 - count.len() - late.len();
        assert!((200..300).contains(&twice), "{twice}");
        assert!((25..80).contains(&late.len()), "{}", late.len());
        assert!((25..80).contains(&lost), "{lost}");
        assert!(count.values().all(|count| *count <= 2));
    }
}
