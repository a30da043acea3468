//! Logistic curves, shifted and scaled to run from 0 to 1: slow start, steep middle, saturation.
//!
//! `(σ((x−m)/w) − σ(−m/w)) / (1 − σ(−m/w))` loses all digits near zero spend. The code computes the
//! equal expression `σ((x−m)/w) (1 − e^(−x/w))`, which keeps them.

use serde::Serialize;

use super::{CurveError, require_amount, require_nonnegative};

/// A logistic curve with middle `mid` and width `width`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Logistic {
    mid: f64,
    width: f64,
}

impl Logistic {
    pub(super) fn new(mid: f64, width: f64) -> Result<Self, CurveError> {
        require_nonnegative(|| "mid", mid)?;
        require_amount("width", width)?;
        Ok(Self { mid, width })
    }

    /// The spend where the curve is steepest.
    #[must_use]
    pub fn mid(&self) -> f64 {
        self.mid
    }

    /// The width of the increase around the middle.
    #[must_use]
    pub fn width(&self) -> f64 {
        self.width
    }

    pub(crate) fn success(&self, spend: f64) -> f64 {
        sigmoid((spend - self.mid) / self.width) * -(-spend / self.width).exp_m1()
    }

    pub(crate) fn slope(&self, spend: f64) -> f64 {
        let y = (spend - self.mid) / self.width;
        sigmoid(y) * sigmoid(-y) / (self.width * sigmoid(self.mid / self.width))
    }

    pub(crate) fn inflection(&self) -> f64 {
        self.mid
    }

    /// The spend beyond the middle where the slope is `slope` (the middle if the curve is nowhere
    /// that steep), and its sensitivity `-dx/d ln(slope)`.
    pub(crate) fn at_slope(&self, slope: f64) -> (f64, f64) {
        // σ(1−σ) = q on the upper branch: σ = (1 + sqrt(1−4q))/2, and the odds are σ²/q.
        let q = slope * self.width * sigmoid(self.mid / self.width);
        if !(q < 0.25) {
            return (self.mid, 0.0);
        }
        let root = (1.0 - 4.0 * q).sqrt();
        let upper = 0.5 * (1.0 + root);
        (self.mid + self.width * (upper * upper / q).ln(), self.width / root)
    }
}

fn sigmoid(y: f64) -> f64 {
    1.0 / (1.0 + (-y).exp())
}
