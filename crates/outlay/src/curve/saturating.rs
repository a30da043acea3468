//! Linear curves up to certain success, `min(1, x/full_at)`: the jobs of Lattimore, Crammer and
//! Szepesvári (2014).

use serde::Serialize;

use super::{CurveError, require_amount};

/// `min(1, x/full_at)`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Saturating {
    full_at: f64,
}

impl Saturating {
    pub(super) fn new(full_at: f64) -> Result<Self, CurveError> {
        require_amount("full_at", full_at)?;
        Ok(Self { full_at })
    }

    /// The spend at which success is certain.
    #[must_use]
    pub fn full_at(&self) -> f64 {
        self.full_at
    }

    pub(crate) fn success(&self, spend: f64) -> f64 {
        (spend / self.full_at).min(1.0)
    }

    pub(crate) fn slope(&self, spend: f64) -> f64 {
        if spend < self.full_at { 1.0 / self.full_at } else { 0.0 }
    }
}
