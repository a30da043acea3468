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
    /// The task completed more than once; only the sum of the rewards is known.
    Counted(Completions),
    /// Not reported. This is not the same as a reward of zero.
    Missing,
}

impl Outcome {
    /// The outcome of a task with this many completions.
    #[must_use]
    pub fn of(completions: Completions) -> Self {
        match completions.count() {
            0 => Self::Failed,
            1 => Self::Done(Reward::from_units(completions.reward_sum())),
            _ => Self::Counted(completions),
        }
    }

    /// The completions and the sum of their rewards.
    #[must_use]
    pub fn completions(self) -> Completions {
        match self {
            Self::Done(reward) => Completions { count: 1, reward_sum: reward.units() },
            Self::Counted(completions) => completions,
            Self::Failed | Self::Forgone(_) | Self::Missing => Completions::NONE,
        }
    }
}

/// The number of completions of a task in a round and the sum of their rewards.
///
/// Both are integers that add up: a report of several completions has the effect of their single
/// reports, in any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Completions {
    count: u64,
    /// In billionths of the largest reward.
    reward_sum: u64,
}

impl Completions {
    /// No completion.
    pub const NONE: Self = Self { count: 0, reward_sum: 0 };
    /// The largest number of completions of one report: the sum of their rewards then fits an
    /// integer of the stores.
    pub const MAX: u64 = 9_000_000_000;

    /// This many completions whose rewards add up to `reward_sum`, in billionths of the largest
    /// reward. `None` if the sum is above `count` times the largest reward, or there are more than
    /// [`Completions::MAX`].
    #[must_use]
    pub fn new(count: u64, reward_sum: u64) -> Option<Self> {
        let is_possible = count <= Self::MAX && reward_sum <= count * Reward::UNITS;
        is_possible.then_some(Self { count, reward_sum })
    }

    /// This many completions whose rewards add up to `reward_sum`, in multiples of the largest
    /// reward, rounded to the nearest billionth. `None` if the sum is not between zero and `count`,
    /// or there are more than [`Completions::MAX`].
    #[must_use]
    pub fn from_share(count: u64, reward_sum: f64) -> Option<Self> {
        if !(count <= Self::MAX && reward_sum >= 0.0 && reward_sum <= count as f64) {
            return None;
        }
        let units = (reward_sum * Reward::UNITS as f64 + 0.5) as u64;
        Self::new(count, units.min(count * Reward::UNITS))
    }

    /// Their number.
    #[must_use]
    pub fn count(self) -> u64 {
        self.count
    }

    /// The sum of their rewards in billionths of the largest reward.
    #[must_use]
    pub fn reward_sum(self) -> u64 {
        self.reward_sum
    }

    /// Adds one completion.
    pub fn add(&mut self, reward: Reward) {
        self.count += 1;
        self.reward_sum += reward.units();
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
