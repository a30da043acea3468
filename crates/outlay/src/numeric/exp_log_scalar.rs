//! Exponential and logarithm of one number, in a form that the compiler vectorises.
//!
//! Both are branch-free polynomials after the usual argument reduction. Products and sums are
//! separate operations (no fused multiply-add), so results are bit-identical on every machine.
//! Errors are below two units in the last place.

use std::f64::consts::{LOG2_E, SQRT_2};

/// `ln 2` in two parts: the product of the first with an integer up to 2^11 is exact.
const LN_2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Adding and subtracting 1.5 * 2^52 rounds to the nearest integer, which is then in the low bits.
const ROUNDING_SHIFT: f64 = 6_755_399_441_055_744.0;

/// `e^x`; zero below -708, infinite above 709, zero for NaN.
#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    #[allow(clippy::manual_clamp, reason = "NaN must become a number here")]
    let inside = x.max(-708.0).min(709.0);
    let rounded = inside * LOG2_E + ROUNDING_SHIFT;
    let whole = rounded - ROUNDING_SHIFT;
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

/// The smallest argument of [`ln`] that is not treated as zero.
const MIN_LN_ARGUMENT: f64 = f64::MIN_POSITIVE;

/// `ln x` for normal positive numbers; minus infinity below [`MIN_LN_ARGUMENT`].
#[inline(always)]
pub(crate) fn ln(x: f64) -> f64 {
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
    if x >= MIN_LN_ARGUMENT { result } else { f64::NEG_INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::dispatch::{Loop, vectorised};

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
        assert_eq!(
            (ln(1.0), ln(0.0), ln(MIN_LN_ARGUMENT)),
            (0.0, f64::NEG_INFINITY, MIN_LN_ARGUMENT.ln())
        );
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
