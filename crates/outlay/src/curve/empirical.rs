//! Empirical distribution functions: closing prices of past auctions, running times of past
//! jobs.

use serde::Serialize;
use serde::ser::SerializeStruct;

use super::{CurveError, CurveErrorKind, jumps, require_nonnegative};

/// The share of samples that are at most the spend.
///
/// Samples are sorted and equal ones merged, so the order of the samples does not matter.
#[derive(Debug, Clone, PartialEq)]
pub struct Empirical {
    at: Vec<f64>,
    success: Vec<f64>,
    sample_count: usize,
}

impl Empirical {
    pub(super) fn new(mut samples: Vec<f64>) -> Result<Self, CurveError> {
        if samples.is_empty() {
            return Err(CurveError::new("samples", CurveErrorKind::Empty));
        }
        for (position, &sample) in samples.iter().enumerate() {
            require_nonnegative(|| format!("samples[{position}]"), sample)?;
        }
        samples.sort_by(f64::total_cmp);
        let sample_count = samples.len();
        let mut at: Vec<f64> = Vec::with_capacity(sample_count);
        let mut success: Vec<f64> = Vec::with_capacity(sample_count);
        for (position, &sample) in samples.iter().enumerate() {
            let share = (position + 1) as f64 / sample_count as f64;
            if at.last() == Some(&sample) {
                success.pop();
            } else {
                at.push(sample);
            }
            success.push(share);
        }
        Ok(Self { at, success, sample_count })
    }

    /// The distinct samples, increasing.
    #[must_use]
    pub fn at(&self) -> &[f64] {
        &self.at
    }

    /// The share of samples at most each of them.
    #[must_use]
    pub fn heights(&self) -> &[f64] {
        &self.success
    }

    /// The number of samples.
    #[must_use]
    pub fn sample_count(&self) -> usize {
        self.sample_count
    }

    pub(crate) fn success(&self, spend: f64) -> f64 {
        jumps::success_at(&self.at, &self.success, spend)
    }

    /// The samples, sorted.
    pub(super) fn samples(&self) -> Vec<f64> {
        let mut samples = Vec::with_capacity(self.sample_count);
        for (&at, &share) in self.at.iter().zip(&self.success) {
            let up_to_here = (share * self.sample_count as f64).round() as usize;
            samples.resize(up_to_here, at);
        }
        samples
    }
}

/// Written as it is read: `samples = [...]`.
impl Serialize for Empirical {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut record = serializer.serialize_struct("Empirical", 1)?;
        record.serialize_field("samples", &self.samples())?;
        record.end()
    }
}
