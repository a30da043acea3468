//! Exponential saturation, `1 - exp(-x/scale)`: each unit of spend is an independent chance.

use serde::Serialize;

use super::{CurveError, require_amount};

/// `1 - exp(-x/scale)`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Exponential {
    scale: f64,
}

impl Exponential {
    pub(super) fn new(scale: f64) -> Result<Self, CurveError> {
        require_amount("scale", scale)?;
        Ok(Self { scale })
    }

    /// The spend at which success is `1 - 1/e`, about 63 %.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.scale
    }

    pub(crate) fn success(&self, spend: f64) -> f64 {
        -(-spend / self.scale).exp_m1()
    }

    pub(crate) fn slope(&self, spend: f64) -> f64 {
        (-spend / self.scale).exp() / self.scale
    }

    /// The spend where the slope is `slope` (zero if the curve is nowhere that steep), and its
    /// sensitivity `-dx/d ln(slope)`.
    pub(crate) fn at_slope(&self, slope: f64) -> (f64, f64) {
        ((-self.scale * (slope * self.scale).ln()).max(0.0), self.scale)
    }
}
