//! Rounds that were handed out before: how a campaign is made again from a record of what happened.

use super::{Campaign, CampaignError};
use crate::learner::Situation;
use crate::oracle::{AllocationError, Warmth};

impl Campaign {
    /// Takes up a round as it was handed out: its split and each task's chance of success under it are facts by now, whatever the
    /// learner would say today. Returns the round.
    ///
    /// # Errors
    /// If the numbers do not fit the tasks; nothing changes then.
    pub fn take_up(&mut self, budget: f64, available: Option<&[bool]>, spend: &[f64], success: &[f64]) -> Result<u64, CampaignError> {
        self.check(available)?;
        for (what, numbers) in [("spend", spend), ("success", success)] {
            if numbers.len() != self.names.len() {
                return Err(CampaignError::Count { what, expected: self.names.len(), got: numbers.len() });
            }
        }
        if !(budget >= 0.0 && budget.is_finite()) {
            return Err(AllocationError::BadBudget(budget).into());
        }
        let round = self.round + 1;
        // A learner may count its decisions; what it says is not asked for.
        self.learner.decide(&Situation { round, budget, available }, &mut self.weights);
        self.own.budget = budget;
        self.own.spend.copy_from_slice(spend);
        self.own.success.copy_from_slice(success);
        self.open.open(round, available, &self.own);
        if let Some(watch) = &mut self.watch {
            watch.follow(budget, available, spend);
        }
        self.round = round;
        Ok(round)
    }

    /// Where the next search starts: a campaign made anew that [starts from](Campaign::search_from) there answers as this one would,
    /// to the last bit.
    pub(crate) fn warmth(&self) -> Warmth {
        self.oracle.warmth()
    }

    /// Makes the next search start there.
    pub(crate) fn search_from(&mut self, warmth: &Warmth) {
        self.oracle.start_from(warmth);
    }
}
