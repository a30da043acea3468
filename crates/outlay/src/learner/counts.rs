//! Completions and sums of rewards, the state of a count-based learner.

use serde::{Deserialize, Serialize};

use super::StateError;
use crate::feedback::Reward;

/// Converts billionths of the largest reward to multiples of it.
#[inline(always)]
pub(crate) fn shares(billionths: f64) -> f64 {
    billionths / Reward::UNITS as f64
}

/// The mean reward of `completions` rewards with this sum in billionths; zero without completions.
#[inline(always)]
pub(crate) fn mean(completions: f64, reward_sum: f64) -> f64 {
    // One division: the product is exact for whole rewards, so the quotient is rounded only once.
    let mean = reward_sum / (Reward::UNITS as f64 * completions);
    if completions == 0.0 { 0.0 } else { mean }
}

/// The number of completions and the sum of rewards of each task. Both are integers, so the order
/// of arrival does not matter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    completions: Vec<u64>,
    /// In billionths of the largest reward.
    reward_sum: Vec<u64>,
}

impl Counts {
    /// Counts from completions and sums of rewards, in billionths of the largest reward.
    #[must_use]
    pub fn from_parts(completions: Vec<u64>, reward_sum: Vec<u64>) -> Self {
        Self { completions, reward_sum }
    }

    pub(crate) fn new(tasks: usize) -> Self {
        Self { completions: vec![0; tasks], reward_sum: vec![0; tasks] }
    }

    pub(crate) fn tasks(&self) -> usize {
        self.completions.len()
    }

    /// Counts a completion; returns the task's completions and the sum of its rewards, in
    /// billionths of the largest.
    pub(crate) fn add(&mut self, task: usize, reward: Reward) -> (u64, u64) {
        let (completions, sum) = (&mut self.completions[task], &mut self.reward_sum[task]);
        *completions += 1;
        // It saturates after 1.8e10 rewards of one task.
        *sum = sum.saturating_add(reward.units());
        (*completions, *sum)
    }

    pub(crate) fn completions(&self, task: usize) -> u64 {
        self.completions[task]
    }

    /// Completions, and the sum of rewards in billionths of the largest.
    pub(crate) fn of(&self, task: usize) -> (u64, u64) {
        (self.completions[task], self.reward_sum[task])
    }

    /// The sum of rewards as a multiple of the largest one.
    pub(crate) fn reward_sum(&self, task: usize) -> f64 {
        shares(self.reward_sum[task] as f64)
    }

    /// The mean observed reward; zero before the first completion.
    pub(crate) fn mean(&self, task: usize) -> f64 {
        mean(self.completions[task] as f64, self.reward_sum[task] as f64)
    }

    /// Checks that these can be the counts of `tasks` tasks.
    pub(crate) fn check(&self, tasks: usize) -> Result<(), StateError> {
        for (field, found) in
            [("completions", self.completions.len()), ("reward_sum", self.reward_sum.len())]
        {
            if found != tasks {
                return Err(StateError::Length { field, found, tasks });
            }
        }
        for (task, (&completions, &sum)) in
            self.completions.iter().zip(&self.reward_sum).enumerate()
        {
            if u128::from(sum) > u128::from(completions) * u128::from(Reward::UNITS) {
                return Err(StateError::RewardSum { task, sum, completions });
            }
        }
        Ok(())
    }
}
