//! Short series with their coefficients as vectors in memory: spelled out in the code, the compiler
//! would spread each number over the lanes anew in every turn, a third of all instructions.

use pulp::Simd;

use crate::oracle::four::Four;

/// Coefficients, each in all four lanes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Series {
    /// Of `e^x`, from degree 0.
    exp: [[f64; 4]; 14],
    /// Of `artanh(s) / s - 1` in `s²`, from degree 1.
    artanh: [[f64; 4]; 6],
    /// The smallest number there is: lost in any sum but zero.
    least: [f64; 4],
    /// How much a ratio counts in a distance.
    counts: [f64; 4],
    farthest: [f64; 4],
}

/// How far from zero [`Series::exp`] is exact: half of `ln 2`.
pub(super) const MEDIUM: f64 = 0.346;
/// How far from zero the logarithm of a quotient may be for [`Series::ln_ratio`].
const WIDE: f64 = 0.12;

impl Series {
    pub(super) fn new() -> Self {
        let mut factorial = 1.0;
        let exp = std::array::from_fn(|degree| {
            factorial *= (degree as f64).max(1.0);
            [1.0 / factorial; 4]
        });
        let artanh = std::array::from_fn(|degree| [1.0 / (2 * degree + 3) as f64; 4]);
        let farthest = MEDIUM * MEDIUM;
        let counts = farthest / (WIDE * WIDE);
        Self {
            exp,
            artanh,
            least: [f64::from_bits(1); 4],
            counts: [counts; 4],
            farthest: [farthest; 4],
        }
    }

    /// `e^x` for numbers up to [`MEDIUM`] on either side of zero: even and odd degrees apart, two
    /// short chains.
    #[inline(always)]
    pub(super) fn exp<S: Simd>(&self, simd: S, x: Four<S>) -> Four<S> {
        let coefficient = |degree: usize| Four::load(simd, &self.exp[degree]);
        let square = x * x;
        let (mut even, mut odd) = (coefficient(12), coefficient(13));
        for degree in [10, 8, 6, 4, 2, 0] {
            even = even.times_plus(square, coefficient(degree));
            odd = odd.times_plus(square, coefficient(degree + 1));
        }
        odd.times_plus(x, even)
    }

    /// `e^x` for numbers up to [`TINY`](crate::oracle::four::TINY) on either side of zero.
    #[inline(always)]
    pub(super) fn exp_tiny<S: Simd>(&self, simd: S, x: Four<S>) -> Four<S> {
        let coefficient = |degree: usize| Four::load(simd, &self.exp[degree]);
        let mut sum = coefficient(4);
        for degree in [3, 2, 1, 0] {
            sum = sum.times_plus(x, coefficient(degree));
        }
        sum
    }

    /// `ln(a / b)` where it is at most [`WIDE`] from zero; zero where both are zero.
    #[inline(always)]
    pub(super) fn ln_ratio<S: Simd>(&self, simd: S, a: Four<S>, b: Four<S>) -> Four<S> {
        let coefficient = |degree: usize| Four::load(simd, &self.artanh[degree]);
        let s = (a - b) / (a + b + Four::load(simd, &self.least));
        let (square, twice) = (s * s, s + s);
        let mut sum = coefficient(5);
        for degree in [4, 3, 2, 1, 0] {
            sum = sum.times_plus(square, coefficient(degree));
        }
        (twice * square).times_plus(sum, twice)
    }

    /// Whether all tasks are so near their anchors that both series are exact. Values that are no
    /// values are not near to anything.
    #[inline(always)]
    pub(super) fn are_near<S: Simd>(&self, simd: S, ratio: Four<S>, exponent: Four<S>) -> bool {
        let distance =
            (ratio * Four::load(simd, &self.counts)).times_plus(ratio, exponent * exponent);
        distance.is_all_at_most(Four::load(simd, &self.farthest))
    }
}

#[cfg(test)]
mod tests {
    use pulp::{Arch, Scalar256b, WithSimd};

    use super::*;
    use crate::oracle::four::{TINY, with_four};

    struct Check;
    impl WithSimd for Check {
        type Output = Vec<u64>;
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> Vec<u64> {
            let series = Series::new();
            let four = |number: f64| Four::splat(simd, number);
            let mut bits = Vec::new();
            for step in -1000..=1000 {
                let share = f64::from(step) / 1000.0;
                let (x, tiny, log) = (share * MEDIUM, share * TINY, share * WIDE);
                let [exp, ..] = series.exp(simd, four(x)).to_array();
                let [_, exp_tiny, ..] = series.exp_tiny(simd, four(tiny)).to_array();
                let [.., ratio] =
                    series.ln_ratio(simd, four(3.0 * log.exp()), four(3.0)).to_array();
                assert!((exp / x.exp() - 1.0).abs() <= 2.0 * f64::EPSILON, "{x}");
                assert!((exp_tiny / tiny.exp() - 1.0).abs() <= 2.0 * f64::EPSILON, "{tiny}");
                assert!((ratio - log).abs() <= 3e-16, "{log} {ratio}");
                assert!(
                    series.are_near(simd, four(0.999 * log), four(0.0))
                        && series.are_near(simd, four(0.0), four(0.999 * x))
                );
                bits.extend([exp.to_bits(), exp_tiny.to_bits(), ratio.to_bits()]);
            }
            assert!(
                !series.are_near(simd, four(1.001 * WIDE), four(0.0))
                    && !series.are_near(simd, four(0.0), four(-1.001 * MEDIUM))
            );
            let ratio = |a: f64, b: f64| series.ln_ratio(simd, four(a), four(b));
            assert_eq!(ratio(0.0, 0.0).to_array(), [0.0; 4]);
            for bad in [-1.0, -f64::from_bits(1), f64::INFINITY, f64::NAN] {
                for anchor in [0.0, 1e-80, 1.0] {
                    assert!(
                        !series.are_near(simd, ratio(bad, anchor), four(0.0)),
                        "{bad} {anchor}"
                    );
                }
            }
            bits
        }
    }

    #[test]
    fn every_machine_gives_the_same_bits() {
        assert_eq!(with_four(Arch::new(), Check), Simd::vectorize(Scalar256b, Check));
    }
}
