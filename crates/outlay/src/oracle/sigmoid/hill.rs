//! Hill curves: in `t = s ln(x/h)` the logarithm of the slope is `ln(s/h) + (1 - 1/s) t - 2 ln(1 +
//! e^t)`, concave, and decreasing on the branch.

use std::f64::consts::LN_2;

use pulp::Simd;

use super::{CurveLanes, Demands, Family, FamilyIndex, Multiplier, Sigmoids};
use crate::curve::{self, Curve};
use crate::numeric::simd::F64x4;

#[derive(Debug)]
pub(super) struct HillFamily;

/// Halley's method triples the digits in each step: after a step this small it has converged.
const CONVERGED_STEP: f64 = 1e-5;
/// It needs three steps from the asymptotes and one from the last multiplier; the limit guards
/// against rounding that prevents convergence.
const MAX_HALLEY_STEPS: usize = 40;
/// A step of the multiplier's logarithm up to which the last position is a better start than the
/// asymptotes.
const WARM_STEP: f64 = 0.5;
/// The start, in `t`, of a branch that begins at zero spend.
const MIN_POSITION: f64 = -700.0;

impl Family for HillFamily {
    fn params(curve: &Curve) -> Option<([f64; 4], f64)> {
        let curve::Family::Hill(hill) = curve.family() else { return None };
        let (half, steepness) = (hill.half_at(), hill.steepness());
        Some(([steepness, 1.0 / steepness, half, 1.0 / half], (steepness / half).ln()))
    }

    #[inline(always)]
    fn level<S: Simd>(weight: F64x4<S>, number: F64x4<S>) -> F64x4<S> {
        weight.ln() + number
    }

    fn position([steepness, _, half, _]: [f64; 4], spend: f64) -> f64 {
        (steepness * (spend / half).ln()).max(MIN_POSITION)
    }

    #[inline(always)]
    fn demand<S: Simd>(simd: S, curves: &mut CurveLanes, multiplier: Multiplier) -> Demands<S> {
        let load = |params: &[f64; 4]| F64x4::load(simd, params);
        let number = |number: f64| F64x4::splat(simd, number);
        let [_, inverse, half, _] = [0, 1, 2, 3].map(|index| load(&curves.params[index]));
        let target = number(multiplier.log) - load(&curves.level);
        let rise = number(1.0) - inverse;
        let tangent_point = load(&curves.tangent_point);
        let mut t = match multiplier.step.filter(|step| step.abs() < WARM_STEP) {
            Some(step) => load(&curves.rate).mul_add(number(step), load(&curves.last_position)),
            // Two lines above the logarithm of the slope: `2 ln(1 + e^t)` is at least `2t` and at
            // least `2 ln 2 + t`.
            None => ((number(0.0) - target) / (inverse + 1.0))
                .min((number(-2.0 * LN_2) - target) / inverse),
        }
        .max(tangent_point);
        let (mut sensitivity, mut curvature, mut success) = (number(1.0), number(0.0), number(0.0));
        for _ in 0..MAX_HALLEY_STEPS {
            // e^t in a form that cannot overflow on either side.
            let small = (number(0.0) - t.abs()).exp();
            let whole = small + 1.0;
            let upper = number(1.0) / whole;
            let share = t.if_gt(number(0.0), upper, small * upper);
            let excess = rise * t - (t.max(number(0.0)) + whole.ln()) * 2.0 - target;
            sensitivity = share * 2.0 - rise;
            let newton = excess / sensitivity;
            // Half the ratio of the second derivative to the first.
            let spread = small * upper * upper;
            curvature = spread / sensitivity;
            let next = (t + newton / newton.mul_add(curvature, number(1.0)).max(number(0.5)))
                .max(tangent_point);
            let step = next - t;
            // The step's third power is below rounding.
            let curvature = (number(1.0) - share * 2.0) * step * 0.5;
            success = (spread * step).mul_add(curvature + 1.0, share);
            t = next;
            if !step.abs().to_array().into_iter().any(|step| step > CONVERGED_STEP) {
                break;
            }
        }
        t.store(&mut curves.last_position);
        let rate = number(-1.0) / sensitivity;
        rate.store(&mut curves.rate);
        let spend = (t * inverse).exp() * half;
        // At the tangent point the spend does not move; rounding may put it slightly beyond the
        // start of the branch.
        let sensitivity = t.if_gt(tangent_point, number(0.0) - spend * inverse * rate, number(0.0));
        Demands {
            spend,
            sensitivity,
            curvature: sensitivity * rate * (curvature * 2.0 - inverse),
            success,
        }
    }

    #[inline(always)]
    fn success<S: Simd>([steepness, _, half, _]: [F64x4<S>; 4], spend: F64x4<S>) -> F64x4<S> {
        let t = steepness * (spend / half).ln();
        t.sigmoid()
    }

    fn index(sigmoids: &Sigmoids, domain: u32) -> Option<usize> {
        if let FamilyIndex::Hill(index) = sigmoids.index(domain) {
            Some(index as usize)
        } else {
            None
        }
    }
}
