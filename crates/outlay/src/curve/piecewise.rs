//! Linear between points: curves read off a table or a drawing.

use serde::Serialize;

use super::{CurveError, CurveErrorKind, require_rising_points};

/// Linear between `(spend[i], success[i])`, constant after the last point.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Piecewise {
    spend: Vec<f64>,
    success: Vec<f64>,
}

impl Piecewise {
    pub(super) fn new(spend: Vec<f64>, success: Vec<f64>) -> Result<Self, CurveError> {
        require_rising_points("spend", &spend, &success)?;
        if spend[0] != 0.0 {
            let kind = CurveErrorKind::NonzeroStart { spend: spend[0] };
            return Err(CurveError::new("spend[0]", kind));
        }
        Ok(Self { spend, success })
    }

    /// The points' spends.
    #[must_use]
    pub fn spend(&self) -> &[f64] {
        &self.spend
    }

    /// The points' success.
    #[must_use]
    pub fn heights(&self) -> &[f64] {
        &self.success
    }

    pub(crate) fn success(&self, spend: f64) -> f64 {
        let after = self.spend.partition_point(|&at| at <= spend);
        if after == self.spend.len() {
            return self.success[after - 1];
        }
        let (left, right) = (self.spend[after - 1], self.spend[after]);
        let (low, high) = (self.success[after - 1], self.success[after]);
        low + (high - low) * ((spend - left) / (right - left))
    }

    pub(crate) fn slope(&self, spend: f64) -> f64 {
        let after = self.spend.partition_point(|&at| at <= spend);
        if after == self.spend.len() { 0.0 } else { self.piece_slope(after - 1) }
    }

    fn piece_slope(&self, piece: usize) -> f64 {
        (self.success[piece + 1] - self.success[piece])
            / (self.spend[piece + 1] - self.spend[piece])
    }

    pub(crate) fn is_concave(&self) -> bool {
        (1..self.spend.len().saturating_sub(1))
            .all(|piece| self.piece_slope(piece) <= self.piece_slope(piece - 1))
    }

    pub(crate) fn saturates_at(&self) -> f64 {
        let top = self.success[self.success.len() - 1];
        self.spend[self.success.partition_point(|&height| height < top)]
    }
}
