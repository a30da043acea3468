//! The number of completions of a task in a round, drawn from its expected number.

use statrs::function::gamma::ln_gamma;

use crate::problem::CompletionLaw;

/// Draws the number of completions whose expected number is `volume * success`, from one uniform
/// draw in `[0, 1)`.
pub(super) fn draw(law: CompletionLaw, volume: f64, success: f64, uniform: f64) -> u64 {
    let mean = volume * success;
    if !(mean > 0.0) {
        return 0;
    }
    match law {
        CompletionLaw::Single => u64::from(uniform < success),
        CompletionLaw::Binomial if success >= 1.0 => volume as u64,
        CompletionLaw::Binomial => Binomial { trials: volume, success }.draw(uniform),
        CompletionLaw::Poisson => Poisson { mean }.draw(uniform),
        CompletionLaw::NegativeBinomial { dispersion } => {
            NegativeBinomial { shape: mean / (dispersion - 1.0), dispersion }.draw(uniform)
        }
    }
}

/// A unimodal distribution on 0, 1, 2, ….
trait Counts {
    /// A most likely number.
    fn mode(&self) -> f64;

    /// The logarithm of the probability of a number.
    fn ln_probability(&self, count: f64) -> f64;

    /// The probability of `count + 1` divided by that of `count`.
    fn ratio(&self, count: f64) -> f64;

    /// Subtracts probabilities from the uniform draw, from the mode outwards, until it is used up:
    /// the steps are about as many as the standard deviation.
    fn draw(&self, uniform: f64) -> u64 {
        let mode = self.mode().max(0.0).floor();
        let at_mode = self.ln_probability(mode).exp();
        let (mut left, mut above, mut below) = (uniform, mode, mode);
        let (mut chance_above, mut chance_below) = (at_mode, at_mode);
        left -= at_mode;
        while left >= 0.0 {
            // Rounding can leave a rest when the probabilities are used up.
            if chance_above < f64::MIN_POSITIVE
                && (below == 0.0 || chance_below < f64::MIN_POSITIVE)
            {
                return mode as u64;
            }
            chance_above *= self.ratio(above);
            above += 1.0;
            left -= chance_above;
            if left < 0.0 {
                return above as u64;
            }
            if below > 0.0 {
                chance_below /= self.ratio(below - 1.0);
                below -= 1.0;
                left -= chance_below;
                if left < 0.0 {
                    return below as u64;
                }
            }
        }
        mode as u64
    }
}

struct Poisson {
    mean: f64,
}

impl Counts for Poisson {
    fn mode(&self) -> f64 {
        self.mean
    }

    fn ln_probability(&self, count: f64) -> f64 {
        count * self.mean.ln() - self.mean - ln_gamma(count + 1.0)
    }

    fn ratio(&self, count: f64) -> f64 {
        self.mean / (count + 1.0)
    }
}

struct Binomial {
    trials: f64,
    success: f64,
}

impl Counts for Binomial {
    fn mode(&self) -> f64 {
        ((self.trials + 1.0) * self.success).min(self.trials)
    }

    fn ln_probability(&self, count: f64) -> f64 {
        let Self { trials, success } = *self;
        ln_gamma(trials + 1.0) - ln_gamma(count + 1.0) - ln_gamma(trials - count + 1.0)
            + count * success.ln()
            + (trials - count) * (-success).ln_1p()
    }

    fn ratio(&self, count: f64) -> f64 {
        (self.trials - count).max(0.0) / (count + 1.0) * (self.success / (1.0 - self.success))
    }
}

/// With mean `shape * (dispersion - 1)` and variance `dispersion` times the mean.
struct NegativeBinomial {
    shape: f64,
    dispersion: f64,
}

impl Counts for NegativeBinomial {
    fn mode(&self) -> f64 {
        (self.shape - 1.0) * (self.dispersion - 1.0)
    }

    fn ln_probability(&self, count: f64) -> f64 {
        let Self { shape, dispersion } = *self;
        ln_gamma(count + shape) - ln_gamma(shape) - ln_gamma(count + 1.0) - shape * dispersion.ln()
            + count * (-1.0 / dispersion).ln_1p()
    }

    fn ratio(&self, count: f64) -> f64 {
        (count + self.shape) / (count + 1.0) * (1.0 - 1.0 / self.dispersion)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Draws, Purpose};
    use statrs::distribution::{Binomial as Reference, Discrete, Poisson as PoissonReference};

    const DRAWS: u32 = 40_000;

    fn sample(law: CompletionLaw, volume: f64, success: f64) -> Vec<u64> {
        let draws = Draws::new(3, Purpose::Completion);
        let uniform = |round: u32| draws.round(u64::from(round)).uniform(0);
        (1..=DRAWS).map(|round| draw(law, volume, success, uniform(round))).collect()
    }

    /// Mean and variance are those of the law, within five standard errors.
    #[test]
    fn means_and_variances_are_as_stated() {
        let dispersed = CompletionLaw::NegativeBinomial { dispersion: 3.5 };
        for (law, volume, success, variance) in [
            (CompletionLaw::Single, 1.0, 0.3, 0.21),
            (CompletionLaw::Binomial, 20.0, 0.3, 4.2),
            (CompletionLaw::Binomial, 100_000.0, 0.001, 99.9),
            (CompletionLaw::Poisson, 0.5, 0.5, 0.25),
            (CompletionLaw::Poisson, 400.0, 0.25, 100.0),
            (CompletionLaw::Poisson, 1e6, 0.9, 9e5),
            (dispersed, 2.0, 0.5, 3.5),
            (dispersed, 300.0, 0.5, 525.0),
        ] {
            let sample = sample(law, volume, success);
            let count = f64::from(DRAWS);
            let mean = sample.iter().map(|&drawn| drawn as f64).sum::<f64>() / count;
            let error = 5.0 * (variance / count).sqrt();
            assert!((mean - volume * success).abs() < error, "{law:?} {volume}: {mean}");
            let spread = sample.iter().map(|&drawn| (drawn as f64 - mean).powi(2)).sum::<f64>();
            // The kurtosis of these laws is below 12.
            let error = 5.0 * variance * (12.0 / count).sqrt();
            assert!((spread / count - variance).abs() < error, "{law:?}: {}", spread / count);
        }
    }

    /// The frequencies of single numbers are those of an independent implementation.
    #[test]
    fn frequencies_follow_the_law() {
        let binomial = Reference::new(0.3, 20).unwrap();
        let poisson = PoissonReference::new(6.0).unwrap();
        type Case<'a> = (CompletionLaw, f64, f64, &'a dyn Fn(u64) -> f64);
        let cases: [Case<'_>; 2] = [
            (CompletionLaw::Binomial, 20.0, 0.3, &|count| binomial.pmf(count)),
            (CompletionLaw::Poisson, 20.0, 0.3, &|count| poisson.pmf(count)),
        ];
        for (law, volume, success, probability) in cases {
            let sample = sample(law, volume, success);
            for count in 0..=15 {
                let expected = probability(count) * f64::from(DRAWS);
                let seen = sample.iter().filter(|&&drawn| drawn == count).count() as f64;
                let error = 5.0 * expected.max(1.0).sqrt();
                assert!((seen - expected).abs() < error, "{law:?} {count}: {seen} {expected}");
            }
        }
    }

    #[test]
    fn nothing_completes_without_success_and_all_with_certainty() {
        for law in [CompletionLaw::Binomial, CompletionLaw::Poisson] {
            assert_eq!(draw(law, 50.0, 0.0, 0.999), 0);
        }
        assert_eq!(draw(CompletionLaw::Binomial, 50.0, 1.0, 0.0), 50);
        let largest = 1.0 - f64::EPSILON;
        for law in [
            CompletionLaw::Binomial,
            CompletionLaw::Poisson,
            CompletionLaw::NegativeBinomial { dispersion: 2.0 },
        ] {
            assert!(draw(law, 30.0, 0.5, largest) <= 200, "{law:?}");
        }
    }
}
