//! Four numbers side by side, with the machine's vector instructions where it has them.
//!
//! The loops over [`batch`](super::batch) leave vectors to the compiler, which suits long loops. Short ones, a handful of tasks, must
//! say what they want. Products and sums are kept apart here too: every machine gives the same bits.

use std::f64::consts::{LOG2_E, SQRT_2};
use std::ops::{Add, Div, Mul, Sub};

use pulp::{Arch, Scalar256b, Simd, WithSimd, cast};

use crate::elementary::{LEAST_LN, LN_2_HIGH, LN_2_LOW};

/// Runs `work` with a `Simd` of four lanes.
#[inline(always)]
pub(super) fn with_four<W: WithSimd>(arch: Arch, work: W) -> W::Output {
    match arch {
        #[cfg(target_arch = "x86_64")]
        Arch::V3(simd) => Simd::vectorize(simd, work),
        _ => Simd::vectorize(Scalar256b, work),
    }
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

    /// `e^x` for numbers from -708 to 709; below that zero.
    #[inline(always)]
    pub(super) fn exp(self) -> Self {
        let simd = self.simd;
        let number = |number: f64| Self::splat(simd, number);
        let inside = self.max(number(-708.0)).min(number(709.0));
        let whole = (inside * LOG2_E + ROUNDER) - ROUNDER;
        let r = (inside - whole * LN_2_HIGH) - whole * LN_2_LOW;
        // Taylor to degree 13, in pairs: short chains.
        let (r2, r4) = (r * r, (r * r) * (r * r));
        let low = (r + 1.0) + r2 * (r * (1.0 / 6.0) + 0.5);
        let middle = (r * (1.0 / 120.0) + 1.0 / 24.0) + r2 * (r * (1.0 / 5_040.0) + 1.0 / 720.0);
        let high = (r * (1.0 / 362_880.0) + 1.0 / 40_320.0) + r2 * (r * (1.0 / 39_916_800.0) + 1.0 / 3_628_800.0);
        let top = r * (1.0 / 6_227_020_800.0) + 1.0 / 479_001_600.0;
        let series = (low + r4 * middle) + (r4 * r4) * (high + r4 * top);
        // Behind 1.5 * 2^20 a whole number stands in the low bits of the upper half: shifted, it is the exponent.
        let halves: S::u32s = cast((whole + UPPER_ROUNDER).lanes);
        let exponent = simd.wrapping_dyn_shl_u32s(halves, simd.splat_u32s(20));
        let scale: S::f64s = cast(simd.add_u64s(cast(exponent), simd.splat_u64s(1.0f64.to_bits())));
        let result = series * Self { simd, lanes: scale };
        self.where_above(number(-708.0), result, number(0.0))
    }

    /// `e^x` for numbers up to [`SMALL`] on either side of zero.
    #[inline(always)]
    pub(super) fn exp_small(self) -> Self {
        // Taylor to degree 10: the rest is below 1e-17.
        let x = self;
        let (x2, x4) = (x * x, (x * x) * (x * x));
        let low = (x + 1.0) + x2 * (x * (1.0 / 6.0) + 0.5);
        let middle = (x * (1.0 / 120.0) + 1.0 / 24.0) + x2 * (x * (1.0 / 5_040.0) + 1.0 / 720.0);
        let high = (x * (1.0 / 362_880.0) + 1.0 / 40_320.0) + x2 * (1.0 / 3_628_800.0);
        low + x4 * (middle + x4 * high)
    }

    /// `ln(self / other)` for quotients that differ from one by at most [`SMALL`] / 2.
    #[inline(always)]
    pub(super) fn ln_ratio(self, other: Self) -> Self {
        // 2 artanh(s), |s| <= 0.032: the rest is below 1e-17.
        let s = (self - other) / (self + other);
        let (t, twice) = (s * s, s + s);
        let tail = (t * (1.0 / 5.0) + 1.0 / 3.0) + (t * t) * (t * (1.0 / 9.0) + 1.0 / 7.0);
        twice + twice * (t * tail)
    }

    /// `ln x` for normal positive numbers, minus infinity for all others.
    #[inline(always)]
    pub(super) fn ln(self) -> Self {
        let simd = self.simd;
        let number = |number: f64| Self::splat(simd, number);
        let bits: S::u64s = cast(self.lanes);
        let one = simd.splat_u64s(1.0f64.to_bits());
        let mantissa = simd.or_u64s(simd.and_u64s(bits, simd.splat_u64s(0x000f_ffff_ffff_ffff)), one);
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
        let (t2, t4) = (t * t, (t * t) * (t * t));
        let low = (t * (1.0 / 5.0) + 1.0 / 3.0) + t2 * (t * (1.0 / 9.0) + 1.0 / 7.0);
        let middle = (t * (1.0 / 13.0) + 1.0 / 11.0) + t2 * (t * (1.0 / 17.0) + 1.0 / 15.0);
        let top = t * (1.0 / 21.0) + 1.0 / 19.0;
        let tail = t * (low + t4 * (middle + t4 * top));
        let result = exponent * LN_2_HIGH + (exponent * LN_2_LOW + (twice + twice * tail));
        self.where_above(number(BELOW_LEAST_LN), result, number(f64::NEG_INFINITY))
    }
}

/// How far from zero [`Four::exp_small`] is exact.
pub(super) const SMALL: f64 = 0.125;
/// Adding and subtracting 1.5 * 2^52 rounds to a whole number.
const ROUNDER: f64 = 6_755_399_441_055_744.0;
/// 1.5 * 2^20.
const UPPER_ROUNDER: f64 = 1_572_864.0;
/// The largest number whose logarithm is not taken.
const BELOW_LEAST_LN: f64 = f64::from_bits(LEAST_LN.to_bits() - 1);

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
                worst = [worst[0].max((exp / x.exp() - 1.0).abs()), worst[1].max((ln - exp.ln()).abs() / x.abs().max(1.0))];
                bits.extend([exp.to_bits(), ln.to_bits()]);
            }
            assert!(worst[0] <= 2.0 * f64::EPSILON && worst[1] <= 4.0 * f64::EPSILON, "{worst:?}");
            let of = |x: f64| (Four::splat(simd, x).exp().to_array()[3], Four::splat(simd, x).ln().to_array()[3]);
            assert_eq!(of(0.0), (1.0, f64::NEG_INFINITY));
            assert_eq!(of(-1000.0), (0.0, f64::NEG_INFINITY));
            assert_eq!(of(f64::NEG_INFINITY), (0.0, f64::NEG_INFINITY));
            assert_eq!(of(f64::NAN).1, f64::NEG_INFINITY);
            bits
        }
    }

    #[test]
    fn every_machine_gives_the_same_bits() {
        assert_eq!(with_four(Arch::new(), Check), Simd::vectorize(Scalar256b, Check));
    }
}
