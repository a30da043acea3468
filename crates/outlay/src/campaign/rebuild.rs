//! Rounds that were handed out before: how a campaign is made again from a record of what happened.

use super::{Campaign, CampaignError};
use crate::oracle::WarmStart;

impl Campaign {
    /// Takes up a round as it was handed out: its split and each task's chance of success under it
    /// are facts by now, whatever the learner would say today. Returns the round.
    ///
    /// # Errors
    /// If the numbers do not fit the tasks; nothing changes then.
    pub fn take_up(
        &mut self,
        budget: f64,
        available: Option<&[bool]>,
        spend: &[f64],
        success: &[f64],
    ) -> Result<u64, CampaignError> {
        self.check_room()?;
        let tasks = self.decider.names.len();
        if success.len() != tasks {
            return Err(CampaignError::Count {
                what: "success",
                expected: tasks,
                got: success.len(),
            });
        }
        let round = self.round + 1;
        self.decider.take_up(round, budget, available, spend)?;
        let own = &mut self.decider.own;
        own.budget = budget;
        own.spend.copy_from_slice(spend);
        own.success.copy_from_slice(success);
        self.open.open(round, available, own);
        self.round = round;
        Ok(round)
    }

    /// Where the next search starts: a campaign made anew that [starts from](Campaign::search_from)
    /// there answers as this one would, to the last bit.
    pub(crate) fn warmth(&self) -> WarmStart {
        self.decider.oracle.warm_start()
    }

    /// Makes the next search start there.
    pub(crate) fn search_from(&mut self, warmth: &WarmStart) {
        self.decider.oracle.set_warm_start(warmth);
    }
}
