//! Rounds in memory: open rounds with their splits, and a few other recently used splits.
//! Everything else is in the store, so memory grows with the number of open rounds and not with all
//! rounds.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use crate::store::{Millis, SplitRow};

/// Largest number of splits of open rounds in memory; older ones are read from the store.
const MOST_SPLITS: usize = 20_000;
/// Largest number of spends in them: a split of 10,000 tasks is large.
const MOST_SPLIT_NUMBERS: usize = 4_000_000;
/// Splits without open rounds that are kept for repeated reports.
const MOST_IDLE: usize = 64;
/// Largest number of spends in them.
const MOST_IDLE_NUMBERS: usize = 100_000;

/// Rounds of a campaign that are known without reading the store.
#[derive(Debug, Default)]
pub(super) struct OpenRounds {
    /// Expiry times of open rounds.
    expires: HashMap<u64, Millis>,
    order: BTreeSet<(Millis, u64)>,
    /// By the first of their rounds.
    splits: BTreeMap<u64, Held>,
    /// The first rounds of splits without open rounds, the latest last. They may be gone, or open
    /// again.
    idle: VecDeque<u64>,
    /// One past the highest round that was open.
    past: u64,
    /// Time of the last expiry, and `past` at that time.
    expired: Option<(Millis, u64)>,
}

/// A split, and the number of its open rounds.
#[derive(Debug)]
struct Held {
    row: Arc<SplitRow>,
    waiting: usize,
}

/// Number of splits with this many tasks that may be kept.
fn most(splits: usize, numbers: usize, row: &SplitRow) -> usize {
    splits.min(numbers / (3 * row.split.spend.len().max(1))).max(1)
}

impl OpenRounds {
    /// Open rounds, as the store has them.
    pub(super) fn new(waiting: impl IntoIterator<Item = (u64, Millis)>) -> Self {
        let mut rounds = Self::default();
        waiting.into_iter().for_each(|(round, expires_at)| rounds.wait(round, expires_at));
        rounds
    }

    /// Adds issued rounds; all of them are open.
    pub(super) fn hand_out(&mut self, row: &Arc<SplitRow>) {
        row.rounds.clone().for_each(|round| self.wait(round, row.expires_at));
        self.remember(row);
    }

    /// Removes rounds that were not issued after all.
    pub(super) fn rollback(&mut self, rounds: &Range<u64>) {
        for round in rounds.clone() {
            self.stop_waiting(round);
        }
        self.splits.remove(&rounds.start);
    }

    /// Removes a completely reported round.
    pub(super) fn complete(&mut self, round: u64) {
        if self.stop_waiting(round) {
            self.release(round);
        }
    }

    /// The time at which to show a round. Expired rounds do not become open again if the clock goes
    /// back.
    pub(super) fn time_of(&self, round: u64, now: Millis) -> Millis {
        match self.expired {
            Some((expired_at, past)) if round < past => now.max(expired_at),
            _ => now,
        }
    }

    /// Number of open rounds, without expired ones.
    pub(super) fn count_waiting(&mut self, now: Millis) -> usize {
        while let Some(&(expires_at, round)) = self.order.first() {
            if expires_at > now {
                break;
            }
            self.complete(round);
            self.expired = self.expired.max(Some((now, self.past)));
        }
        self.order.len()
    }

    /// The open rounds.
    pub(super) fn waiting(&self) -> Vec<u64> {
        self.expires.keys().copied().collect()
    }

    /// The split of a round, if it is in memory.
    pub(super) fn split(&self, round: u64) -> Option<Arc<SplitRow>> {
        let (_, held) = self.splits.range(..=round).next_back()?;
        held.row.rounds.contains(&round).then(|| Arc::clone(&held.row))
    }

    /// Keeps a split in memory.
    pub(super) fn remember(&mut self, row: &Arc<SplitRow>) {
        while self.splits.len() >= most(MOST_SPLITS, MOST_SPLIT_NUMBERS, row) {
            self.splits.pop_first();
        }
        let waiting = row.rounds.clone().filter(|round| self.expires.contains_key(round)).count();
        self.splits.insert(row.rounds.start, Held { row: Arc::clone(row), waiting });
        if waiting == 0 {
            self.set_aside(row);
        }
    }

    fn wait(&mut self, round: u64, expires_at: Millis) {
        self.expires.insert(round, expires_at);
        self.order.insert((expires_at, round));
        self.past = self.past.max(round.saturating_add(1));
    }

    /// Returns whether the round was open.
    fn stop_waiting(&mut self, round: u64) -> bool {
        let expires_at = self.expires.remove(&round);
        expires_at.is_some_and(|expires_at| self.order.remove(&(expires_at, round)))
    }

    /// Removes one open round from its split.
    fn release(&mut self, round: u64) {
        let Some((_, held)) = self.splits.range_mut(..=round).next_back() else { return };
        if !held.row.rounds.contains(&round) {
            return;
        }
        held.waiting = held.waiting.saturating_sub(1);
        if held.waiting == 0 {
            let row = Arc::clone(&held.row);
            self.set_aside(&row);
        }
    }

    /// A split without open rounds is kept for a while; the oldest such split is removed.
    fn set_aside(&mut self, row: &SplitRow) {
        self.idle.push_back(row.rounds.start);
        while self.idle.len() > most(MOST_IDLE, MOST_IDLE_NUMBERS, row) {
            let Some(oldest) = self.idle.pop_front() else { return };
            if self.splits.get(&oldest).is_some_and(|held| held.waiting == 0) {
                self.splits.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Split;

    fn row(rounds: Range<u64>, tasks: usize, expires_at: Millis) -> Arc<SplitRow> {
        let numbers = || vec![0.0; tasks];
        let split = Split {
            budget: 1.0,
            available: None,
            spend: numbers(),
            success: numbers(),
            index: numbers(),
            ..Split::default()
        };
        let (split, amendments, stats_version, at) = (Arc::new(split), 0, 0, 0);
        Arc::new(SplitRow { rounds, split, amendments, stats_version, at, expires_at })
    }

    #[test]
    fn a_split_is_kept_while_one_of_its_rounds_is_open() {
        let mut rounds = OpenRounds::default();
        rounds.hand_out(&row(1..4, 2, 10));
        for first in 4..2000 {
            rounds.hand_out(&row(first..first + 1, 2, 10));
            rounds.complete(first);
            rounds.complete(1 + first % 2);
        }
        assert_eq!((rounds.count_waiting(0), rounds.splits.len()), (1, MOST_IDLE + 1));
        assert!(
            rounds.split(3).is_some() && rounds.split(1).is_some() && rounds.split(1999).is_some()
        );
        assert!(rounds.split(1000).is_none(), "this split must be read from the store");
        rounds.complete(3);
        assert!(rounds.split(3).is_some(), "repeated reports still need it");
        (2000..2100).for_each(|first| rounds.remember(&row(first..first + 1, 2, 10)));
        assert_eq!(
            (rounds.split(3), rounds.splits.len(), rounds.idle.len()),
            (None, MOST_IDLE, MOST_IDLE)
        );
    }

    #[test]
    fn expired_rounds_release_their_splits() {
        let mut rounds = OpenRounds::default();
        for first in 1..=1000 {
            rounds.hand_out(&row(first..first + 1, 2, first as Millis));
        }
        assert_eq!((rounds.count_waiting(0), rounds.splits.len()), (1000, 1000));
        assert_eq!((rounds.count_waiting(900), rounds.splits.len()), (100, 100 + MOST_IDLE));
        assert!(rounds.split(901).is_some());
    }

    #[test]
    fn rolled_back_rounds_leave_nothing_behind() {
        let mut rounds = OpenRounds::default();
        rounds.hand_out(&row(1..9, 2, 10));
        rounds.rollback(&(1..9));
        assert_eq!((rounds.count_waiting(0), rounds.splits.len(), rounds.idle.len()), (0, 0, 0));
    }

    #[test]
    fn fewer_large_splits_are_kept() {
        let mut rounds = OpenRounds::default();
        (1..=200).for_each(|first| rounds.hand_out(&row(first..first + 1, 10_000, 10)));
        assert_eq!(rounds.splits.len(), MOST_SPLIT_NUMBERS / 30_000);
        assert_eq!(rounds.count_waiting(0), 200, "all rounds are still open");
        (1..=200).for_each(|round| rounds.complete(round));
        assert_eq!(rounds.splits.len(), MOST_IDLE_NUMBERS / 30_000);
    }

    #[test]
    fn a_split_read_again_keeps_its_open_rounds() {
        let mut rounds = OpenRounds::new([(2, 10), (3, 10)]);
        rounds.remember(&row(1..4, 2, 10));
        rounds.complete(2);
        rounds.complete(2);
        (10..500).for_each(|first| rounds.remember(&row(first..first + 1, 2, 10)));
        assert!(rounds.split(3).is_some(), "one round is still open");
        rounds.complete(3);
        (500..600).for_each(|first| rounds.remember(&row(first..first + 1, 2, 10)));
        assert!(rounds.split(3).is_none());
    }
}
