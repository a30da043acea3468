//! The law of a task's reward, given success: what simulations draw from.

use serde::Serialize;

/// How the reward of a success is distributed, in the problem's unit of reward (`0..=reward_max`).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "law", rename_all = "lowercase")]
#[non_exhaustive]
pub enum RewardLaw {
    /// `reward_max` or nothing, with this mean.
    Bernoulli {
        /// Mean reward.
        mean: f64,
    },
    /// A Beta law stretched to `0..=reward_max`.
    Beta {
        /// Mean reward.
        mean: f64,
        /// How tightly it gathers around the mean: `a + b` of Beta(a, b). Absent: Beta(a, 1).
        #[serde(skip_serializing_if = "Option::is_none")]
        concentration: Option<f64>,
    },
    /// Always the same.
    Constant {
        /// That reward.
        mean: f64,
    },
    /// Uniform between two rewards.
    Uniform {
        /// The smallest.
        low: f64,
        /// The largest.
        high: f64,
    },
    /// Drawn from recorded rewards.
    Empirical {
        /// Those rewards.
        samples: Vec<f64>,
    },
}

impl RewardLaw {
    /// The mean reward of a success.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match self {
            Self::Bernoulli { mean } | Self::Beta { mean, .. } | Self::Constant { mean } => *mean,
            Self::Uniform { low, high } => 0.5 * (low + high),
            Self::Empirical { samples } => samples.iter().sum::<f64>() / samples.len() as f64,
        }
    }
}
