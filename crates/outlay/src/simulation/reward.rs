//! Rewards by inverse transform: one uniform draw per reward.

use statrs::distribution::{Beta, ContinuousCDF};

use crate::feedback::Reward;
use crate::problem::RewardLaw;

/// A reward distribution, prepared for sampling.
#[derive(Debug, Clone)]
pub enum RewardDraw {
    /// The largest reward if the uniform draw is below this, else zero.
    Bernoulli(f64),
    /// Beta(a, 1): the uniform draw to the power 1/a.
    Power(f64),
    /// Any other Beta distribution.
    Beta(Beta),
    /// A constant reward.
    Constant(Reward),
    /// Uniform between two shares.
    Uniform(f64, f64),
    /// Recorded rewards in increasing order.
    Empirical(Vec<Reward>),
}

impl RewardDraw {
    /// The reward distribution of a task, in shares of `reward_max`.
    #[must_use]
    pub fn new(law: &RewardLaw, reward_max: f64) -> Self {
        match law {
            RewardLaw::Bernoulli { mean } => Self::Bernoulli(mean / reward_max),
            RewardLaw::Beta { mean, concentration } => beta(mean / reward_max, *concentration),
            RewardLaw::Constant { mean } => Self::Constant(Reward::from_share(mean / reward_max)),
            RewardLaw::Uniform { low, high } => Self::Uniform(low / reward_max, high / reward_max),
            RewardLaw::Empirical { samples } => {
                let mut rewards: Vec<Reward> =
                    samples.iter().map(|sample| Reward::from_share(sample / reward_max)).collect();
                rewards.sort_unstable();
                Self::Empirical(rewards)
            }
        }
    }

    /// The reward at a uniform draw in `[0, 1)`.
    #[inline]
    #[must_use]
    pub fn reward(&self, uniform: f64) -> Reward {
        match self {
            Self::Bernoulli(mean) => {
                if uniform < *mean {
                    Reward::MAX
                } else {
                    Reward::ZERO
                }
            }
            Self::Constant(reward) => *reward,
            Self::Power(power) => Reward::from_share(uniform.powf(*power)),
            Self::Beta(law) => Reward::from_share(law.inverse_cdf(uniform)),
            Self::Uniform(low, high) => Reward::from_share(low + (high - low) * uniform),
            Self::Empirical(rewards) => {
                let place = (uniform * rewards.len() as f64) as usize;
                rewards
                    .get(place.min(rewards.len().saturating_sub(1)))
                    .copied()
                    .unwrap_or(Reward::ZERO)
            }
        }
    }
}

/// A Beta distribution with this mean; a point mass at means 0 and 1.
fn beta(mean: f64, concentration: Option<f64>) -> RewardDraw {
    if mean <= 0.0 || mean >= 1.0 {
        return RewardDraw::Constant(Reward::from_share(mean));
    }
    let general = concentration.and_then(|concentration| {
        Beta::new(mean * concentration, (1.0 - mean) * concentration).ok()
    });
    // a = mean / (1 - mean), and the power is 1/a.
    general.map_or(RewardDraw::Power((1.0 - mean) / mean), RewardDraw::Beta)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Draws, Purpose};

    /// Every distribution has its stated mean and stays within its range.
    #[test]
    fn means_are_as_stated() {
        let laws = [
            RewardLaw::Bernoulli { mean: 3.0 },
            RewardLaw::Beta { mean: 7.0, concentration: None },
            RewardLaw::Beta { mean: 2.0, concentration: Some(4.0) },
            RewardLaw::Beta { mean: 5.0, concentration: Some(0.5) },
            RewardLaw::Constant { mean: 2.5 },
            RewardLaw::Uniform { low: 1.0, high: 4.0 },
            RewardLaw::Empirical { samples: vec![1.0, 9.0, 2.0] },
            RewardLaw::Beta { mean: 0.0, concentration: None },
            RewardLaw::Beta { mean: 10.0, concentration: Some(2.0) },
        ];
        let draws = Draws::new(4, Purpose::Reward);
        for law in laws {
            let draw = RewardDraw::new(&law, 10.0);
            let count = 20_000u32;
            let mean = (1..=count)
                .map(|round| draw.reward(draws.round(round.into()).uniform(0)).share())
                .sum::<f64>()
                / f64::from(count);
            // Rewards in [0, 1] deviate by at most 1/2: four standard errors.
            let error = 4.0 * 0.5 / f64::from(count).sqrt();
            assert!((mean - law.mean() / 10.0).abs() < error, "{law:?}: {mean}");
        }
    }

    #[test]
    fn a_larger_number_never_draws_less() {
        for law in [
            RewardLaw::Beta { mean: 0.3, concentration: Some(3.0) },
            RewardLaw::Empirical { samples: vec![0.5, 0.1] },
        ] {
            let draw = RewardDraw::new(&law, 1.0);
            let rewards: Vec<Reward> =
                (0..100).map(|step| draw.reward(f64::from(step) / 100.0)).collect();
            assert!(rewards.is_sorted(), "{law:?}");
        }
    }
}
