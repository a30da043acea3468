//! A single jump from 0 to 1 at a given spend: a bid against a known price, the paper's M-sets.

use serde::Serialize;

use super::{CurveError, jumps::jumps_reached, require_nonnegative};

/// 1 from spend `at` on, 0 below.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Threshold {
    at: f64,
}

impl Threshold {
    pub(super) fn new(at: f64) -> Result<Self, CurveError> {
        require_nonnegative(|| "at", at)?;
        Ok(Self { at })
    }

    /// The spend from which on the task succeeds.
    #[must_use]
    pub fn at(&self) -> f64 {
        self.at
    }

    /// The one jump, as a list.
    pub(crate) fn jumps(&self) -> &[f64] {
        std::slice::from_ref(&self.at)
    }

    pub(crate) fn success(&self, spend: f64) -> f64 {
        jumps_reached(&[self.at], spend) as f64
    }
}
