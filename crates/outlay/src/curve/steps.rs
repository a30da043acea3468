//! Right-continuous steps: price tiers, packages, reserve prices.

use serde::Serialize;

use super::{CurveError, jumps, require_rising_points};

/// `success[i]` from spend `at[i]` on, zero before the first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Steps {
    at: Vec<f64>,
    success: Vec<f64>,
}

impl Steps {
    pub(super) fn new(at: Vec<f64>, success: Vec<f64>) -> Result<Self, CurveError> {
        require_rising_points("at", &at, &success)?;
        Ok(Self { at, success })
    }

    /// The spends of the jumps.
    #[must_use]
    pub fn at(&self) -> &[f64] {
        &self.at
    }

    /// The success from each jump on.
    #[must_use]
    pub fn heights(&self) -> &[f64] {
        &self.success
    }

    pub(crate) fn success(&self, spend: f64) -> f64 {
        jumps::success_at(&self.at, &self.success, spend)
    }
}
