//! The bounds of the solvers. They are computed from the given ones, because those of 10^6 tasks
//! would take 24 MB.

use super::curves::Curves;
use crate::problem::Bounds;

/// The bounds of each task as the solvers use them.
#[derive(Debug, Clone)]
pub(super) struct SolverBounds {
    given: Curves,
    /// They are relaxed by the tolerance of feasibility.
    is_relaxed: bool,
    /// Tasks with a lower bound are lots.
    has_lots: bool,
}

impl SolverBounds {
    pub(super) fn new(given: Curves, is_relaxed: bool, has_lots: bool) -> Self {
        Self { given, is_relaxed, has_lots }
    }

    pub(super) fn len(&self) -> usize {
        self.given.len()
    }

    /// The bounds of a task.
    pub(super) fn of(&self, task: usize) -> Bounds {
        self.solver(self.given.bounds_of(task))
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = Bounds> {
        self.given.bounds().map(|given| self.solver(given))
    }

    fn solver(&self, given: Bounds) -> Bounds {
        let mut bounds = if self.is_relaxed { given.relaxed() } else { given };
        if self.has_lots {
            bounds.at_least = bounds.at_least.max(bounds.min);
        }
        bounds
    }
}
