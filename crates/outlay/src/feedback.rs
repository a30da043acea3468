//! Outcomes and rewards of a round, and how much of them a learner observes.

use serde::{Deserialize, Serialize};

use crate::names::names;

/// The part of a round's outcomes that a learner observes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Feedback {
    /// Which tasks completed, and the rewards of those.
    Censored,
    /// Which tasks completed, and every reward, including forgone ones.
    Full,
    /// Only the total reward of the round.
    Bandit,
}

names!(Feedback, "feedback", Censored = "censored", Full = "full", Bandit = "bandit");

impl Feedback {
    /// Whether a learner that needs `needed` is served by this.
    #[must_use]
    pub fn covers(self, needed: Self) -> bool {
        let richness = |feedback| match feedback {
            Self::Bandit => 0,
            Self::Censored => 1,
            Self::Full => 2,
        };
        richness(self) >= richness(needed)
    }
}

/// A reward as a share of the largest possible one, in billionths.
///
/// Rewards are integers, so sums do not depend on the order of arrival: a simulation, a service and
/// a replay of its log agree bit for bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Reward(u64);

impl Reward {
    /// The reward zero.
    pub const ZERO: Self = Self(0);
    /// The largest reward.
    pub const MAX: Self = Self(Self::UNITS);
    /// The number of units in the largest reward.
    pub const UNITS: u64 = 1_000_000_000;

    /// The reward nearest to a share of the largest one. Shares are clamped to `[0, 1]`; NaN is
    /// zero.
    #[must_use]
    pub fn from_share(share: f64) -> Self {
        // Adding a half and truncating rounds without a function call.
        Self((share.clamp(0.0, 1.0) * Self::UNITS as f64 + 0.5) as u64)
    }

    /// A reward in billionths of the largest reward, capped at the largest reward.
    #[must_use]
    pub fn from_units(units: u64) -> Self {
        Self(units.min(Self::UNITS))
    }

    /// The share of the largest reward.
    #[must_use]
    pub fn share(self) -> f64 {
        self.0 as f64 / Self::UNITS as f64
    }

    /// In billionths of the largest reward.
    #[must_use]
    pub fn units(self) -> u64 {
        self.0
    }
}

/// The known part of the outcome of one task in one round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The task failed; its forgone reward is unknown.
    Failed,
    /// The task failed; its forgone reward is known (full feedback).
    Forgone(Reward),
    /// The task completed with this reward.
    Done(Reward),
    /// Not reported. This is not the same as a reward of zero.
    Missing,
}

impl Outcome {
    /// The reward gained: zero unless the task completed.
    #[must_use]
    pub fn gain(self) -> Reward {
        match self {
            Self::Done(reward) => reward,
            Self::Failed | Self::Forgone(_) | Self::Missing => Reward::ZERO,
        }
    }
}

/// A task that completed, with its reward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The task, counted from 0.
    pub task: usize,
    /// Its reward.
    pub reward: Reward,
}
