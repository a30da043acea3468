//! The errors of an allocation.

use crate::curve::{DeclaredShape, NumberRange};

/// An allocation that cannot be computed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AllocationError {
    /// The number of values is not the number of tasks.
    #[error("values: {got} numbers for {expected} tasks")]
    ValueCount {
        /// Number of tasks of the problem.
        expected: usize,
        /// Number of values given.
        got: usize,
    },
    /// A value is negative, NaN or infinite.
    #[error("values[{task}]: must be finite and not negative, not {value}")]
    BadValue {
        /// Position of the task.
        task: usize,
        /// The value given.
        value: f64,
    },
    /// A value is given for a task that does not exist.
    #[error("values[{task}]: there are {tasks} tasks")]
    NoSuchTask {
        /// Position given.
        task: usize,
        /// Number of tasks of the problem.
        tasks: usize,
    },
    /// The budget is negative, NaN or out of [`AMOUNT_RANGE`](crate::curve::AMOUNT_RANGE).
    #[error("budget: must be {range}, not {0}", range = budget_range(*.0))]
    BadBudget(f64),
    /// The tolerance is negative or NaN.
    #[error("tolerance: must be at least 0, not {0}")]
    BadTolerance(f64),
    /// The lower bounds exceed the budget.
    #[error(
        "infeasible: lower bounds need {needed}, but the budget is {budget} (largest: {})",
        list(largest_lower_bounds)
    )]
    Infeasible {
        /// Sum of the lower bounds.
        needed: f64,
        /// The budget.
        budget: f64,
        /// The largest lower bounds with the names of their tasks, at most
        /// [`AllocationError::MAX_LISTED`].
        largest_lower_bounds: Vec<(String, f64)>,
    },
    /// The search was cancelled, see [`Oracle::set_cancel`](crate::Oracle::set_cancel).
    #[error("the search was cancelled")]
    Cancelled,
    /// The allocation is worth more than its upper bound.
    #[error(
        "the allocation is worth {value}, more than its upper bound {upper_bound}: either a custom \
         function does not have its declared shape, or this is a bug in outlay; please report it \
         with the problem file"
    )]
    BoundBeaten {
        /// The value of the allocation.
        value: f64,
        /// The bound.
        upper_bound: f64,
    },
    /// A user's function decreases somewhere.
    #[error("task {task}: its curve decreases: {low} at spend {at} after {high}")]
    Decreasing {
        /// Name of the task.
        task: String,
        /// Spend at which the success is lower than before.
        at: f64,
        /// Success there.
        low: f64,
        /// Success at a smaller spend.
        high: f64,
    },
    /// A user's function does not have its declared shape.
    #[error("task {task}: {shape}, but this is violated between spends {from} and {to}")]
    NotAsDeclared {
        /// Name of the task.
        task: String,
        /// The declared shape.
        shape: DeclaredShape,
        /// Start of the interval that contradicts it.
        from: f64,
        /// End of that interval.
        to: f64,
    },
}

impl AllocationError {
    /// The largest number of lower bounds that [`AllocationError::Infeasible`] lists.
    pub const MAX_LISTED: usize = 5;
}

fn budget_range(budget: f64) -> NumberRange {
    if budget > 0.0 && budget.is_finite() { NumberRange::Amount } else { NumberRange::NonNegative }
}

fn list(bounds: &[(String, f64)]) -> String {
    let items: Vec<String> = bounds.iter().map(|(task, min)| format!("{task} {min}")).collect();
    items.join(", ")
}
