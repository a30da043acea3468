//! Hill curves: in `t = s ln(x/h)` the logarithm of the slope is `ln(s/h) + (1 - 1/s) t - 2 ln(1 +
//! e^t)`, concave, and falling on the branch.

use std::f64::consts::LN_2;

use pulp::Simd;

use super::{Family, FourCurves, Place, Price, Responses, Sigmoids};
use crate::oracle::coordinate::Smooth;
use crate::oracle::four::Four;

#[derive(Debug)]
pub(super) struct HillFamily;

/// Halley's method triples the digits at each step: after one this small nothing is left to do.
const LAST_STEP: f64 = 1e-5;
/// It needs three steps from afar and one from the last price; the limit guards against rounding
/// that keeps it from settling.
const MAX_STEPS: usize = 40;
/// A step of the price's logarithm up to which the last place is a better start than the curve's
/// asymptotes.
const NEAR: f64 = 0.5;
/// Where a branch that begins at zero spend begins in `t`, for all practical purposes.
const LEAST: f64 = -700.0;

impl Family for HillFamily {
    fn numbers(smooth: &Smooth) -> Option<([f64; 4], f64)> {
        let Smooth::Hill(hill) = smooth else { return None };
        let (half, steepness) = (hill.half_at(), hill.steepness());
        Some(([steepness, 1.0 / steepness, half, 1.0 / half], (steepness / half).ln()))
    }

    #[inline(always)]
    fn level<S: Simd>(weight: Four<S>, number: Four<S>) -> Four<S> {
        weight.ln() + number
    }

    fn measure([steepness, _, half, _]: [f64; 4], spend: f64) -> f64 {
        (steepness * (spend / half).ln()).max(LEAST)
    }

    #[inline(always)]
    fn respond<S: Simd>(simd: S, curves: &mut FourCurves, price: Price) -> Responses<S> {
        let load = |numbers: &[f64; 4]| Four::load(simd, numbers);
        let number = |number: f64| Four::splat(simd, number);
        let [_, inverse, half, _] = [0, 1, 2, 3].map(|place| load(&curves.numbers[place]));
        let target = number(price.log) - load(&curves.level);
        let rise = number(1.0) - inverse;
        let touch = load(&curves.touch);
        let mut t = match price.step.filter(|step| step.abs() < NEAR) {
            Some(step) => load(&curves.rate).times_plus(number(step), load(&curves.place)),
            // Two lines above the logarithm of the slope: `2 ln(1 + e^t)` is at least `2t` and at
            // least `2 ln 2 + t`.
            None => ((number(0.0) - target) / (inverse + 1.0))
                .min((number(-2.0 * LN_2) - target) / inverse),
        }
        .max(touch);
        let (mut fall, mut bend, mut success) = (number(1.0), number(0.0), number(0.0));
        for _ in 0..MAX_STEPS {
            // e^t in a form that cannot overflow on either side.
            let small = (number(0.0) - t.abs()).exp();
            let whole = small + 1.0;
            let upper = number(1.0) / whole;
            let share = t.where_above(number(0.0), upper, small * upper);
            let excess = rise * t - (t.max(number(0.0)) + whole.ln()) * 2.0 - target;
            fall = share * 2.0 - rise;
            let newton = excess / fall;
            // Half the ratio of the second derivative to the first.
            let spread = small * upper * upper;
            bend = spread / fall;
            let next =
                (t + newton / newton.times_plus(bend, number(1.0)).max(number(0.5))).max(touch);
            let step = next - t;
            // The step's third power is below rounding.
            let curvature = (number(1.0) - share * 2.0) * step * 0.5;
            success = (spread * step).times_plus(curvature + 1.0, share);
            t = next;
            if !step.abs().to_array().into_iter().any(|step| step > LAST_STEP) {
                break;
            }
        }
        t.store(&mut curves.place);
        let rate = number(-1.0) / fall;
        rate.store(&mut curves.rate);
        let spend = (t * inverse).exp() * half;
        // Where the touch holds it, the spend does not move; rounding may put it a digit beyond the
        // branch's start.
        let fall = t.where_above(touch, number(0.0) - spend * inverse * rate, number(0.0));
        Responses { spend, fall, bend: fall * rate * (bend * 2.0 - inverse), success }
    }

    #[inline(always)]
    fn success<S: Simd>([steepness, _, half, _]: [Four<S>; 4], spend: Four<S>) -> Four<S> {
        let t = steepness * (spend / half).ln();
        t.sigmoid()
    }

    fn place(sigmoids: &Sigmoids, coordinate: u32) -> Option<usize> {
        if let Place::Hill(place) = sigmoids.place(coordinate) { Some(place) } else { None }
    }
}
