//! Completions and sums of rewards, the state of a count-based learner.

use serde::{Deserialize, Serialize};

use super::StateError;
use crate::feedback::{Completions, Reward};

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

    /// Counts a completion.
    pub(crate) fn add(&mut self, task: usize, reward: Reward) {
        self.completions[task] += 1;
        // 1.8e10 rewards of one task fill it.
        self.reward_sum[task] = self.reward_sum[task].saturating_add(reward.units());
    }

    /// Counts several completions.
    pub(crate) fn add_all(&mut self, task: usize, completions: Completions) {
        self.completions[task] = self.completions[task].saturating_add(completions.count());
        self.reward_sum[task] = self.reward_sum[task].saturating_add(completions.reward_sum());
    }

    pub(crate) fn completions(&self, task: usize) -> u64 {
        self.completions[task]
    }

    /// The sum of rewards as a multiple of the largest one.
    pub(crate) fn reward_sum(&self, task: usize) -> f64 {
        self.reward_sum[task] as f64 / Reward::UNITS as f64
    }

    /// The mean observed reward; zero before the first completion.
    pub(crate) fn mean(&self, task: usize) -> f64 {
        let (completions, reward_sum) =
            (self.completions[task] as f64, self.reward_sum[task] as f64);
        // One division: for whole rewards the product is exact, so this is their sum over their
        // number, rounded once.
        let mean = reward_sum / (Reward::UNITS as f64 * completions);
        if completions == 0.0 { 0.0 } else { mean }
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
