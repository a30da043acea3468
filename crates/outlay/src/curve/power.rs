//! Power curves, `min(1, (x/scale)^exponent)`: the paper's Assumption 1 and the shape of scaling
//! laws.

use serde::Serialize;

use super::{CurveError, CurveErrorKind, require_amount};

/// `min(1, (x/scale)^exponent)` with an exponent in `(0, 1]`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Power {
    exponent: f64,
    scale: f64,
}

impl Power {
    pub(super) fn new(exponent: f64, scale: f64) -> Result<Self, CurveError> {
        if !(exponent > 0.0 && exponent <= 1.0) {
            return Err(CurveError::new("exponent", CurveErrorKind::Exponent { exponent }));
        }
        require_amount("scale", scale)?;
        Ok(Self { exponent, scale })
    }

    /// The exponent.
    #[must_use]
    pub fn exponent(&self) -> f64 {
        self.exponent
    }

    /// The spend at which success reaches one.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.scale
    }

    pub(crate) fn success(&self, spend: f64) -> f64 {
        if spend >= self.scale {
            return 1.0;
        }
        (spend / self.scale).powf(self.exponent)
    }

    pub(crate) fn slope(&self, spend: f64) -> f64 {
        if spend >= self.scale {
            return 0.0;
        }
        self.exponent / self.scale * (spend / self.scale).powf(self.exponent - 1.0)
    }

    /// The spend where the slope is `slope`, and its sensitivity `-dx/d ln(slope)`. Not for
    /// exponent one, whose slope is constant.
    pub(crate) fn at_slope(&self, slope: f64) -> (f64, f64) {
        let steepness = slope * self.scale / self.exponent;
        let elasticity = 1.0 / (1.0 - self.exponent);
        let spend = self.scale * steepness.powf(-elasticity);
        (spend, elasticity * spend)
    }
}
