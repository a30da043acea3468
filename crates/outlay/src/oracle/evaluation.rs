//! The spends at a multiplier, and their sums.

use super::curves::Curves;
use crate::numeric::compensated::Sum;

/// The spend of each task, then of each group of identical thresholds, and the success of each
/// task.
#[derive(Debug)]
pub(super) struct Output<'a> {
    pub(super) spend: &'a mut [f64],
    pub(super) success: &'a mut [f64],
}

impl Output<'_> {
    /// Writes the spend of a task or a group and, for a task, its success, given before floor and
    /// ceiling.
    pub(super) fn set(&mut self, curves: &Curves, task: usize, spend: f64, success: f64) {
        self.spend[task] = spend;
        if let Some(curve) = curves.get(task) {
            self.success[task] = curve.floor() + curve.height() * success;
        }
    }
}

/// The sums over the assigned spends, for the certificate.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Evaluation {
    /// Spend above the lower bounds: if these take nearly the whole budget, the total would lose
    /// the digits of the residual.
    pub(super) above: Sum,
    /// Value above that of the floors.
    pub(super) value: Sum,
    /// The task that a small residual disturbs least, and its sensitivity; zero if there is none.
    pub(super) most_elastic: usize,
    pub(super) sensitivity: f64,
}

impl Evaluation {
    /// Keeps the task with the largest sensitivity.
    pub(super) fn offer(&mut self, task: usize, sensitivity: f64) {
        if sensitivity > self.sensitivity {
            (self.most_elastic, self.sensitivity) = (task, sensitivity);
        }
    }
}
