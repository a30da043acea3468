//! A test of whether completions agree with the curves.

use crate::problem::CompletionLaw;

/// A number of completions that disagrees with the curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurveMisfit {
    /// An upper bound on the probability of so large a deviation if the curve is right.
    pub probability: f64,
}

impl CurveMisfit {
    /// The significance level over all tasks: if the curves are right, at most one status in a
    /// thousand warns.
    pub const LEVEL: f64 = 0.001;
}

/// A bound on the probability of at least (or, below the mean, at most) `completions` in
/// independent rounds with these success probabilities; 1 at the mean. Unlike a normal
/// approximation, Chernoff's bound holds for any number of rounds.
///
/// `law` is the law of the completions of a round, and `mean` their expected number in all rounds.
pub(super) fn tail_bound(chances: &[f64], mean: f64, completions: u64, law: CompletionLaw) -> f64 {
    match law {
        CompletionLaw::Single => single_tail(chances, completions),
        // The moments of a binomial count are at most those of a Poisson count of the same mean.
        CompletionLaw::Binomial | CompletionLaw::Poisson => count_tail(mean, completions, 1.0),
        CompletionLaw::NegativeBinomial { dispersion } => count_tail(mean, completions, dispersion),
    }
}

/// The bound for a count with this mean and a variance of `dispersion` times the mean: Poisson if
/// it is 1, else negative binomial.
fn count_tail(mean: f64, completions: u64, dispersion: f64) -> f64 {
    let seen = completions as f64;
    if mean == 0.0 {
        return if completions == 0 { 1.0 } else { 0.0 };
    }
    let excess = dispersion - 1.0;
    if excess == 0.0 {
        let log_ratio = if seen > 0.0 { seen * (seen / mean).ln() } else { 0.0 };
        return (seen - mean - log_ratio).min(0.0).exp();
    }
    // With the growth g = exp(tilt) - 1, the logarithm of the moment is -shape ln(1 - excess g).
    // Its slope equals the completions at g = (seen - mean) / (mean + excess seen).
    let growth = (seen - mean) / (mean + excess * seen);
    let tilted = if seen > 0.0 { seen * growth.ln_1p() } else { 0.0 };
    let exponent = -mean / excess * (-excess * growth).ln_1p() - tilted;
    exponent.min(0.0).exp()
}

/// The bound for at most one completion per round.
fn single_tail(chances: &[f64], completions: u64) -> f64 {
    let possible = chances.iter().filter(|chance| **chance > 0.0).count() as u64;
    let certain = chances.iter().filter(|chance| **chance >= 1.0).count() as u64;
    if completions > possible || completions < certain {
        return 0.0;
    }
    // Certain completions say nothing.
    let uncertain = || chances.iter().filter(|chance| **chance > 0.0 && **chance < 1.0);
    let seen = (completions - certain) as f64;
    let expected: f64 = uncertain().sum();
    if seen == expected {
        return 1.0;
    }
    if completions == possible {
        return uncertain().product();
    }
    if completions == certain {
        return uncertain().map(|chance| 1.0 - chance).product();
    }
    // The exponent is convex in the tilt; its slope is the tilted mean minus the completions.
    let tilted_mean = |tilt: f64| -> f64 {
        let factor = tilt.exp();
        uncertain().map(|chance| chance * factor / (1.0 - chance + chance * factor)).sum()
    };
    let (mut low, mut high) = if seen > expected { (0.0, MAX_TILT) } else { (-MAX_TILT, 0.0) };
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if tilted_mean(middle) < seen { low = middle } else { high = middle }
    }
    let tilt = 0.5 * (low + high);
    let growth = tilt.exp_m1();
    let exponent: f64 =
        uncertain().map(|chance| (chance * growth).ln_1p()).sum::<f64>() - tilt * seen;
    exponent.min(0.0).exp()
}

/// Any tilt gives a bound; larger ones gain nothing.
const MAX_TILT: f64 = 50.0;
const HALVINGS: u32 = 60;

#[cfg(test)]
mod tests {
    use statrs::distribution::{DiscreteCDF, NegativeBinomial, Poisson};

    use super::*;

    /// The exact probability of at least `count` successes, by dynamic programming over the rounds.
    fn at_least(chances: &[f64], count: usize) -> f64 {
        let mut law = vec![1.0];
        for chance in chances {
            let mut next = vec![0.0; law.len() + 1];
            for (successes, probability) in law.iter().enumerate() {
                next[successes] += probability * (1.0 - chance);
                next[successes + 1] += probability * chance;
            }
            law = next;
        }
        law[count..].iter().sum()
    }

    #[test]
    fn the_bound_holds_and_is_tight() {
        let chances: Vec<f64> = (0..40).map(|round| 0.1 + 0.02 * f64::from(round % 30)).collect();
        let expected: f64 = chances.iter().sum();
        for count in 0..=chances.len() {
            let above = count as f64 > expected;
            let exact =
                if above { at_least(&chances, count) } else { 1.0 - at_least(&chances, count + 1) };
            let bound = single_tail(&chances, count as u64);
            assert!(bound >= exact - 1e-12, "{count}: {bound} below {exact}");
            assert!(bound <= 40.0 * exact.max(1e-300), "{count}: {bound} far above {exact}");
        }
    }

    #[test]
    fn the_bounds_of_counts_hold_and_are_tight() {
        let dispersion = 3.0;
        let poisson = Poisson::new(60.0).unwrap();
        let dispersed = NegativeBinomial::new(60.0 / (dispersion - 1.0), 1.0 / dispersion).unwrap();
        for count in (0..=200).filter(|count| *count != 60) {
            let exact = |cdf: &dyn Fn(u64) -> f64| match count {
                _ if count < 60 => cdf(count),
                _ => 1.0 - cdf(count - 1),
            };
            for (exact, bound) in [
                (exact(&|count| poisson.cdf(count)), count_tail(60.0, count, 1.0)),
                (exact(&|count| dispersed.cdf(count)), count_tail(60.0, count, dispersion)),
            ] {
                assert!(bound >= exact - 1e-12, "{count}: {bound} below {exact}");
                // The probability itself is inexact far from the mean.
                let is_near = exact > 1e-9;
                assert!(!is_near || bound <= 40.0 * exact, "{count}: {bound} far above {exact}");
            }
        }
        assert_eq!(count_tail(60.0, 60, 1.0), 1.0);
        assert!((count_tail(60.0, 60, 3.0) - 1.0).abs() < 1e-12);
        assert_eq!((count_tail(0.0, 0, 1.0), count_tail(0.0, 1, 1.0)), (1.0, 0.0));
        assert!((count_tail(60.0, 0, 1.0).ln() + 60.0).abs() < 1e-9);
    }

    #[test]
    fn impossible_counts_have_probability_zero() {
        assert_eq!(single_tail(&[0.0, 0.0], 1), 0.0);
        assert_eq!(single_tail(&[1.0, 0.5], 0), 0.0);
        assert_eq!(single_tail(&[], 0), 1.0);
        assert_eq!(single_tail(&[0.25, 0.25], 2), 0.0625);
        assert_eq!(single_tail(&[0.25, 0.25], 0), 0.5625);
    }

    /// A success that the curve calls certain is no evidence against it.
    #[test]
    fn certain_completions_are_as_expected() {
        assert_eq!(single_tail(&[1.0; 5], 5), 1.0);
        assert_eq!(single_tail(&[1.0, 1.0, 0.5], 3), 0.5);
        assert_eq!(single_tail(&[1.0, 0.0], 1), 1.0);
    }
}
