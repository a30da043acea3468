//! The conditions of a round, which are known before it is decided.

use crate::learner::RoundContext;

/// The conditions of a round: its budget, the available tasks, and the curves of the day. Each list
/// has one entry per task.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RoundConditions<'a> {
    /// The budget.
    pub budget: f64,
    /// Which tasks are available; `None`: all.
    pub available: Option<&'a [bool]>,
    /// The scales of the curves: task `k` has the curve `F_k(x / scale[k])`; `None`: all 1.
    pub scale: Option<&'a [f64]>,
    /// The volumes; `None`: those of the problem.
    pub volume: Option<&'a [f64]>,
}

impl<'a> RoundConditions<'a> {
    /// A round with this budget and these tasks; `None`: all.
    #[must_use]
    pub fn new(budget: f64, available: Option<&'a [bool]>) -> Self {
        Self { budget, available, scale: None, volume: None }
    }

    /// The round as learners see it.
    #[inline]
    pub(super) fn context(&self, round: u64) -> RoundContext<'a> {
        let Self { budget, available, scale, volume } = *self;
        RoundContext { round, budget, available, scale, volume }
    }

    /// Whether the curves or volumes may differ from those of the problem.
    #[inline]
    pub(super) fn has_own_curves(&self) -> bool {
        self.volume.is_some() || self.scale.is_some_and(|scale| scale.iter().any(|s| *s != 1.0))
    }
}
