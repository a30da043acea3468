//! Logistic curves: the spend with a given slope is a square root and a logarithm.

use pulp::Simd;

use super::{Family, FourCurves, Price};
use crate::oracle::coordinate::Smooth;
use crate::oracle::four::{Four, LEAST_LN};

#[derive(Debug)]
pub(super) struct LogisticFamily;

impl Family for LogisticFamily {
    fn numbers(smooth: &Smooth) -> Option<([f64; 3], f64)> {
        let Smooth::Logistic(logistic) = smooth else { return None };
        let (mid, width) = (logistic.mid(), logistic.width());
        // What a slope is multiplied by to be that of the standard curve, `σ (1 - σ)`.
        Some(([mid, width, width / (1.0 + (-mid / width).exp())], 0.0))
    }

    /// The weight itself.
    fn level(weight: f64, _number: f64) -> f64 {
        weight
    }

    fn place_of(_numbers: [f64; 3], spend: f64) -> f64 {
        spend
    }

    #[inline(always)]
    fn respond<S: Simd>(simd: S, curves: &mut FourCurves, price: Price) -> (Four<S>, Four<S>) {
        let load = |numbers: &[f64; 4]| Four::load(simd, numbers);
        let number = |number: f64| Four::splat(simd, number);
        let [mid, width, scale] = [0, 1, 2].map(|place| load(&curves.numbers[place]));
        // σ(1−σ) = q on the upper branch: σ = (1 + sqrt(1−4q))/2, and the odds are σ²/q.
        let q = number(price.price) / load(&curves.level) * scale;
        let root = q.times_from(number(4.0), number(1.0)).max(number(0.0)).sqrt();
        let upper = (root + 1.0) * 0.5;
        let spend = width.times_plus((upper * upper / q).ln(), mid);
        // So flat that the logarithm's argument is beyond all numbers: as far as the domain goes.
        let spend = q.where_above(number(LEAST_LN), spend, number(f64::INFINITY));
        (spend.max(mid), root.where_above(number(0.0), width / root, number(0.0)))
    }

    #[inline(always)]
    fn success<S: Simd>([mid, width, _]: [Four<S>; 3], spend: Four<S>) -> Four<S> {
        ((spend - mid) / width).sigmoid() * (spend / width).one_less_decay()
    }
}
