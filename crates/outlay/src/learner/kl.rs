//! Upper confidence bounds by the Bernoulli divergence.
//!
//! The bound is the largest `q` with `kl(mean, q) <= level`. At small levels a short series around
//! the mean and one or two steps of Halley's method are accurate to rounding; elsewhere three steps
//! from an upper bound are. Tasks are vectorised, but each bound depends on its own task alone, bit
//! for bit.

use crate::numeric::dispatch::{Loop, vectorised};
use crate::numeric::exp_log::{exp, ln};

/// Steps of Halley's method that the tests found sufficient: from the series at small and at
/// moderate widths, from an upper bound at large ones.
const STEPS: [f64; 3] = [1.0, 2.0, 3.0];
/// Widths, in units of the variance, up to which the series is followed by one step, and by two.
const SMALL_WIDTH: f64 = 0.4;
const MODERATE_WIDTH: f64 = 1.5;
/// The largest number below 1.
const BELOW_ONE: f64 = 1.0 - f64::EPSILON / 2.0;

/// `-m ln m - (1-m) ln(1-m)`, zero at both ends.
#[inline(always)]
fn entropy(mean: f64) -> f64 {
    let term = |share: f64| if share > 0.0 { -share * ln(share) } else { 0.0 };
    term(mean) + term(1.0 - mean)
}

/// Where to start if the width is small or moderate, and how many steps to take; three from
/// [`upper_bound`] if it is large.
#[inline(always)]
fn series(mean: f64, level: f64) -> (f64, f64) {
    let variance = mean * (1.0 - mean);
    // Near the mean kl is d^2/2v - (1-2m) d^3/3v^2 + (1-3v) d^4/4v^3 - ...; reversed, with width^2
    // = 2v level, up to the sixth power. Each further term saves more than it costs: a step has two
    // logarithms.
    let width = (2.0 * variance * level).sqrt();
    let relative = width / variance;
    let skew = 1.0 - 2.0 * mean;
    let square = variance * variance;
    let second = (1.0 - 13.0 * variance) * (1.0 / 36.0);
    let third = skew * (1.0 + 23.0 * variance) * (-1.0 / 270.0);
    let fourth = (1.0 - 26.0 * variance + 313.0 * square) * (1.0 / 4320.0);
    let fifth = skew * (1.0 + 10.0 * variance + 241.0 * square) * (1.0 / 17010.0);
    let q = mean
        + width
            * (1.0
                + relative
                    * (skew * (1.0 / 3.0)
                        + relative
                            * (second
                                + relative * (third + relative * (fourth + relative * fifth)))));
    let steps = if relative <= MODERATE_WIDTH { STEPS[1] } else { STEPS[2] };
    (q, if relative <= SMALL_WIDTH { STEPS[0] } else { steps })
}

/// An upper bound on `q`: the smallest of four, each from a lower bound on the divergence.
#[inline(always)]
fn upper_bound(mean: f64, level: f64) -> f64 {
    let rest = 1.0 - mean;
    // kl >= 2d^2 (Pinsker); kl >= d^2/2q, for small means; kl >= d^2/2m(1-m) for means above 1/2,
    // where the variance falls; kl >= -entropy - rest ln(1-q), for large levels.
    let pinsker = mean + (0.5 * level).sqrt();
    let small = mean + level + (level * (level + 2.0 * mean)).sqrt();
    let high = if mean >= 0.5 { mean + (2.0 * mean * rest * level).sqrt() } else { 1.0 };
    let large = 1.0 - exp(-(level + entropy(mean)) / rest);
    pinsker.min(small).min(high).min(large).min(BELOW_ONE)
}

/// One step of Halley's method towards `kl(mean, q) = level`, never to the mean or below.
#[inline(always)]
fn step(q: f64, mean: f64, level: f64) -> f64 {
    let (rest, other) = (1.0 - mean, 1.0 - q);
    // A mean of 0 or 1 has no part in the divergence; its logarithm must only be finite.
    let risen = ln(q / if mean > 0.0 { mean } else { 1.0 });
    let fallen = ln(other / if rest > 0.0 { rest } else { 1.0 });
    let excess = -mean * risen - rest * fallen - level;
    // The first derivative in q is d / (q (1-q)), the second m/q^2 + (1-m)/(1-q)^2.
    let inverse = 1.0 / (q - mean);
    let newton = excess * q * other * inverse;
    let bend = excess * (mean * other * other + rest * q * q) * (inverse * inverse);
    // Far from the root the correction would overshoot.
    let next = q - newton / (1.0 - 0.5 * bend).clamp(0.3, 3.0);
    let next = if next > mean { next } else { 0.5 * (q + mean) };
    next.min(BELOW_ONE)
}

/// The exact ends: the mean at level 0, and never above 1.
#[inline(always)]
fn finish(q: f64, mean: f64, level: f64) -> f64 {
    let q = if level > 0.0 { q } else { mean };
    if mean < 1.0 { q } else { 1.0 }
}

/// The largest `q` with `kl(mean, q) <= level`.
pub(crate) fn upper(mean: f64, level: f64) -> f64 {
    let (series, steps) = series(mean, level);
    let start = if steps < STEPS[2] { series } else { upper_bound(mean, level) };
    let q = (0..steps as usize).fold(start, |q, _| step(q, mean, level));
    finish(q, mean, level)
}

/// The largest `q` with `kl(mean, q) <= level`, for many tasks.
pub(crate) fn upper_all(means: &[f64], levels: &[f64], uppers: &mut [f64]) {
    vectorised(UpperAll { means, levels, uppers });
}

struct UpperAll<'a> {
    means: &'a [f64],
    levels: &'a [f64],
    uppers: &'a mut [f64],
}

impl Loop for UpperAll<'_> {
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        let count = self.uppers.len();
        let mut from = 0;
        while from < count {
            // Wide blocks hide latency; a narrow one wastes no lanes on the remainder.
            from += match count - from {
                13.. => self.block::<8>(from),
                9..=12 => self.block::<12>(from),
                5..=8 => self.block::<8>(from),
                _ => self.block::<4>(from),
            };
        }
    }
}

impl UpperAll<'_> {
    /// One block: the same step for all its tasks before the next step, so that the compiler can
    /// use vectors. Returns its width.
    #[inline(always)]
    fn block<const WIDTH: usize>(&mut self, from: usize) -> usize {
        let to = (from + WIDTH).min(self.uppers.len());
        let (mut means, mut levels) = ([1.0; WIDTH], [0.0; WIDTH]);
        means[..to - from].copy_from_slice(&self.means[from..to]);
        levels[..to - from].copy_from_slice(&self.levels[from..to]);
        let (mut q, mut steps) = ([0.0; WIDTH], [0.0; WIDTH]);
        for lane in 0..WIDTH {
            (q[lane], steps[lane]) = series(means[lane], levels[lane]);
        }
        let most = steps[..to - from].iter().copied().fold(0.0, f64::max);
        if most >= STEPS[2] {
            for lane in 0..WIDTH {
                let bound = upper_bound(means[lane], levels[lane]);
                q[lane] = if steps[lane] < STEPS[2] { q[lane] } else { bound };
            }
        }
        for number in STEPS.into_iter().filter(|number| *number <= most) {
            for lane in 0..WIDTH {
                let next = step(q[lane], means[lane], levels[lane]);
                q[lane] = if steps[lane] >= number { next } else { q[lane] };
            }
        }
        for lane in 0..WIDTH {
            q[lane] = finish(q[lane], means[lane], levels[lane]);
        }
        self.uppers[from..to].copy_from_slice(&q[..to - from]);
        WIDTH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divergence(mean: f64, q: f64) -> f64 {
        let term =
            |share: f64, other: f64| if share > 0.0 { share * (share / other).ln() } else { 0.0 };
        term(mean, q) + term(1.0 - mean, 1.0 - q)
    }

    fn means() -> Vec<f64> {
        let small = (1..=9).map(|power| 10f64.powi(-power));
        let middle = (1..40).map(|step| f64::from(step) / 40.0);
        let large = (1..=9).map(|power| 1.0 - 10f64.powi(-power));
        std::iter::once(0.0).chain(small).chain(middle).chain(large).collect()
    }

    /// Against bisection in the logarithm of `1 - q`, which keeps its digits near 1.
    #[test]
    fn the_bound_is_where_the_divergence_meets_the_level() {
        for mean in means() {
            for step in -90..=15 {
                let level = 10f64.powf(f64::from(step) * 0.1);
                let (mut low, mut high) = (-800.0, (-mean).ln_1p());
                for _ in 0..200 {
                    let middle = 0.5 * (low + high);
                    let too_far = -entropy(mean)
                        - if mean > 0.0 { mean * (-middle.exp_m1()).ln() } else { 0.0 }
                        - (1.0 - mean) * middle
                        > level;
                    if too_far { low = middle } else { high = middle }
                }
                let expected = -(0.5 * (low + high)).exp_m1();
                let bound = upper(mean, level);
                // The divergence is accurate to 1e-16, hence the bound to 1e-16/slope.
                let blur = 4e-16 * expected * (1.0 - expected) / (expected - mean).max(1e-16);
                assert!(
                    (bound - expected).abs() <= 1e-14 + blur,
                    "mean {mean}, level {level:e}: {bound} instead of {expected}"
                );
                assert!(bound >= mean && bound <= 1.0);
            }
        }
    }

    #[test]
    fn agrees_with_an_independent_implementation() {
        let fixture: serde_json::Value =
            serde_json::from_str(include_str!("../../tests/data/reference_runs.json")).unwrap();
        for row in fixture["kl_upper"]["rows"].as_array().unwrap() {
            let [mean, level, expected] =
                [0, 1, 2].map(|column: usize| row[column].as_f64().unwrap());
            assert!(
                (upper(mean, level) - expected).abs() <= 1e-13,
                "{row}: {}",
                upper(mean, level)
            );
        }
    }

    #[test]
    fn the_ends_are_exact() {
        assert_eq!(
            (upper(1.0, 0.3), upper(1.0, 0.0), upper(0.25, 0.0), upper(0.0, 0.0)),
            (1.0, 1.0, 0.25, 0.0)
        );
        assert!((upper(0.0, 2.0) - (1.0 - (-2.0f64).exp())).abs() < 1e-15);
        assert!(upper(0.5, 800.0) <= 1.0 && divergence(0.5, upper(0.5, 1.0)) <= 1.0 + 1e-12);
    }

    #[test]
    fn many_at_once_give_the_same_bits() {
        let means: Vec<f64> = means();
        let levels: Vec<f64> =
            (0..means.len()).map(|place| 10f64.powf(place as f64 * 0.2 - 9.0)).collect();
        let mut uppers = vec![0.0; means.len()];
        upper_all(&means, &levels, &mut uppers);
        for ((mean, level), bound) in means.iter().zip(&levels).zip(&uppers) {
            assert_eq!(
                upper(*mean, *level).to_bits(),
                bound.to_bits(),
                "mean {mean}, level {level}"
            );
        }
    }
}
