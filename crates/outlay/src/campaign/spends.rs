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
    /// As [`Campaign::observe_round`], with the spends.
    pub(super) fn observe_round_spent(
        &mut self,
        round: u64,
        outcomes: &[Outcome],
    ) -> Result<(), CampaignError> {
        let place = self.open.find(round).ok_or(CampaignError::NotOpen(round))?;
        self.spends.spent.clear();
        self.spends.spent.extend_from_slice(self.open.split(place).0);
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
        let Spends { spent, outcomes } = &mut self.spends;
        spent.clear();
        spent.extend_from_slice(self.open.split(place).0);
        outcomes.clear();
        outcomes.extend(self.open.waits(place).iter().map(|wait| match wait {
            Wait::Open => Outcome::Failed,
            Wait::Reported | Wait::Unavailable => Outcome::Missing,
        }));
        let reported = self.open.report_rest(place, completed);
        reported.map_err(|(task, refusal)| refusal.about(&self.planner.names[task], round))?;
        completed
            .iter()
            .for_each(|completion| outcomes[completion.task] = Outcome::Done(completion.reward));
        for (task, (&outcome, &spend)) in outcomes.iter().zip(spent.iter()).enumerate() {
            self.planner.learner.observe_spent(task, spend, outcome);
        }
        Ok(())
    }
}
