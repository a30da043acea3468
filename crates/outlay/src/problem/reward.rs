//! Reward distributions, from which simulations draw.

use serde::Serialize;

/// The distribution of the reward of a success, in the problem's unit of reward
/// (`0..=reward_max`).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "law", rename_all = "lowercase")]
#[non_exhaustive]
pub enum RewardLaw {
    /// Either `reward_max` or 0.
    Bernoulli {
        /// Mean reward.
        mean: f64,
    },
    /// A Beta distribution scaled to `0..=reward_max`.
    Beta {
        /// Mean reward.
        mean: f64,
        /// The sum `a + b` of Beta(a, b). If unset, the distribution is Beta(a, 1).
        #[serde(skip_serializing_if = "Option::is_none")]
        concentration: Option<f64>,
    },
    /// The same reward for every success.
    Constant {
        /// The reward.
        mean: f64,
    },
    /// Uniform between two rewards.
    Uniform {
        /// The smallest reward.
        low: f64,
        /// The largest reward.
        high: f64,
    },
    /// Drawn from recorded rewards.
    Empirical {
        /// The recorded rewards.
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
