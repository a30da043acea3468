//! The allocation oracle: the best split and a certificate of how good it is.

use serde::Serialize;

use crate::problem::{Leftover, Problem};

/// How hard to try. The defaults suit nearly everybody.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// The relative gap at which a search may stop.
    pub tolerance: f64,
    /// How many nodes a branch-and-bound search may open.
    pub max_nodes: u64,
    /// How many partial choices the exact search over steps may keep, in total.
    pub max_states: u64,
    /// How often a user's own function may be evaluated, in total.
    pub max_evaluations: u64,
    /// What happens to budget that buys nothing.
    pub leftover: Leftover,
}

/// How far the search came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Nothing is better, up to rounding.
    Optimal,
    /// Nothing is better by more than the tolerance.
    WithinTolerance,
    /// A limit was reached first; `gap` says what is left open.
    Limit,
}

/// Why some budget is unspent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UnspentReason {
    /// Every task that would gain from more is at its `max`.
    AtMax,
    /// No task would gain from the rest: the curves are flat there.
    CurveFlat,
}

/// A split of the budget with its certificate.
#[derive(Debug, Clone, PartialEq)]
pub struct Allocation {
    /// What was to be spent.
    pub budget: f64,
    /// What each task gets, in the tasks' order.
    pub spend: Vec<f64>,
    /// Expected reward of the round.
    pub value: f64,
    /// No split has a larger value.
    pub upper_bound: f64,
    /// What one more unit of budget is worth (the multiplier of the certificate).
    pub price: f64,
    /// How far the search came.
    pub status: Status,
    /// Budget left unspent.
    pub unspent: f64,
    /// Why.
    pub unspent_reason: Option<UnspentReason>,
    /// Branch-and-bound nodes opened; 1 if the first relaxation settled it.
    pub nodes: u64,
    /// Partial choices kept by the exact search over steps.
    pub states: u64,
}

impl Allocation {
    /// `(upper_bound - value) / upper_bound`: no split is better by more than this share.
    #[must_use]
    pub fn gap(&self) -> f64 {
        if self.upper_bound > 0.0 { (self.upper_bound - self.value).max(0.0) / self.upper_bound } else { 0.0 }
    }
}

/// Why no allocation could be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AllocationError {
    /// The number of values is not the number of tasks.
    #[error("values: {got} numbers for {expected} tasks")]
    ValueCount {
        /// Tasks of the problem.
        expected: usize,
        /// Values given.
        got: usize,
    },
    /// A value is negative, NaN or infinite.
    #[error("values[{task}]: must be finite and not negative, not {value}")]
    BadValue {
        /// Position of the task.
        task: usize,
        /// What was given.
        value: f64,
    },
    /// The budget is negative, NaN or infinite.
    #[error("budget: must be finite and not negative, not {0}")]
    BadBudget(f64),
    /// The tolerance is negative or NaN.
    #[error("tolerance: must be at least 0, not {0}")]
    BadTolerance(f64),
    /// The lower bounds exceed the budget.
    #[error("sum of min = {needed} > budget {budget}: {culprits}")]
    Infeasible {
        /// Sum of the lower bounds.
        needed: f64,
        /// The budget.
        budget: f64,
        /// The tasks with the largest lower bounds: `tv 60, search 60`.
        culprits: String,
    },
    /// A user's function decreased somewhere.
    #[error("task {task}: its curve decreases: {low} at spend {at} after {high}")]
    Decreasing {
        /// Name of the task.
        task: String,
        /// Where.
        at: f64,
        /// Success there.
        low: f64,
        /// Success at a smaller spend.
        high: f64,
    },
}

/// Solves one problem again and again, for other values and budgets.
#[derive(Debug)]
pub struct Oracle {}

impl Oracle {
    /// Prepares the curves of `problem`.
    #[must_use]
    pub fn new(_problem: &Problem) -> Self {
        unimplemented!()
    }

    /// The best split of `budget` when a success of task `k` is worth `values[k]`.
    ///
    /// # Errors
    /// If an input is out of range or the lower bounds exceed the budget.
    pub fn allocate(&mut self, _values: &[f64], _budget: f64, _options: &Options) -> Result<&Allocation, AllocationError> {
        unimplemented!()
    }
}
