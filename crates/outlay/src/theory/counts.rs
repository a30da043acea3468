//! Worst-case bounds for tasks that may complete more than once in a round. The proofs are ours and
//! not peer reviewed: docs/explanation/proof-counts.md.

use statrs::function::gamma::ln_gamma;

use super::worst_case::{kl_ucb_plus_root_factor, worst_case_bound};
use crate::learner::log_term;
use crate::problem::CompletionLaw;

/// The worst-case bound of `kl-ucb-plus` with counts, for tasks with these volumes: the sum over
/// the tasks of `(2b + d + sqrt(πc)) sqrt(V T) + 3M - 2 + sqrt((M - 1)/2) + r`.
///
/// With binomial counts `d = 1/2`, `M = V` and `r = 0`. Counts without a largest number have
/// `d = 1/sqrt(2)`, any whole `M`, of which the best is taken, and
/// `r = φ/4 + T E(C - M)⁺` for a count `C` of mean `V` with the variance `φ V`.
///
/// ```
/// use outlay::problem::CompletionLaw;
/// use outlay::theory::{kl_ucb_plus_bound, kl_ucb_plus_count_bound};
/// let [single, counts] = [1.0, 100.0].map(|volume| {
///     kl_ucb_plus_count_bound(&[volume; 10], CompletionLaw::Binomial, 1e4, 1.1)
/// });
/// assert!((single - kl_ucb_plus_bound(10, 1e4, 1.1)).abs() < 1e-6);
/// assert!(counts < 11.0 * single); // a hundred times the completions, ten times the regret
/// ```
#[must_use]
pub fn kl_ucb_plus_count_bound(volumes: &[f64], law: CompletionLaw, rounds: f64, c: f64) -> f64 {
    let task = |&volume: &f64| {
        let (mean_part, largest, rest) = match law {
            CompletionLaw::Single | CompletionLaw::Binomial => (0.5, volume.max(1.0), 0.0),
            CompletionLaw::Poisson => truncated(volume, 1.0, rounds),
            CompletionLaw::NegativeBinomial { dispersion } => truncated(volume, dispersion, rounds),
        };
        (kl_ucb_plus_root_factor(c) - 0.5 + mean_part) * (volume * rounds).sqrt()
            + added_by_batches(largest)
            + rest
    };
    volumes.iter().map(task).sum()
}

/// `3M - 2 + sqrt((M - 1)/2)`: the cost of an index that stays the same for up to M completions.
fn added_by_batches(largest: f64) -> f64 {
    3.0 * largest - 2.0 + (0.5 * (largest - 1.0)).sqrt()
}

/// `d`, the best `M` and `r` for counts without a largest number.
fn truncated(volume: f64, dispersion: f64, rounds: f64) -> (f64, f64, f64) {
    let cost = |&(largest, excess): &(f64, f64)| added_by_batches(largest) + rounds * excess;
    let best = excesses(volume, dispersion, rounds)
        .into_iter()
        .min_by(|one, other| cost(one).total_cmp(&cost(other)));
    let (largest, excess) = best.unwrap_or((volume.ceil().max(1.0), f64::INFINITY));
    (std::f64::consts::FRAC_1_SQRT_2, largest, 0.25 * dispersion + rounds * excess)
}

/// `(M, E(C - M)⁺)` for M from the mean on, for a count of this mean whose variance is
/// `dispersion` times the mean.
fn excesses(mean: f64, dispersion: f64, rounds: f64) -> Vec<(f64, f64)> {
    let first = mean.ceil().max(1.0);
    let counts = (1..).map(|place| first + f64::from(place));
    let mut chances: Vec<f64> = Vec::new();
    for count in counts {
        chances.push(ln_probability(mean, dispersion, count).exp());
        // The rest is below the rounding of the bound.
        if chances[chances.len() - 1] * rounds * dispersion * dispersion < 1e-20 {
            break;
        }
    }
    let (mut tail, mut excess) = (0.0, 0.0);
    let mut found = Vec::with_capacity(chances.len());
    for (place, chance) in chances.iter().enumerate().rev() {
        // P(C > M), whose sum from M on is the excess.
        tail += chance;
        excess += tail;
        found.push((first + place as f64, excess));
    }
    found
}

/// The logarithm of the probability of a count: Poisson for the dispersion 1, else negative
/// binomial.
fn ln_probability(mean: f64, dispersion: f64, count: f64) -> f64 {
    if dispersion <= 1.0 {
        return count * mean.ln() - mean - ln_gamma(count + 1.0);
    }
    let shape = mean / (dispersion - 1.0);
    ln_gamma(shape + count) - ln_gamma(shape) - ln_gamma(count + 1.0) - shape * dispersion.ln()
        + count * (1.0 - dispersion.recip()).ln()
}

/// Theorem 3 with binomial counts of these volumes, for `algorithm-1`, `kl-ucb-mixture` and
/// `hoeffding`: `1 + 4 sqrt(K L mass) + 2 sqrt(L) Σ (V - 1)`. `L` has the largest volume times the
/// horizon in place of the horizon, as the learners have it. `mass` is the expected number of
/// completions over rounds and tasks.
///
/// ```
/// use outlay::theory::{worst_case_bound, worst_case_count_bound};
/// assert_eq!(worst_case_count_bound(&[1.0; 4], 1000, 2000.0), worst_case_bound(4, 1000, 2000.0));
/// ```
#[must_use]
pub fn worst_case_count_bound(volumes: &[f64], horizon: u64, mass: f64) -> f64 {
    let largest = volumes.iter().copied().fold(1.0, f64::max).ceil();
    let completions = horizon.saturating_mul(largest as u64);
    let batches: f64 = volumes.iter().map(|volume| (volume - 1.0).max(0.0)).sum();
    worst_case_bound(volumes.len(), completions, mass)
        + 2.0 * log_term(volumes.len(), completions).sqrt() * batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_excess_is_that_of_the_distribution() {
        for (mean, dispersion) in [(0.3, 1.0), (20.0, 1.0), (20.0, 3.0), (0.5, 4.0)] {
            let chance = |count: u32| ln_probability(mean, dispersion, f64::from(count)).exp();
            let moments = (0..2000).fold([0.0; 3], |[one, first, second], count| {
                let (chance, count_) = (chance(count), f64::from(count));
                [one + chance, first + chance * count_, second + chance * count_ * count_]
            });
            let variance = moments[2] - moments[1] * moments[1];
            assert!((moments[0] - 1.0).abs() < 1e-9, "{moments:?}");
            assert!((moments[1] - mean).abs() < 1e-9, "{moments:?}");
            assert!((variance - dispersion * mean).abs() < 1e-7, "{moments:?}");
            for (largest, excess) in excesses(mean, dispersion, 1e4) {
                let direct: f64 = (0..2000)
                    .map(|count| chance(count) * (f64::from(count) - largest).max(0.0))
                    .sum();
                assert!((excess - direct).abs() < 1e-12, "{mean} {dispersion} {largest}");
            }
        }
    }

    #[test]
    fn large_volumes_take_no_long_search() {
        let bound = |volume| kl_ucb_plus_count_bound(&[volume], CompletionLaw::Poisson, 1e6, 1.1);
        // The additional terms are of order M, and M is close to the volume.
        assert!(bound(1e8) < 12.0 * (1e14f64).sqrt() + 3.1e8);
        assert!(bound(1e-3).is_finite());
    }
}
