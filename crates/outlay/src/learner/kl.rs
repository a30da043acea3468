//! Upper confidence bounds by the Bernoulli divergence.
//!
//! `upper(mean, level)` is the largest `q` with `kl(mean, q) <= level`. The divergence is convex and rises in `q` above the mean,
//! so Newton's method from an upper bound comes down to it and never passes below (but for rounding). A fixed number of steps
//! gives every machine and every vector width the same bits.

use crate::elementary::{Loop, exp, ln, vectorised};

/// Steps of Newton's method; the tests say how near that comes.
const STEPS: usize = 6;

/// `-m ln m - (1-m) ln(1-m)`, zero at both ends.
#[inline(always)]
pub(crate) fn entropy(mean: f64) -> f64 {
    let term = |share: f64| if share > 0.0 { -share * ln(share) } else { 0.0 };
    term(mean) + term(1.0 - mean)
}

/// The largest `q` with `kl(mean, q) <= level`, given the entropy of the mean.
#[inline(always)]
pub(crate) fn upper_with_entropy(mean: f64, entropy: f64, level: f64) -> f64 {
    let rest = 1.0 - mean;
    // Three upper bounds: kl >= 2d^2 (Pinsker), kl >= d^2/2q (small means), kl >= -entropy - rest ln(1-q) (large levels).
    let pinsker = mean + (0.5 * level).sqrt();
    let small = mean + level + (level * (level + 2.0 * mean)).sqrt();
    let large = 1.0 - exp(-(level + entropy) / rest);
    let mut q = pinsker.min(small).min(large).min(1.0 - f64::EPSILON / 2.0);
    for _ in 0..STEPS {
        let log_rest = rest * ln(1.0 - q);
        let log_mean = if mean > 0.0 { mean * ln(q) } else { 0.0 };
        let excess = -entropy - log_mean - log_rest - level;
        // The slope of kl in q is (q - m) / (q (1 - q)).
        let step = excess * (q * (1.0 - q)) / (q - mean);
        let next = q - step;
        // Rounding may throw a last step out; a converged point stays where it is.
        q = if excess > 0.0 && next > mean && next < q { next } else { q };
    }
    let q = if level > 0.0 { q } else { mean };
    if mean >= 1.0 { 1.0 } else { q }
}

/// The largest `q` with `kl(mean, q) <= level`.
pub(crate) fn upper(mean: f64, level: f64) -> f64 {
    upper_with_entropy(mean, entropy(mean), level)
}

/// [`upper_with_entropy`] for many tasks at once.
pub(crate) fn upper_all(means: &[f64], entropies: &[f64], levels: &[f64], uppers: &mut [f64]) {
    vectorised(UpperAll { means, entropies, levels, uppers });
}

struct UpperAll<'a> {
    means: &'a [f64],
    entropies: &'a [f64],
    levels: &'a [f64],
    uppers: &'a mut [f64],
}

impl Loop for UpperAll<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let inputs = self.means.iter().zip(self.entropies).zip(self.levels);
        for (upper, ((&mean, &entropy), &level)) in self.uppers.iter_mut().zip(inputs) {
            *upper = upper_with_entropy(mean, entropy, level);
        }
    }
}
