//! Four numbers side by side, with the machine's vector instructions where it has them.
//!
//! A product is fused with a sum only where that is said ([`Four::times_plus`]), and sums have a
//! fixed order: every machine gives the same bits, whatever its vectors. Exponential and logarithm
//! are branch-free polynomials after the usual reduction of the argument, right to two units in the
//! last place, far below what the price search can see.

use std::f64::consts::{LOG2_E, SQRT_2};
use std::ops::{Add, Div, Mul, Sub};

use pulp::{Arch, Scalar256b, Simd, WithSimd, cast};

use crate::numeric::compensated::Sum;

/// Runs `work` with a `Simd` of four lanes.
#[inline(always)]
pub(super) fn with_four<W: WithSimd>(arch: Arch, work: W) -> W::Output {
    match arch {
        #[cfg(target_arch = "x86_64")]
        Arch::V3(simd) => Simd::vectorize(simd, work),
        _ => Simd::vectorize(Scalar256b, work),
    }
}

/// Numbers four by four. Arrays are padded to have no rest; what is left of others is not seen.
#[inline(always)]
pub(super) fn fours(numbers: &[f64]) -> &[[f64; 4]] {
    numbers.as_chunks().0
}

#[inline(always)]
pub(super) fn fours_mut(numbers: &mut [f64]) -> &mut [[f64; 4]] {
    numbers.as_chunks_mut().0
}

/// Four numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Four<S: Simd> {
    simd: S,
    lanes: S::f64s,
}

macro_rules! operator {
    ($trait:ident, $method:ident, $simd:ident) => {
        impl<S: Simd> $trait for Four<S> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self { lanes: self.simd.$simd(self.lanes, other.lanes), ..self }
            }
        }
        impl<S: Simd> $trait<f64> for Four<S> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: f64) -> Self {
                self.$method(Self::splat(self.simd, other))
            }
        }
    };
}
operator!(Add, add, add_f64s);
operator!(Sub, sub, sub_f64s);
operator!(Mul, mul, mul_f64s);
operator!(Div, div, div_f64s);

impl<S: Simd> Four<S> {
    #[inline(always)]
    pub(super) fn splat(simd: S, number: f64) -> Self {
        Self { simd, lanes: simd.splat_f64s(number) }
    }

    #[inline(always)]
    pub(super) fn load(simd: S, numbers: &[f64; 4]) -> Self {
        Self { simd, lanes: S::as_simd_f64s(numbers).0[0] }
    }

    /// Up to four numbers; the lanes without one are zero.
    #[inline(always)]
    pub(super) fn load_some(simd: S, numbers: &[f64]) -> Self {
        Self { simd, lanes: simd.partial_load_f64s(numbers) }
    }

    #[inline(always)]
    pub(super) fn store(self, numbers: &mut [f64; 4]) {
        S::as_mut_simd_f64s(numbers).0[0] = self.lanes;
    }

    /// Stores the first lanes, as many as there is room for.
    #[inline(always)]
    pub(super) fn store_some(self, numbers: &mut [f64]) {
        self.simd.partial_store_f64s(numbers, self.lanes);
    }

    #[inline(always)]
    pub(super) fn to_array(self) -> [f64; 4] {
        let mut numbers = [0.0; 4];
        self.store(&mut numbers);
        numbers
    }

    /// The sum of the four, in a fixed order.
    #[inline(always)]
    pub(super) fn total(self) -> f64 {
        let [a, b, c, d] = self.to_array();
        (a + c) + (b + d)
    }

    /// `self * factor + term`, rounded once: half the instructions of a polynomial and two thirds
    /// of its latency.
    #[inline(always)]
    pub(super) fn times_plus(self, factor: Self, term: Self) -> Self {
        Self { lanes: self.simd.mul_add_f64s(self.lanes, factor.lanes, term.lanes), ..self }
    }

    /// `term - self * factor`, rounded once.
    #[inline(always)]
    pub(super) fn times_from(self, factor: Self, term: Self) -> Self {
        Self { lanes: self.simd.negate_mul_add_f64s(self.lanes, factor.lanes, term.lanes), ..self }
    }

    #[inline(always)]
    pub(super) fn max(self, other: Self) -> Self {
        Self { lanes: self.simd.max_f64s(self.lanes, other.lanes), ..self }
    }

    #[inline(always)]
    pub(super) fn min(self, other: Self) -> Self {
        Self { lanes: self.simd.min_f64s(self.lanes, other.lanes), ..self }
    }

    /// In each lane `then` where it is above `limit`, otherwise `otherwise`.
    #[inline(always)]
    pub(super) fn where_above(self, limit: Self, then: Self, otherwise: Self) -> Self {
        let simd = self.simd;
        let mask = simd.greater_than_f64s(self.lanes, limit.lanes);
        Self { lanes: simd.select_f64s(mask, then.lanes, otherwise.lanes), ..self }
    }

    /// In each lane `then` where it is between the limits, otherwise zero.
    #[inline(always)]
    pub(super) fn where_between(self, low: Self, high: Self, then: Self) -> Self {
        let zero = Self::splat(self.simd, 0.0);
        self.where_above(low, high.where_above(self, then, zero), zero)
    }

    /// `e^x`; zero below -708 and for NaN, and no more than `e^709`.
    #[inline(always)]
    pub(super) fn exp(self) -> Self {
        let simd = self.simd;
        let number = |number: f64| Self::splat(simd, number);
        let (whole, r) = self.reduced();
        // Taylor to degree 13, in pairs: short chains.
        let pair = |first: f64, second: f64| r.times_plus(number(second), number(first));
        let r2 = r * r;
        let r4 = r2 * r2;
        let low = r2.times_plus(pair(0.5, 1.0 / 6.0), r + 1.0);
        let middle = r2.times_plus(pair(1.0 / 720.0, 1.0 / 5_040.0), pair(1.0 / 24.0, 1.0 / 120.0));
        let high = r2.times_plus(
            pair(1.0 / 3_628_800.0, 1.0 / 39_916_800.0),
            pair(1.0 / 40_320.0, 1.0 / 362_880.0),
        );
        let top = pair(1.0 / 479_001_600.0, 1.0 / 6_227_020_800.0);
        let series = (r4 * r4).times_plus(r4.times_plus(top, high), r4.times_plus(middle, low));
        self.where_above(number(-708.0), series * whole.power_of_two(), number(0.0))
    }

    /// `e^x` to a ten-thousandth, in the same range: for guesses.
    #[inline(always)]
    pub(super) fn exp_roughly(self) -> Self {
        let number = |number: f64| Self::splat(self.simd, number);
        let (whole, r) = self.reduced();
        let r2 = r * r;
        let tail = r2.times_plus(number(1.0 / 24.0), r.times_plus(number(1.0 / 6.0), number(0.5)));
        let series = r2.times_plus(tail, r + 1.0);
        self.where_above(number(-708.0), series * whole.power_of_two(), number(0.0))
    }

    /// A whole number and a rest, within half of `ln 2` of zero: the whole number times `ln 2` and
    /// the rest make up this number, or the nearest whose exponential is a normal number.
    #[inline(always)]
    fn reduced(self) -> (Self, Self) {
        let number = |number: f64| Self::splat(self.simd, number);
        let inside = self.max(number(-708.0)).min(number(709.0));
        let whole = inside.times_plus(number(LOG2_E), number(ROUNDER)) - ROUNDER;
        (whole, whole.times_from(number(LN_2_LOW), whole.times_from(number(LN_2_HIGH), inside)))
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

    /// `e^x` for numbers up to [`SMALL`] on either side of zero.
    #[inline(always)]
    pub(super) fn exp_small(self) -> Self {
        // Taylor to degree 10: the rest is below 1e-17.
        let x = self;
        let number = |number: f64| Self::splat(self.simd, number);
        let pair = |first: f64, second: f64| x.times_plus(number(second), number(first));
        let x2 = x * x;
        let x4 = x2 * x2;
        let low = x2.times_plus(pair(0.5, 1.0 / 6.0), x + 1.0);
        let middle = x2.times_plus(pair(1.0 / 720.0, 1.0 / 5_040.0), pair(1.0 / 24.0, 1.0 / 120.0));
        let high = x2.times_plus(number(1.0 / 3_628_800.0), pair(1.0 / 40_320.0, 1.0 / 362_880.0));
        x4.times_plus(x4.times_plus(high, middle), low)
    }

    /// `1 - e^-x` for numbers up to [`SMALL`] on either side of zero, with all digits.
    #[inline(always)]
    pub(super) fn fall_to_zero(self) -> Self {
        // Taylor to degree 10: the rest is below 1e-17 of it.
        let x = Self::splat(self.simd, 0.0) - self;
        let number = |number: f64| Self::splat(self.simd, number);
        let pair = |first: f64, second: f64| x.times_plus(number(second), number(first));
        let x2 = x * x;
        let x4 = x2 * x2;
        let low = x2.times_plus(pair(1.0 / 6.0, 1.0 / 24.0), pair(1.0, 0.5));
        let middle =
            x2.times_plus(pair(1.0 / 5_040.0, 1.0 / 40_320.0), pair(1.0 / 120.0, 1.0 / 720.0));
        let high = pair(1.0 / 362_880.0, 1.0 / 3_628_800.0);
        self * x4.times_plus(x4.times_plus(high, middle), low)
    }

    /// In each lane `then` where it is at least `limit`, otherwise `otherwise`.
    #[inline(always)]
    pub(super) fn where_at_least(self, limit: Self, then: Self, otherwise: Self) -> Self {
        let simd = self.simd;
        let mask = simd.greater_than_or_equal_f64s(self.lanes, limit.lanes);
        Self { lanes: simd.select_f64s(mask, then.lanes, otherwise.lanes), ..self }
    }

    /// Whether all four are at most the limits; not if one is no number.
    #[inline(always)]
    pub(super) fn is_all_at_most(self, limits: Self) -> bool {
        let mask: S::u64s = cast(self.simd.less_than_or_equal_f64s(self.lanes, limits.lanes));
        is_full::<S>(mask)
    }

    /// Whether all four are at least the limits; not if one is no number.
    #[inline(always)]
    pub(super) fn is_all_at_least(self, limits: Self) -> bool {
        limits.is_all_at_most(self)
    }

    /// The largest of the four.
    #[inline(always)]
    pub(super) fn largest(self) -> f64 {
        let [a, b, c, d] = self.to_array();
        a.max(b).max(c.max(d))
    }

    /// `ln(self / other)` for quotients that differ from one by at most [`SMALL`] / 2.
    #[inline(always)]
    pub(super) fn ln_ratio(self, other: Self) -> Self {
        // 2 artanh(s), |s| <= 0.032: the rest is below 1e-17.
        let s = (self - other) / (self + other);
        let (t, twice) = (s * s, s + s);
        let number = |number: f64| Self::splat(self.simd, number);
        let pair = |first: f64, second: f64| t.times_plus(number(second), number(first));
        let tail = (t * t).times_plus(pair(1.0 / 7.0, 1.0 / 9.0), pair(1.0 / 3.0, 1.0 / 5.0));
        (twice * t).times_plus(tail, twice)
    }

    /// `ln x` for normal positive numbers, minus infinity for all others.
    #[inline(always)]
    pub(super) fn ln(self) -> Self {
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
        let m = high.where_above(number(SQRT_2), high * 0.5, high);
        let exponent = high.where_above(number(SQRT_2), exponent + 1.0, exponent);
        // ln m = 2 artanh(s), s = (m - 1) / (m + 1), |s| < 0.172; in pairs: short chains.
        let s = (m - 1.0) / (m + 1.0);
        let (t, twice) = (s * s, s + s);
        let pair = |first: f64, second: f64| t.times_plus(number(second), number(first));
        let t2 = t * t;
        let t4 = t2 * t2;
        let low = t2.times_plus(pair(1.0 / 7.0, 1.0 / 9.0), pair(1.0 / 3.0, 1.0 / 5.0));
        let middle = t2.times_plus(pair(1.0 / 15.0, 1.0 / 17.0), pair(1.0 / 11.0, 1.0 / 13.0));
        let top = pair(1.0 / 19.0, 1.0 / 21.0);
        let tail = t4.times_plus(t4.times_plus(top, middle), low);
        let small = exponent.times_plus(number(LN_2_LOW), (twice * t).times_plus(tail, twice));
        let result = exponent.times_plus(number(LN_2_HIGH), small);
        self.where_above(number(BELOW_LEAST_LN), result, number(f64::NEG_INFINITY))
    }
}

/// Whether all bits of a mask are set.
#[inline(always)]
fn is_full<S: Simd>(mask: S::u64s) -> bool {
    let [a, b, c, d]: [u64; 4] = cast(mask);
    a & b & c & d == u64::MAX
}

/// Four sums side by side that keep what rounding loses, as [`Sum`].
#[derive(Clone, Copy)]
pub(super) struct FourSums<S: Simd> {
    sums: Four<S>,
    lost: Four<S>,
}

impl<S: Simd> FourSums<S> {
    #[inline(always)]
    pub(super) fn new(simd: S) -> Self {
        Self { sums: Four::splat(simd, 0.0), lost: Four::splat(simd, 0.0) }
    }

    #[inline(always)]
    pub(super) fn add(&mut self, terms: Four<S>) {
        let sums = self.sums + terms;
        let kept = sums - self.sums;
        self.lost = self.lost + ((self.sums - (sums - kept)) + (terms - kept));
        self.sums = sums;
    }

    /// In pairs: a short chain.
    #[inline(always)]
    pub(super) fn total(self) -> Sum {
        let [a, b, c, d] = self.sums.to_array();
        let (mut left, mut right) = (Sum::from(a), Sum::from(b));
        left.add(c);
        right.add(d);
        left.merge(right);
        left.add_compensation(self.lost.total());
        left
    }
}

/// `ln 2` in two parts: the product of the first with a whole number up to 2^11 is exact.
const LN_2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// The smallest number whose logarithm [`Four::ln`] takes; below it the result is that of zero.
pub(super) const LEAST_LN: f64 = f64::MIN_POSITIVE;
/// How far from zero [`Four::exp_small`] is exact.
pub(super) const SMALL: f64 = 0.125;
/// How far from zero five terms of the exponential series are exact.
pub(super) const TINY: f64 = 1e-3;
/// Adding and subtracting 1.5 * 2^52 rounds to a whole number.
const ROUNDER: f64 = 6_755_399_441_055_744.0;
/// 1.5 * 2^20.
const UPPER_ROUNDER: f64 = 1_572_864.0;
/// The largest number whose logarithm is not taken.
const BELOW_LEAST_LN: f64 = f64::from_bits(LEAST_LN.to_bits() - 1);

impl<S: Simd> Four<S> {
    #[inline(always)]
    pub(super) fn abs(self) -> Self {
        Self { lanes: self.simd.abs_f64s(self.lanes), ..self }
    }

    #[inline(always)]
    pub(super) fn sqrt(self) -> Self {
        Self { lanes: self.simd.sqrt_f64s(self.lanes), ..self }
    }

    /// In each lane `then` where it equals `other`, otherwise zero.
    #[inline(always)]
    pub(super) fn where_equal(self, other: Self, then: Self) -> Self {
        let simd = self.simd;
        let mask = simd.equal_f64s(self.lanes, other.lanes);
        Self { lanes: simd.select_f64s(mask, then.lanes, simd.splat_f64s(0.0)), ..self }
    }

    /// `1 / (1 + e^-x)`; zero below -708.
    #[inline(always)]
    pub(super) fn sigmoid(self) -> Self {
        let number = |number: f64| Self::splat(self.simd, number);
        let sigmoid = number(1.0) / ((number(0.0) - self).exp() + 1.0);
        self.where_above(number(-708.0), sigmoid, number(0.0))
    }

    /// `1 - e^-x` for numbers that are not negative, without losing the digits of small ones: right
    /// to ten units in the last place.
    #[inline(always)]
    pub(super) fn one_less_decay(self) -> Self {
        let number = |number: f64| Self::splat(self.simd, number);
        // x - x²/2 + ..., to degree 10, where x is small: the rest is below 1e-17 of it.
        let x = number(0.0) - self.min(number(SMALL));
        let pair = |first: f64, second: f64| x.times_plus(number(second), number(first));
        let x2 = x * x;
        let x4 = x2 * x2;
        let low = x2.times_plus(pair(1.0 / 6.0, 1.0 / 24.0), pair(1.0, 0.5));
        let high =
            x2.times_plus(pair(1.0 / 5_040.0, 1.0 / 40_320.0), pair(1.0 / 120.0, 1.0 / 720.0));
        let series = (x4 * x4)
            .times_plus(pair(1.0 / 362_880.0, 1.0 / 3_628_800.0), x4.times_plus(high, low));
        self.where_above(
            number(SMALL),
            number(1.0) - (number(0.0) - self).exp(),
            number(0.0) - x * series,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Check;
    impl WithSimd for Check {
        type Output = Vec<u64>;
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> Vec<u64> {
            let mut bits = Vec::new();
            let mut worst: [f64; 2] = [0.0; 2];
            for step in -70_000..=70_000 {
                let x = f64::from(step) * 0.010_01;
                let [exp, ..] = Four::splat(simd, x).exp().to_array();
                let [ln, ..] = Four::splat(simd, exp).ln().to_array();
                worst = [
                    worst[0].max((exp / x.exp() - 1.0).abs()),
                    worst[1].max((ln - exp.ln()).abs() / x.abs().max(1.0)),
                ];
                let [rough, ..] = Four::splat(simd, x).exp_roughly().to_array();
                assert!((rough / x.exp() - 1.0).abs() <= 1e-4, "{x}");
                bits.extend([exp.to_bits(), ln.to_bits(), rough.to_bits()]);
            }
            assert!(worst[0] <= 2.0 * f64::EPSILON && worst[1] <= 4.0 * f64::EPSILON, "{worst:?}");
            let of = |x: f64| {
                (Four::splat(simd, x).exp().to_array()[3], Four::splat(simd, x).ln().to_array()[3])
            };
            assert_eq!(of(0.0), (1.0, f64::NEG_INFINITY));
            assert_eq!(of(-1000.0), (0.0, f64::NEG_INFINITY));
            assert_eq!(of(f64::NEG_INFINITY), (0.0, f64::NEG_INFINITY));
            assert_eq!(of(f64::NAN).1, f64::NEG_INFINITY);
            for step in 0..=8000 {
                let x = 1e-12 * f64::from(step).exp2().min(1.0) + 1.007f64.powi(step - 4000);
                let [decay, ..] = Four::splat(simd, x).one_less_decay().to_array();
                assert!((decay / -(-x).exp_m1() - 1.0).abs() <= 10.0 * f64::EPSILON, "{x}");
                let [sigmoid, ..] = Four::splat(simd, -x).sigmoid().to_array();
                assert!(
                    (sigmoid - 1.0 / (1.0 + x.exp())).abs() <= 4.0 * f64::EPSILON * sigmoid
                        || x > 708.0 && sigmoid == 0.0,
                    "{x}"
                );
                let [root, ..] = Four::splat(simd, x).sqrt().to_array();
                bits.extend([decay.to_bits(), sigmoid.to_bits(), root.to_bits()]);
            }
            bits
        }
    }

    #[test]
    fn every_machine_gives_the_same_bits() {
        assert_eq!(with_four(Arch::new(), Check), Simd::vectorize(Scalar256b, Check));
    }
}
