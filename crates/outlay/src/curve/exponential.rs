//! Exponential saturation, `1 - exp(-x/scale)`: independent chances that add up with spend.

use serde::Serialize;

use super::{CurveError, require_positive};

/// `1 - exp(-x/scale)`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Exponential {
    scale: f64,
}

impl Exponential {
    pub(super) fn new(scale: f64) -> Result<Self, CurveError> {
        require_positive("scale", scale)?;
        Ok(Self { scale })
    }

    /// The spend at which 63 % of the way is gone.
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

    /// The spend where the slope is `slope` (zero if the curve is nowhere that steep), and how fast
    /// it falls per unit of the slope's logarithm.
    pub(crate) fn at_slope(&self, slope: f64) -> (f64, f64) {
        ((-self.scale * (slope * self.scale).ln()).max(0.0), self.scale)
    }
}
