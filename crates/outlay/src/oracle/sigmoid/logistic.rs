//! Logistic curves: the spend with a given slope is a square root and a logarithm.

use pulp::Simd;

use super::{CurveLanes, Demands, Family, FamilyIndex, Multiplier, Sigmoids};
use crate::curve::{self, Curve};
use crate::numeric::exp_log::MIN_LN_ARG;
use crate::numeric::simd::F64x4;

#[derive(Debug)]
pub(super) struct LogisticFamily;

/// Up to this root the odds are close to one, and the series keeps all digits of their logarithm.
/// Beyond it the rounding of the odds, 3e-16, is at most 6e-15 of the logarithm.
const SERIES_ROOT: f64 = 0.03;

impl Family for LogisticFamily {
    fn params(curve: &Curve) -> Option<([f64; 4], f64)> {
        let curve::Family::Logistic(logistic) = curve.family() else { return None };
        let (mid, width) = (logistic.mid(), logistic.width());
        let fall = (-mid / width).exp_m1();
        // The share of the standard curve above zero spend.
        let part = 1.0 / (2.0 + fall);
        let success_at_mid = -0.5 * fall;
        Some(([mid, width, width * part, success_at_mid], 0.0))
    }

    /// The weight itself.
    #[inline(always)]
    fn level<S: Simd>(weight: F64x4<S>, _number: F64x4<S>) -> F64x4<S> {
        weight
    }

    fn position(_numbers: [f64; 4], spend: f64) -> f64 {
        spend
    }

    #[inline(always)]
    fn demand<S: Simd>(simd: S, curves: &mut CurveLanes, multiplier: Multiplier) -> Demands<S> {
        let load = |params: &[f64; 4]| F64x4::load(simd, params);
        let number = |number: f64| F64x4::splat(simd, number);
        let [mid, width, scale, at_mid] = [0, 1, 2, 3].map(|index| load(&curves.params[index]));
        // σ(1−σ) = q on the upper branch: σ = (1 + root)/2 with root = sqrt(1−4q), and the odds are
        // σ²/q, or (1 + root)/(1 − root). Spend and success use the same root, and no difference
        // after it loses digits: they belong to the same point of the curve up to
        // `SUCCESS_ACCURACY`, which the upper bound includes. The slope at that point is the
        // multiplier up to a few roundings. By concavity, the surplus there is below the largest one
        // by at most that share of the value, which `curve_rounding` includes.
        let q = number(multiplier.value) / load(&curves.level) * scale;
        let root = q.neg_mul_add(number(4.0), number(1.0)).max(number(0.0)).sqrt();
        let upper = (root + 1.0) * 0.5;
        let along = root.if_gt(number(SERIES_ROOT), (upper * upper / q).ln(), root.twice_artanh());
        // The odds overflow where the curve is this flat: the spend is the end of the domain.
        let spend = q.if_gt(number(MIN_LN_ARG), width.mul_add(along, mid), number(f64::INFINITY));
        // The rise up to the middle, and the share `root` of the rise beyond it.
        let success = root.mul_add(number(1.0) - at_mid, at_mid);
        let zero = number(0.0);
        let sensitivity = root.if_gt(zero, width / root, zero);
        let curvature = root.if_gt(zero, sensitivity * (q * -2.0) / (root * root), zero);
        Demands { spend, sensitivity, curvature, success }
    }

    #[inline(always)]
    fn success<S: Simd>([mid, width, ..]: [F64x4<S>; 4], spend: F64x4<S>) -> F64x4<S> {
        ((spend - mid) / width).sigmoid() * (spend / width).one_minus_exp_neg()
    }

    fn index(sigmoids: &Sigmoids, domain: u32) -> Option<usize> {
        if let FamilyIndex::Logistic(index) = sigmoids.index(domain) {
            Some(index as usize)
        } else {
            None
        }
    }
}
