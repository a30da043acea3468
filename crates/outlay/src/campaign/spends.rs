//! Outcomes for learners that need the spend with each outcome: the spend in the round of the
//! outcome, however late it arrives.

use super::open_rounds::Wait;
use super::{Campaign, CampaignError};
use crate::feedback::{Completion, Outcome};

/// Buffers that are reused, so that a round allocates no memory.
#[derive(Debug, Default)]
pub(super) struct Spends {
    spent: Vec<f64>,
    outcomes: Vec<Outcome>,
}

impl Campaign {
    /// As [`Campaign::observe_round`], with the amounts that were really spent, one per task; `None`
    /// where it is unknown and taken to be the allocated one. Learners that learn from spends use
    /// them; for the others this is [`Campaign::observe_round`].
    ///
    /// # Errors
    /// As [`Campaign::observe`], or if there is not one spend per task; nothing changes then.
    pub fn observe_round_at(
        &mut self,
        round: u64,
        outcomes: &[Outcome],
        spent: &[Option<f64>],
    ) -> Result<(), CampaignError> {
        let expected = self.planner.names.len();
        for (what, got) in [("outcomes", outcomes.len()), ("spends", spent.len())] {
            if got != expected {
                return Err(CampaignError::Count { what, expected, got });
            }
        }
        if self.planner.sees_gains || !self.open.keeps_allocations() {
            return self.observe_round(round, outcomes);
        }
        self.observe_round_spent(round, outcomes, spent)
    }

    /// As [`Campaign::observe_round_at`]; without `spent`, at the allocated spends.
    pub(super) fn observe_round_spent(
        &mut self,
        round: u64,
        outcomes: &[Outcome],
        spent: &[Option<f64>],
    ) -> Result<(), CampaignError> {
        let place = self.open.find(round).ok_or(CampaignError::NotOpen(round))?;
        self.spends.spent.clear();
        self.spends.spent.extend_from_slice(self.open.split(place).0);
        let reported = self.spends.spent.iter_mut().zip(spent);
        reported.for_each(|(spend, spent)| *spend = spent.unwrap_or(*spend));
        let reported = self.open.report_all(place, outcomes);
        reported.map_err(|(task, refusal)| refusal.about(&self.planner.names[task], round))?;
        for (task, (&outcome, &spend)) in outcomes.iter().zip(&self.spends.spent).enumerate() {
            self.planner.learner.observe_spent(task, spend, outcome);
        }
        Ok(())
    }

    /// As [`Campaign::observe_completed`], with the spends and with explicit failures.
    pub(super) fn observe_rest_spent(
        &mut self,
        round: u64,
        completed: &[Completion],
    ) -> Result<(), CampaignError> {
        let place = self.open.find(round).ok_or(CampaignError::NotOpen(round))?;
        self.spends.spent.clear();
        self.spends.spent.extend_from_slice(self.open.split(place).0);
        self.report_rest(place, round, completed)?;
        let Spends { spent, outcomes } = &self.spends;
        for (task, (&outcome, &spend)) in outcomes.iter().zip(spent).enumerate() {
            self.planner.learner.observe_spent(task, spend, outcome);
        }
        Ok(())
    }

    /// As [`Campaign::observe_completed`], for a round in which some outcomes were reported before
    /// or some tasks were unavailable.
    pub(super) fn observe_rest(
        &mut self,
        place: usize,
        round: u64,
        completed: &[Completion],
    ) -> Result<(), CampaignError> {
        self.report_rest(place, round, completed)?;
        for (task, &outcome) in self.spends.outcomes.iter().enumerate() {
            self.planner.learner.observe(task, outcome);
        }
        Ok(())
    }

    /// Marks all outcomes of a round as reported, and leaves the new ones in the buffer.
    fn report_rest(
        &mut self,
        place: usize,
        round: u64,
        completed: &[Completion],
    ) -> Result<(), CampaignError> {
        let outcomes = &mut self.spends.outcomes;
        outcomes.clear();
        outcomes.extend(self.open.waits(place).iter().map(|wait| match wait {
            Wait::Open => Outcome::Failed,
            Wait::Reported | Wait::Unavailable => Outcome::Missing,
        }));
        let reported = self.open.report_rest(place, completed);
        reported.map_err(|(task, refusal)| refusal.about(&self.planner.names[task], round))?;
        for completion in completed {
            outcomes[completion.task] = Outcome::Done(completion.reward);
        }
        Ok(())
    }
}
