//! Exponentials and logarithms.
//!
//! [`F64x4::exp`] and [`F64x4::ln`] take four lanes at a time and use fused multiply-add. [`exp`]
//! and [`ln`] take one number, in a form that the compiler vectorises; their products and sums are
//! separate operations, because without hardware support a fused one is a slow library call. All
//! are branch-free polynomials after the usual reduction of the argument, accurate to two units in
//! the last place, with the same bits on every machine.
//!
//! [`Series`], [`exp_near_zero`] and [`log_ratio`] are shorter, for arguments that are nearly always
//! small; the last two call the standard library for all others.

use std::f64::consts::{LOG2_E, SQRT_2};

use pulp::{Simd, cast};

use super::simd::F64x4;

impl<S: Simd> F64x4<S> {
    /// `e^x`; zero below -708 and for NaN, and no more than `e^709`.
    #[inline(always)]
    pub(crate) fn exp(self) -> Self {
        let simd = self.simd;
        let number = |number: f64| Self::splat(simd, number);
        let (whole, r) = self.reduced();
        // Taylor to degree 13, in pairs: short chains.
        let pair = |first: f64, second: f64| r.mul_add(number(second), number(first));
        let r2 = r * r;
        let r4 = r2 * r2;
        let low = r2.mul_add(pair(0.5, 1.0 / 6.0), r + 1.0);
        let middle = r2.mul_add(pair(1.0 / 720.0, 1.0 / 5_040.0), pair(1.0 / 24.0, 1.0 / 120.0));
        let high = r2.mul_add(
            pair(1.0 / 3_628_800.0, 1.0 / 39_916_800.0),
            pair(1.0 / 40_320.0, 1.0 / 362_880.0),
        );
        let top = pair(1.0 / 479_001_600.0, 1.0 / 6_227_020_800.0);
        let series = (r4 * r4).mul_add(r4.mul_add(top, high), r4.mul_add(middle, low));
        self.if_gt(number(-708.0), series * whole.power_of_two(), number(0.0))
    }

    /// `e^x` to a ten-thousandth, in the same range: for guesses.
    #[inline(always)]
    pub(crate) fn exp_rough(self) -> Self {
        let number = |number: f64| Self::splat(self.simd, number);
        let (whole, r) = self.reduced();
        let r2 = r * r;
        let tail = r2.mul_add(number(1.0 / 24.0), r.mul_add(number(1.0 / 6.0), number(0.5)));
        let series = r2.mul_add(tail, r + 1.0);
        self.if_gt(number(-708.0), series * whole.power_of_two(), number(0.0))
    }

    /// A whole number and a rest, within half of `ln 2` of zero: the whole number times `ln 2` and
    /// the rest make up this number, or the nearest whose exponential is a normal number.
    #[inline(always)]
    fn reduced(self) -> (Self, Self) {
        let number = |number: f64| Self::splat(self.simd, number);
        let inside = self.max(number(-708.0)).min(number(709.0));
        let whole = inside.mul_add(number(LOG2_E), number(ROUNDER)) - ROUNDER;
        (whole, whole.neg_mul_add(number(LN_2_LOW), whole.neg_mul_add(number(LN_2_HIGH), inside)))
    }

    /// Two to the power of a whole number between -1022 and 1023.
    #[inline(always)]
    fn power_of_two(self) -> Self {
        let simd = self.simd;
        // Behind 1.5 * 2^20 a whole number stands in the low bits of the upper half: shifted, it is
        // the exponent.
        let halves: S::u32s = cast((self + UPPER_ROUNDER).lanes);
        let exponent = simd.wrapping_dyn_shl_u32s(halves, simd.splat_u32s(20));
        let lanes: S::f64s = cast(simd.add_u64s(cast(exponent), simd.splat_u64s(1.0f64.to_bits())));
        Self { simd, lanes }
    }

    /// `2 artanh(x)`, that is `ln((1 + x) / (1 - x))`, for numbers up to 0.032 on either side of
    /// zero: the remainder is below 1e-17.
    #[inline(always)]
    pub(crate) fn twice_artanh(self) -> Self {
        let (t, twice) = (self * self, self + self);
        let number = |number: f64| Self::splat(self.simd, number);
        let pair = |first: f64, second: f64| t.mul_add(number(second), number(first));
        let tail = (t * t).mul_add(pair(1.0 / 7.0, 1.0 / 9.0), pair(1.0 / 3.0, 1.0 / 5.0));
        (twice * t).mul_add(tail, twice)
    }

    /// `ln x` for normal positive numbers, minus infinity for all others.
    #[inline(always)]
    pub(crate) fn ln(self) -> Self {
        let simd = self.simd;
        let number = |number: f64| Self::splat(simd, number);
        let bits: S::u64s = cast(self.lanes);
        let one = simd.splat_u64s(1.0f64.to_bits());
        let mantissa =
            simd.or_u64s(simd.and_u64s(bits, simd.splat_u64s(0x000f_ffff_ffff_ffff)), one);
        let high = Self { simd, lanes: cast(mantissa) };
        // The exponent as a number: its bits in the upper half, behind those of 2^20.
        let exponent = simd.and_u64s(bits, simd.splat_u64s(0x7ff0_0000_0000_0000));
        let exponent = simd.wrapping_dyn_shr_u32s(cast(exponent), simd.splat_u32s(20));
        let exponent = simd.or_u64s(cast(exponent), simd.splat_u64s(1_048_576.0f64.to_bits()));
        let exponent = Self { simd, lanes: cast(exponent) } - (1_048_576.0 + 1023.0);
        let m = high.if_gt(number(SQRT_2), high * 0.5, high);
        let exponent = high.if_gt(number(SQRT_2), exponent + 1.0, exponent);
        // ln m = 2 artanh(s), s = (m - 1) / (m + 1), |s| < 0.172; in pairs: short chains.
        let s = (m - 1.0) / (m + 1.0);
        let (t, twice) = (s * s, s + s);
        let pair = |first: f64, second: f64| t.mul_add(number(second), number(first));
        let t2 = t * t;
        let t4 = t2 * t2;
        let low = t2.mul_add(pair(1.0 / 7.0, 1.0 / 9.0), pair(1.0 / 3.0, 1.0 / 5.0));
        let middle = t2.mul_add(pair(1.0 / 15.0, 1.0 / 17.0), pair(1.0 / 11.0, 1.0 / 13.0));
        let top = pair(1.0 / 19.0, 1.0 / 21.0);
        let tail = t4.mul_add(t4.mul_add(top, middle), low);
        let small = exponent.mul_add(number(LN_2_LOW), (twice * t).mul_add(tail, twice));
        let result = exponent.mul_add(number(LN_2_HIGH), small);
        self.if_gt(number(BELOW_MIN_LN_ARG), result, number(f64::NEG_INFINITY))
    }

    /// `1 / (1 + e^-x)`; zero below -708.
    #[inline(always)]
    pub(crate) fn sigmoid(self) -> Self {
        let number = |number: f64| Self::splat(self.simd, number);
        let sigmoid = number(1.0) / ((number(0.0) - self).exp() + 1.0);
        self.if_gt(number(-708.0), sigmoid, number(0.0))
    }

    /// `1 - e^-x` for nonnegative numbers, without cancellation for small ones: accurate to ten
    /// units in the last place.
    #[inline(always)]
    pub(crate) fn one_minus_exp_neg(self) -> Self {
        let number = |number: f64| Self::splat(self.simd, number);
        let small = self.min(number(SMALL)).one_minus_exp_neg_small();
        self.if_gt(number(SMALL), number(1.0) - (number(0.0) - self).exp(), small)
    }

    /// `1 - e^-x` for numbers up to 1/8 on either side of zero.
    #[inline(always)]
    pub(crate) fn one_minus_exp_neg_small(self) -> Self {
        let number = |number: f64| Self::splat(self.simd, number);
        // x - x²/2 + ..., to degree 10: the truncation error is below 1e-17 of the result.
        let x = number(0.0) - self;
        let pair = |first: f64, second: f64| x.mul_add(number(second), number(first));
        let x2 = x * x;
        let x4 = x2 * x2;
        let low = x2.mul_add(pair(1.0 / 6.0, 1.0 / 24.0), pair(1.0, 0.5));
        let high = x2.mul_add(pair(1.0 / 5_040.0, 1.0 / 40_320.0), pair(1.0 / 120.0, 1.0 / 720.0));
        let series =
            (x4 * x4).mul_add(pair(1.0 / 362_880.0, 1.0 / 3_628_800.0), x4.mul_add(high, low));
        number(0.0) - x * series
    }
}

/// `ln 2` in two parts: the product of the first with a whole number up to 2^11 is exact.
const LN_2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// The smallest number whose logarithm is taken; below it the result is that of zero.
pub(crate) const MIN_LN_ARG: f64 = f64::MIN_POSITIVE;
/// Arguments of [`F64x4::one_minus_exp_neg`] below which its Taylor series is used.
const SMALL: f64 = 0.125;
/// How far from zero five terms of the exponential series are exact.
pub(crate) const TINY: f64 = 1e-3;
/// Adding and subtracting 1.5 * 2^52 rounds to a whole number, which is then in the low bits.
pub(crate) const ROUNDER: f64 = 6_755_399_441_055_744.0;
/// 1.5 * 2^20.
const UPPER_ROUNDER: f64 = 1_572_864.0;
/// The largest number whose logarithm is not taken.
const BELOW_MIN_LN_ARG: f64 = f64::from_bits(MIN_LN_ARG.to_bits() - 1);

/// Taylor coefficients as whole vectors in memory. Written as constants in the code, the compiler
/// would broadcast each one again in every iteration, a third of all instructions.
#[derive(Debug)]
pub(crate) struct Series {
    /// Of `e^x`, from degree 0.
    exp: [[f64; 4]; 14],
    /// Of `artanh(s) / s - 1` in `s²`, from degree 1.
    artanh: [[f64; 4]; 6],
    /// The smallest positive number: it changes no sum but zero.
    least: [f64; 4],
    /// Weight of a log ratio in the distance of [`Series::are_near`], and the largest distance.
    ratio_weight: [f64; 4],
    max_distance: [f64; 4],
}

static SERIES: Series = Series::new();

/// The coefficients, to be taken once before a loop. The compiler must not see their values, or it
/// makes constants of them again.
#[inline(always)]
pub(crate) fn series() -> &'static Series {
    std::hint::black_box(&SERIES)
}

/// How far from zero [`Series::exp`] is exact: half of `ln 2`.
pub(crate) const MEDIUM: f64 = 0.346;
/// How far from zero the logarithm of a quotient may be for [`Series::ln_ratio`].
const WIDE: f64 = 0.12;

impl Series {
    const fn new() -> Self {
        let (mut exp, mut factorial, mut degree) = ([[1.0; 4]; 14], 1.0, 1);
        while degree < exp.len() {
            factorial *= degree as f64;
            exp[degree] = [1.0 / factorial; 4];
            degree += 1;
        }
        let (mut artanh, mut degree) = ([[0.0; 4]; 6], 0);
        while degree < artanh.len() {
            artanh[degree] = [1.0 / (2 * degree + 3) as f64; 4];
            degree += 1;
        }
        Self {
            exp,
            artanh,
            least: [f64::from_bits(1); 4],
            ratio_weight: [(MEDIUM * MEDIUM) / (WIDE * WIDE); 4],
            max_distance: [MEDIUM * MEDIUM; 4],
        }
    }

    /// `e^x` for numbers up to [`MEDIUM`] on either side of zero: even and odd degrees apart, two
    /// short chains.
    #[inline(always)]
    pub(crate) fn exp<S: Simd>(&self, simd: S, x: F64x4<S>) -> F64x4<S> {
        let coefficient = |degree: usize| F64x4::load(simd, &self.exp[degree]);
        let square = x * x;
        let (mut even, mut odd) = (coefficient(12), coefficient(13));
        for degree in [10, 8, 6, 4, 2, 0] {
            even = even.mul_add(square, coefficient(degree));
            odd = odd.mul_add(square, coefficient(degree + 1));
        }
        odd.mul_add(x, even)
    }

    /// `e^x` for numbers up to [`TINY`] on either side of zero.
    #[inline(always)]
    pub(crate) fn exp_tiny<S: Simd>(&self, simd: S, x: F64x4<S>) -> F64x4<S> {
        let coefficient = |degree: usize| F64x4::load(simd, &self.exp[degree]);
        let mut sum = coefficient(4);
        for degree in [3, 2, 1, 0] {
            sum = sum.mul_add(x, coefficient(degree));
        }
        sum
    }

    /// `ln(a / b)` where it is at most [`WIDE`] from zero; zero where both are zero.
    #[inline(always)]
    pub(crate) fn ln_ratio<S: Simd>(&self, simd: S, a: F64x4<S>, b: F64x4<S>) -> F64x4<S> {
        let coefficient = |degree: usize| F64x4::load(simd, &self.artanh[degree]);
        let s = (a - b) / (a + b + F64x4::load(simd, &self.least));
        let (square, twice) = (s * s, s + s);
        let mut sum = coefficient(5);
        for degree in [4, 3, 2, 1, 0] {
            sum = sum.mul_add(square, coefficient(degree));
        }
        (twice * square).mul_add(sum, twice)
    }

    /// One, and one third, as the other coefficients.
    #[inline(always)]
    pub(crate) fn one<S: Simd>(&self, simd: S) -> F64x4<S> {
        F64x4::load(simd, &self.exp[0])
    }

    #[inline(always)]
    pub(crate) fn third<S: Simd>(&self, simd: S) -> F64x4<S> {
        F64x4::load(simd, &self.artanh[0])
    }

    /// `e^x - 1` for numbers up to 0.06 on either side of zero: the remainder is below 4e-17.
    #[inline(always)]
    pub(crate) fn exp_minus_one<S: Simd>(&self, simd: S, x: F64x4<S>) -> F64x4<S> {
        let coefficient = |degree: usize| F64x4::load(simd, &self.exp[degree]);
        let square = x * x;
        let (mut even, mut odd) = (coefficient(8), coefficient(7));
        for degree in [6, 4, 2] {
            even = even.mul_add(square, coefficient(degree));
            odd = odd.mul_add(square, coefficient(degree - 1));
        }
        even.mul_add(square, odd * x)
    }

    /// `2 artanh(x)` for numbers up to 0.032 on either side of zero: the remainder is below 1e-17.
    #[inline(always)]
    pub(crate) fn twice_artanh<S: Simd>(&self, simd: S, x: F64x4<S>) -> F64x4<S> {
        let coefficient = |degree: usize| F64x4::load(simd, &self.artanh[degree]);
        let (square, twice) = (x * x, x + x);
        let mut sum = coefficient(3);
        for degree in [2, 1, 0] {
            sum = sum.mul_add(square, coefficient(degree));
        }
        (twice * square).mul_add(sum, twice)
    }

    /// Whether both series are accurate in all four lanes, for log ratios up to [`WIDE`] and
    /// exponents up to [`MEDIUM`]. False for NaN, infinite and negative arguments of the ratio.
    #[inline(always)]
    pub(crate) fn are_near<S: Simd>(&self, simd: S, ratio: F64x4<S>, exponent: F64x4<S>) -> bool {
        let distance =
            (ratio * F64x4::load(simd, &self.ratio_weight)).mul_add(ratio, exponent * exponent);
        distance.all_le(F64x4::load(simd, &self.max_distance))
    }
}

/// `e^x`; zero below -708, infinite above 709, zero for NaN.
#[inline(always)]
pub(crate) const fn exp(x: f64) -> f64 {
    #[allow(clippy::manual_clamp, reason = "NaN must become a number here")]
    let inside = x.max(-708.0).min(709.0);
    let rounded = inside * LOG2_E + ROUNDER;
    let whole = rounded - ROUNDER;
    let r = (inside - whole * LN_2_HIGH) - whole * LN_2_LOW;
    // Taylor to degree 13: for |r| <= ln(2)/2 the rest is below 5e-18. Split in two for shorter
    // chains.
    let r2 = r * r;
    let even = 1.0
        + r2 * (1.0 / 2.0
            + r2 * (1.0 / 24.0
                + r2 * (1.0 / 720.0
                    + r2 * (1.0 / 40_320.0
                        + r2 * (1.0 / 3_628_800.0 + r2 * (1.0 / 479_001_600.0))))));
    let odd = 1.0
        + r2 * (1.0 / 6.0
            + r2 * (1.0 / 120.0
                + r2 * (1.0 / 5_040.0
                    + r2 * (1.0 / 362_880.0
                        + r2 * (1.0 / 39_916_800.0 + r2 * (1.0 / 6_227_020_800.0))))));
    let scale = f64::from_bits((rounded.to_bits() << 52).wrapping_add(1.0f64.to_bits()));
    let result = (even + r * odd) * scale;
    let result = if x > 709.0 { f64::INFINITY } else { result };
    if x >= -708.0 { result } else { 0.0 }
}

/// `ln x` for normal positive numbers; minus infinity below [`MIN_LN_ARG`].
#[inline(always)]
pub(crate) const fn ln(x: f64) -> f64 {
    // x = 2^exponent * m with m between sqrt(1/2) and sqrt(2).
    let bits = x.to_bits();
    let high = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | 1.0f64.to_bits());
    // The exponent as a number: its bits behind those of 2^52.
    let exponent =
        f64::from_bits((bits >> 52) | 0x4330_0000_0000_0000) - (4_503_599_627_370_496.0 + 1023.0);
    let large = high > SQRT_2;
    let m = if large { 0.5 * high } else { high };
    let exponent = if large { exponent + 1.0 } else { exponent };
    // ln m = 2 artanh(s), s = (m - 1) / (m + 1), |s| < 0.172.
    let s = (m - 1.0) / (m + 1.0);
    let s2 = s * s;
    // Split in two for shorter chains.
    let s4 = s2 * s2;
    let even =
        1.0 / 3.0 + s4 * (1.0 / 7.0 + s4 * (1.0 / 11.0 + s4 * (1.0 / 15.0 + s4 * (1.0 / 19.0))));
    let odd =
        1.0 / 5.0 + s4 * (1.0 / 9.0 + s4 * (1.0 / 13.0 + s4 * (1.0 / 17.0 + s4 * (1.0 / 21.0))));
    let tail = s2 * (even + s2 * odd);
    let mantissa = 2.0 * s + 2.0 * s * tail;
    let result = exponent * LN_2_HIGH + (exponent * LN_2_LOW + mantissa);
    if x >= MIN_LN_ARG { result } else { f64::NEG_INFINITY }
}

/// `ln(a / b)`.
#[inline(always)]
pub(crate) fn log_ratio(a: f64, b: f64) -> f64 {
    // 2 artanh(s): for |s| <= 0.032 the rest is below 1e-17.
    let s = (a - b) / (a + b);
    let t = s * s;
    if t < 1e-3 {
        let (twice, tail) =
            (s + s, (1.0 / 3.0 + t * (1.0 / 5.0)) + (t * t) * (1.0 / 7.0 + t * (1.0 / 9.0)));
        twice + (twice * t) * tail
    } else {
        (a / b).ln()
    }
}

/// `e^x`, by a short series for numbers up to 1/16 on either side of zero.
#[inline(always)]
pub(crate) fn exp_near_zero(x: f64) -> f64 {
    if x.abs() > 0.0625 {
        return x.exp();
    }
    // Taylor to degree 9: the rest is below 1e-18.
    let x2 = x * x;
    let x4 = x2 * x2;
    let low = (1.0 + x) + x2 * (0.5 + x * (1.0 / 6.0));
    let middle = (1.0 / 24.0 + x * (1.0 / 120.0)) + x2 * (1.0 / 720.0 + x * (1.0 / 5_040.0));
    low + x4 * (middle + x4 * (1.0 / 40_320.0 + x * (1.0 / 362_880.0)))
}

#[cfg(test)]
mod tests {
    use pulp::{Arch, Scalar256b, WithSimd};

    use super::*;
    use crate::numeric::dispatch::{Loop, vectorised};
    use crate::numeric::simd::with_simd4;

    struct Check;
    impl WithSimd for Check {
        type Output = Vec<u64>;
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> Vec<u64> {
            let mut bits = Vec::new();
            let mut worst: [f64; 2] = [0.0; 2];
            for step in -70_000..=70_000 {
                let x = f64::from(step) * 0.010_01;
                let [exp, ..] = F64x4::splat(simd, x).exp().to_array();
                let [ln, ..] = F64x4::splat(simd, exp).ln().to_array();
                worst = [
                    worst[0].max((exp / x.exp() - 1.0).abs()),
                    worst[1].max((ln - exp.ln()).abs() / x.abs().max(1.0)),
                ];
                let [rough, ..] = F64x4::splat(simd, x).exp_rough().to_array();
                assert!((rough / x.exp() - 1.0).abs() <= 1e-4, "{x}");
                bits.extend([exp.to_bits(), ln.to_bits(), rough.to_bits()]);
            }
            assert!(worst[0] <= 2.0 * f64::EPSILON && worst[1] <= 4.0 * f64::EPSILON, "{worst:?}");
            let of = |x: f64| {
                (
                    F64x4::splat(simd, x).exp().to_array()[3],
                    F64x4::splat(simd, x).ln().to_array()[3],
                )
            };
            assert_eq!(of(0.0), (1.0, f64::NEG_INFINITY));
            assert_eq!(of(-1000.0), (0.0, f64::NEG_INFINITY));
            assert_eq!(of(f64::NEG_INFINITY), (0.0, f64::NEG_INFINITY));
            assert_eq!(of(f64::NAN).1, f64::NEG_INFINITY);
            for step in -320..=320 {
                let x = f64::from(step) * 1e-4;
                let [log, ..] = F64x4::splat(simd, x).twice_artanh().to_array();
                assert!((log - 2.0 * x.atanh()).abs() <= 1.5e-15 * x.abs(), "{x}");
            }
            for step in 0..=8000 {
                let x = 1e-12 * f64::from(step).exp2().min(1.0) + 1.007f64.powi(step - 4000);
                let [decay, ..] = F64x4::splat(simd, x).one_minus_exp_neg().to_array();
                assert!((decay / -(-x).exp_m1() - 1.0).abs() <= 10.0 * f64::EPSILON, "{x}");
                let [sigmoid, ..] = F64x4::splat(simd, -x).sigmoid().to_array();
                assert!(
                    (sigmoid - 1.0 / (1.0 + x.exp())).abs() <= 4.0 * f64::EPSILON * sigmoid
                        || x > 708.0 && sigmoid == 0.0,
                    "{x}"
                );
                let [root, ..] = F64x4::splat(simd, x).sqrt().to_array();
                bits.extend([decay.to_bits(), sigmoid.to_bits(), root.to_bits()]);
            }
            bits
        }
    }

    #[test]
    fn every_machine_gives_the_same_bits() {
        assert_eq!(with_simd4(Arch::new(), Check), Simd::vectorize(Scalar256b, Check));
    }

    struct SeriesCheck;
    impl WithSimd for SeriesCheck {
        type Output = Vec<u64>;
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> Vec<u64> {
            let series = &SERIES;
            let four = |number: f64| F64x4::splat(simd, number);
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
    fn series_give_the_same_bits_on_every_machine() {
        assert_eq!(with_simd4(Arch::new(), SeriesCheck), Simd::vectorize(Scalar256b, SeriesCheck));
    }

    #[test]
    fn near_zero_agrees_with_the_library() {
        for step in -2000..=2000 {
            let x = f64::from(step) * 1e-4;
            assert!((exp_near_zero(x) / x.exp() - 1.0).abs() <= 3.0 * f64::EPSILON, "{x}");
            assert!((log_ratio(x.exp() * 3.0, 3.0) - x).abs() <= 3.0 * f64::EPSILON, "{x}");
        }
        assert!(
            log_ratio(0.0, 1.0) == f64::NEG_INFINITY
                && log_ratio(f64::NAN, 1.0).is_nan()
                && exp_near_zero(f64::NAN).is_nan()
        );
        assert_eq!(
            (exp_near_zero(f64::NEG_INFINITY), exp_near_zero(f64::INFINITY)),
            (0.0, f64::INFINITY)
        );
    }

    #[test]
    fn exp_agrees_with_the_library() {
        let mut worst: f64 = 0.0;
        for step in -708_000..=709_000 {
            let x = f64::from(step) * 1e-3;
            worst = worst.max((exp(x) / x.exp() - 1.0).abs());
        }
        assert!(worst <= 2.0 * f64::EPSILON, "{worst:e}");
        assert_eq!(
            (exp(0.0), exp(-1000.0), exp(f64::NEG_INFINITY), exp(f64::NAN)),
            (1.0, 0.0, 0.0, 0.0)
        );
        assert_eq!((exp(1000.0), exp(f64::INFINITY)), (f64::INFINITY, f64::INFINITY));
    }

    #[test]
    fn ln_agrees_with_the_library() {
        let mut worst: f64 = 0.0;
        for step in -3000..=3000 {
            for part in [1.0, 1.1, 1.414, 1.4143, 1.9, 1.999_999] {
                let x = part * 10f64.powf(f64::from(step) * 0.1);
                worst = worst.max((ln(x) - x.ln()).abs() / x.ln().abs().max(1.0));
            }
        }
        for step in -1000..=1000 {
            let x = 1.0 + f64::from(step) * 1e-7;
            worst = worst.max((ln(x) - x.ln()).abs() / x.ln().abs().max(1e-30));
        }
        assert!(worst <= 4.0 * f64::EPSILON, "{worst:e}");
        assert_eq!((ln(1.0), ln(0.0), ln(MIN_LN_ARG)), (0.0, f64::NEG_INFINITY, MIN_LN_ARG.ln()));
        assert!((LN_2_HIGH + LN_2_LOW - std::f64::consts::LN_2).abs() <= f64::EPSILON / 4.0);
    }

    #[test]
    fn vectors_give_the_same_bits() {
        let inputs: Vec<f64> = (0..1003).map(|step| f64::from(step) * 0.77 - 300.0).collect();
        let mut outputs = vec![0.0; inputs.len()];
        struct Exponentials<'a>(&'a [f64], &'a mut [f64]);
        impl Loop for Exponentials<'_> {
            type Output = ();
            #[inline(always)]
            fn run(self) {
                for (output, &input) in self.1.iter_mut().zip(self.0) {
                    *output = exp(input);
                }
            }
        }
        vectorised(Exponentials(&inputs, &mut outputs));
        for (output, &input) in outputs.iter().zip(&inputs) {
            assert_eq!(output.to_bits(), exp(input).to_bits());
        }
    }
}
