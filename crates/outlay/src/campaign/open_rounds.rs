//! Issued rounds with missing outcomes.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::CampaignError;
use crate::feedback::{Completion, Outcome};
use crate::oracle::Allocation;

/// An open round: which outcomes were reported, and its allocation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct OpenRound {
    pub(super) round: u64,
    /// The status of each task's outcome.
    pub(super) waits: Vec<Wait>,
    /// The allocation, if the learner needs it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) spend: Vec<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) success: Vec<f64>,
    #[serde(skip)]
    pub(super) waiting: usize,
}

impl OpenRound {
    /// A round without reported outcomes.
    fn new(round: u64, tasks: usize) -> Self {
        Self {
            round,
            waits: vec![Wait::Open; tasks],
            spend: Vec::new(),
            success: Vec::new(),
            waiting: tasks,
        }
    }

    /// Marks an outcome as reported.
    fn mark(&mut self, task: usize) -> Result<(), RejectedOutcome> {
        match self.waits[task] {
            Wait::Reported => return Err(RejectedOutcome::Reported),
            Wait::Unavailable => return Err(RejectedOutcome::Unavailable),
            Wait::Open => self.waits[task] = Wait::Reported,
        }
        Ok(())
    }

    /// Marks the outcomes of some tasks as reported, or none if one is rejected.
    fn mark_all(
        &mut self,
        tasks: impl Iterator<Item = usize> + Clone,
    ) -> Result<(), (usize, RejectedOutcome)> {
        for (marked, task) in tasks.clone().enumerate() {
            if let Err(refusal) = self.mark(task) {
                // The tasks before it were open; a repeated task was marked by this call.
                tasks.take(marked).for_each(|task| self.waits[task] = Wait::Open);
                return Err((task, refusal));
            }
        }
        Ok(())
    }
}

/// The status of a task's outcome in an open round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Wait {
    /// Missing.
    Open,
    #[serde(rename = "told")]
    Reported,
    #[serde(rename = "away")]
    Unavailable,
}

/// The reason why an outcome is rejected.
#[derive(Debug, Clone, Copy)]
pub(super) enum RejectedOutcome {
    Reported,
    Unavailable,
}

impl RejectedOutcome {
    pub(super) fn about(self, task: &str, round: u64) -> CampaignError {
        let task = task.to_owned();
        match self {
            Self::Reported => CampaignError::AlreadyReported { task, round },
            Self::Unavailable => CampaignError::Unavailable { task, round },
        }
    }
}

/// The open rounds in their order. Records are reused, so that a round allocates no memory.
///
/// The outcomes of most rounds are reported together before the next round is issued. Such a round
/// is only a number, `fresh`; it gets a record only if something else happens first.
#[derive(Debug)]
pub(super) struct OpenRounds {
    fresh: Option<u64>,
    rounds: VecDeque<OpenRound>,
    spare: Vec<OpenRound>,
    tasks: usize,
    keeps_allocations: bool,
    /// The number of complete rounds in the queue behind an open one.
    closed: usize,
}

impl OpenRounds {
    pub(super) fn new(tasks: usize, keeps_allocations: bool) -> Self {
        Self {
            fresh: None,
            rounds: VecDeque::new(),
            spare: Vec::new(),
            tasks,
            keeps_allocations,
            closed: 0,
        }
    }

    /// Whether it stores the allocations.
    pub(super) fn keeps_allocations(&self) -> bool {
        self.keeps_allocations
    }

    /// The number of open rounds.
    pub(super) fn len(&self) -> usize {
        self.rounds.len() - self.closed + usize::from(self.fresh.is_some())
    }

    /// The records of the open rounds.
    pub(super) fn records(&self) -> Vec<OpenRound> {
        let fresh = self.fresh.map(|round| OpenRound::new(round, self.tasks));
        self.rounds.iter().filter(|record| record.waiting > 0).cloned().chain(fresh).collect()
    }

    pub(super) fn open(&mut self, round: u64, available: Option<&[bool]>, allocation: &Allocation) {
        self.record_fresh();
        if available.is_none() && !self.keeps_allocations {
            self.fresh = Some(round);
        } else {
            self.record(round, available, Some(allocation));
        }
    }

    /// Creates the record of the fresh round.
    pub(super) fn record_fresh(&mut self) {
        if let Some(round) = self.fresh.take() {
            self.record(round, None, None);
        }
    }

    /// Closes the round if it is fresh; returns whether it was.
    pub(super) fn close_fresh(&mut self, round: u64) -> bool {
        let is_fresh = self.fresh == Some(round);
        if is_fresh {
            self.fresh = None;
        }
        is_fresh
    }

    fn record(&mut self, round: u64, available: Option<&[bool]>, allocation: Option<&Allocation>) {
        let tasks = self.tasks;
        let mut record = self.spare.pop().unwrap_or_else(|| OpenRound::new(round, tasks));
        record.round = round;
        record.waiting = tasks;
        record.waits.fill(Wait::Open);
        for (wait, _) in
            record.waits.iter_mut().zip(available.unwrap_or_default()).filter(|(_, there)| !**there)
        {
            *wait = Wait::Unavailable;
            record.waiting -= 1;
        }
        if let Some(allocation) = allocation.filter(|_| self.keeps_allocations) {
            record.spend.clone_from(&allocation.spend);
            record.success.clone_from(&allocation.success);
            // An unavailable task cannot complete, even if its curve has a floor.
            for (success, is_there) in record.success.iter_mut().zip(available.unwrap_or_default())
            {
                *success = if *is_there { *success } else { 0.0 };
            }
        }
        if record.waiting > 0 {
            self.rounds.push_back(record);
        } else {
            self.spare.push(record);
        }
    }

    /// Adds a saved record.
    pub(super) fn restore(&mut self, mut record: OpenRound) {
        record.waiting = record.waits.iter().filter(|wait| **wait == Wait::Open).count();
        if record.waiting > 0 {
            self.rounds.push_back(record);
        }
    }

    /// The position of a round, if it is open.
    pub(super) fn find(&self, round: u64) -> Option<usize> {
        let place = self.rounds.binary_search_by_key(&round, |record| record.round).ok()?;
        (self.rounds[place].waiting > 0).then_some(place)
    }

    pub(super) fn report(&mut self, place: usize, task: usize) -> Result<(), RejectedOutcome> {
        self.rounds[place].mark(task)?;
        self.reduce_waiting(place, 1);
        Ok(())
    }

    /// Marks all outcomes that are not missing as reported, or none if one is rejected.
    pub(super) fn report_all(
        &mut self,
        place: usize,
        outcomes: &[Outcome],
    ) -> Result<(), (usize, RejectedOutcome)> {
        let reported = outcomes.iter().enumerate().filter(|(_, o)| **o != Outcome::Missing);
        let tasks = reported.map(|(task, _)| task);
        self.rounds[place].mark_all(tasks.clone())?;
        self.reduce_waiting(place, tasks.count());
        Ok(())
    }

    /// Marks all outcomes of a round as reported, or none if one of the completed tasks is not
    /// open.
    pub(super) fn report_rest(
        &mut self,
        place: usize,
        completed: &[Completion],
    ) -> Result<(), (usize, RejectedOutcome)> {
        self.rounds[place].mark_all(completed.iter().map(|completion| completion.task))?;
        self.close(place);
        Ok(())
    }

    fn reduce_waiting(&mut self, place: usize, reported: usize) {
        self.rounds[place].waiting -= reported;
        if self.rounds[place].waiting == 0 {
            self.close(place);
        }
    }

    /// Whether all tasks of a round were available and none of its outcomes was reported.
    pub(super) fn is_unreported(&self, place: usize) -> bool {
        self.rounds[place].waiting == self.tasks
    }

    /// The allocation of a round: spends and success probabilities.
    pub(super) fn split(&self, place: usize) -> (&[f64], &[f64]) {
        let record = &self.rounds[place];
        (&record.spend, &record.success)
    }

    /// The spend on a task, if allocations are kept.
    pub(super) fn spend(&self, place: usize, task: usize) -> Option<f64> {
        self.rounds[place].spend.get(task).copied()
    }

    /// The status of each task of a round.
    pub(super) fn waits(&self, place: usize) -> &[Wait] {
        &self.rounds[place].waits
    }

    pub(super) fn close(&mut self, place: usize) {
        self.rounds[place].waiting = 0;
        self.closed += 1;
        self.drop_closed();
    }

    /// Removes complete rounds at the head of the queue; those behind an open one stay.
    fn drop_closed(&mut self) {
        while self.rounds.front().is_some_and(|record| record.waiting == 0) {
            self.spare.extend(self.rounds.pop_front());
            self.closed -= 1;
        }
    }
}
