//! How fast the slope of a smooth curve falls.

use crate::curve::{Curve, Family};

/// `-F''/F'` at a positive spend at which the curve still rises; neither floor nor ceiling changes
/// it. `None` for curves that are not twice differentiable or not known to be.
pub(super) fn relative_curvature(curve: &Curve, spend: f64) -> Option<f64> {
    match curve.family() {
        Family::Power(power) => Some((1.0 - power.exponent()) / spend),
        Family::Saturating(_) => Some(0.0),
        Family::Exponential(exponential) => Some(1.0 / exponential.scale()),
        Family::Hill(hill) => {
            // (1-s)/x + 2 s x^(s-1) / (x^s + h^s)
            let s = hill.steepness();
            let ratio = (spend / hill.half_at()).powf(s);
            Some((1.0 - s + 2.0 * s * (ratio / (1.0 + ratio))) / spend)
        }
        // With the logistic function σ it is (2σ - 1) / width.
        Family::Logistic(logistic) => {
            let relative = (spend - logistic.mid()) / logistic.width();
            Some((0.5 * relative).tanh() / logistic.width())
        }
        Family::Threshold(_)
        | Family::Steps(_)
        | Family::Piecewise(_)
        | Family::Empirical(_)
        | Family::Custom(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_ratio_of_the_derivatives() {
        for curve in [
            Curve::power(0.4, 5.0).unwrap(),
            Curve::exponential(1.7).unwrap().with_floor(0.1).unwrap(),
            Curve::hill(2.0, 0.6).unwrap().with_ceiling(0.8).unwrap(),
            Curve::hill(2.0, 3.0).unwrap(),
            Curve::logistic(1.5, 0.7).unwrap(),
        ] {
            for spend in [0.3, 1.0, 3.0] {
                let step = 1e-4;
                let [below, at, above] =
                    [spend - step, spend, spend + step].map(|spend| curve.success(spend));
                let numeric = -(above - 2.0 * at + below) / (step * step) / curve.slope(spend);
                let error = (relative_curvature(&curve, spend).unwrap() - numeric).abs();
                assert!(error < 1e-5 * numeric.abs() + 1e-6, "{curve:?} at {spend}: {error}");
            }
        }
    }
}
