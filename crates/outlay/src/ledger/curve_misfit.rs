//! A test of whether completions agree with the curves.

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

/// A bound on the probability of at least (or, below the mean, at most) `completions` successes in
/// independent rounds with these probabilities; 1 at the mean. Unlike a normal approximation,
/// Chernoff's bound holds for any number of rounds.
pub(super) fn tail_bound(chances: &[f64], completions: u64) -> f64 {
    let expected: f64 = chances.iter().sum();
    let seen = completions as f64;
    let possible = chances.iter().filter(|chance| **chance > 0.0).count() as u64;
    let certain = chances.iter().filter(|chance| **chance >= 1.0).count() as u64;
    if completions > possible || completions < certain {
        return 0.0;
    }
    if completions == possible && seen > expected {
        return chances.iter().filter(|chance| **chance > 0.0).product();
    }
    if completions == certain && seen < expected {
        return chances.iter().filter(|chance| **chance < 1.0).map(|chance| 1.0 - chance).product();
    }
    // The exponent is convex in the tilt; its slope is the tilted mean minus the completions.
    let tilted_mean = |tilt: f64| -> f64 {
        let factor = tilt.exp();
        chances.iter().map(|chance| chance * factor / (1.0 - chance + chance * factor)).sum()
    };
    let (mut low, mut high) = if seen > expected { (0.0, MAX_TILT) } else { (-MAX_TILT, 0.0) };
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if tilted_mean(middle) < seen { low = middle } else { high = middle }
    }
    let tilt = 0.5 * (low + high);
    let growth = tilt.exp_m1();
    let exponent: f64 =
        chances.iter().map(|chance| (chance * growth).ln_1p()).sum::<f64>() - tilt * seen;
    exponent.min(0.0).exp()
}

/// Any tilt gives a bound; larger ones gain nothing.
const MAX_TILT: f64 = 50.0;
const HALVINGS: u32 = 60;

#[cfg(test)]
mod tests {
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
            let bound = tail_bound(&chances, count as u64);
            assert!(bound >= exact - 1e-12, "{count}: {bound} below {exact}");
            assert!(bound <= 40.0 * exact.max(1e-300), "{count}: {bound} far above {exact}");
        }
    }

    #[test]
    fn impossible_counts_have_probability_zero() {
        assert_eq!(tail_bound(&[0.0, 0.0], 1), 0.0);
        assert_eq!(tail_bound(&[1.0, 0.5], 0), 0.0);
        assert_eq!(tail_bound(&[], 0), 1.0);
        assert_eq!(tail_bound(&[0.25, 0.25], 2), 0.0625);
        assert_eq!(tail_bound(&[0.25, 0.25], 0), 0.5625);
    }
}
