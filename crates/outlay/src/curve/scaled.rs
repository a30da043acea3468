//! Curves of a round: `F(x / scale)`, where twice the traffic needs twice the money.

use std::sync::Arc;

use super::{
    Curve, CurveError, Custom, DeclaredShape, Empirical, Exponential, Family, Hill, Logistic,
    Piecewise, Power, ResponseCurve, Saturating, Steps, Threshold, require_positive,
};

impl Curve {
    /// The curve `F(x / scale)`: it needs `scale` times the spend for the same success. Its
    /// parameters are those of this curve times `scale`, so it has the same family and shape.
    ///
    /// ```
    /// use outlay::Curve;
    /// let busy = Curve::hill(120.0, 2.5)?.scaled(1.5)?;
    /// assert_eq!(busy, Curve::hill(180.0, 2.5)?);
    /// # Ok::<(), outlay::curve::CurveError>(())
    /// ```
    ///
    /// # Errors
    /// If `scale` is not positive and finite, or a spend of the scaled curve is outside
    /// [`AMOUNT_RANGE`](super::AMOUNT_RANGE).
    pub fn scaled(&self, scale: f64) -> Result<Self, CurveError> {
        require_positive("scale", scale)?;
        if scale == 1.0 {
            return Ok(self.clone());
        }
        let family = match &self.family {
            Family::Power(power) => {
                Family::Power(Power::new(power.exponent(), scale * power.scale())?)
            }
            Family::Saturating(saturating) => {
                Family::Saturating(Saturating::new(scale * saturating.full_at())?)
            }
            Family::Exponential(exponential) => {
                Family::Exponential(Exponential::new(scale * exponential.scale())?)
            }
            Family::Hill(hill) => {
                Family::Hill(Hill::new(scale * hill.half_at(), hill.steepness())?)
            }
            Family::Logistic(logistic) => {
                Family::Logistic(Logistic::new(scale * logistic.mid(), scale * logistic.width())?)
            }
            Family::Threshold(threshold) => {
                Family::Threshold(Threshold::new(scale * threshold.at())?)
            }
            Family::Steps(steps) => {
                let (at, success) = scaled_points(steps.at(), steps.heights(), scale);
                Family::Steps(Box::new(Steps::new(at, success)?))
            }
            Family::Piecewise(piecewise) => {
                let (spend, success) = scaled_points(piecewise.spend(), piecewise.heights(), scale);
                Family::Piecewise(Box::new(Piecewise::new(spend, success)?))
            }
            Family::Empirical(empirical) => {
                let samples = empirical.samples().iter().map(|sample| scale * sample).collect();
                Family::Empirical(Box::new(Empirical::new(samples)?))
            }
            Family::Custom(custom) => Family::Custom(Box::new(scaled_function(custom, scale)?)),
        };
        Ok(Self { family, floor: self.floor, ceiling: self.ceiling })
    }
}

/// Points with scaled spends. Rounding may join neighbours; the last one then counts.
fn scaled_points(spend: &[f64], success: &[f64], scale: f64) -> (Vec<f64>, Vec<f64>) {
    let mut points: (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
    for (&spend, &success) in spend.iter().zip(success) {
        let spend = scale * spend;
        if points.0.last() == Some(&spend) {
            points.1.pop();
        } else {
            points.0.push(spend);
        }
        points.1.push(success);
    }
    points
}

fn scaled_function(custom: &Custom, scale: f64) -> Result<Custom, CurveError> {
    let shape = match custom.shape() {
        DeclaredShape::Lipschitz(constant) => DeclaredShape::Lipschitz(constant / scale),
        shape => shape,
    };
    Custom::new(Arc::new(ScaledFunction { custom: custom.clone(), scale }), shape)
}

/// A custom function of the spend divided by a scale.
struct ScaledFunction {
    custom: Custom,
    scale: f64,
}

impl ResponseCurve for ScaledFunction {
    fn success(&self, spend: f64) -> f64 {
        self.custom.success(spend / self.scale)
    }
}
