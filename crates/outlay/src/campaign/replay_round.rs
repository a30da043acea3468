//! Replay of issued rounds: a campaign is rebuilt from a record of its rounds and outcomes.

use super::{Campaign, CampaignError, RoundConditions};

impl Campaign {
    /// Replays a round that was issued with this allocation and these success probabilities,
    /// whatever the learner would decide now. Returns the round.
    ///
    /// # Errors
    /// If the number of entries differs from the number of tasks. Nothing changes then.
    pub fn replay_round(
        &mut self,
        conditions: &RoundConditions<'_>,
        spend: &[f64],
        success: &[f64],
    ) -> Result<u64, CampaignError> {
        self.check_room()?;
        let tasks = self.planner.names.len();
        if success.len() != tasks {
            return Err(CampaignError::Count {
                what: "success",
                expected: tasks,
                got: success.len(),
            });
        }
        let round = self.round + 1;
        self.planner.replay_round(round, conditions, spend)?;
        let own = &mut self.planner.own;
        own.budget = conditions.budget;
        own.spend.copy_from_slice(spend);
        own.success.copy_from_slice(success);
        self.open.open(round, conditions.available, own);
        self.round = round;
        Ok(round)
    }

    /// Replays a round that was issued and then cancelled: it takes no outcomes, and guards do not
    /// compare later rounds with it. Returns the round.
    ///
    /// # Errors
    /// If the budget or the number of available tasks is invalid. Nothing changes then.
    pub fn replay_cancelled(
        &mut self,
        conditions: &RoundConditions<'_>,
    ) -> Result<u64, CampaignError> {
        let round = self.round + 1;
        self.planner.replay_cancelled(round, conditions)?;
        self.round = round;
        Ok(round)
    }
}
