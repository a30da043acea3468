//! Plans: evaluation of a given allocation, the value at other budgets, targets, and rounding to
//! units.

mod evaluate;
mod frontier;
mod knapsack;
mod returns;
mod rounding;
mod target;
mod task_outcome;
mod task_queue;
mod violation;

pub use evaluate::{Comparison, Evaluation, PlanError, evaluate};
pub use frontier::{evenly_spaced, frontier};
pub use rounding::{MovedBound, Rounded, RoundingError, round};
pub use target::{BoundLine, TARGET_WIDTH, Target, TargetError, TargetPlan, for_target};
pub use task_outcome::{BindingBound, TaskOutcome, outcomes};
pub use violation::{Violation, violations};

use crate::numeric::compensated::sum;
use crate::problem::Problem;

/// Values that differ by this share are as good as each other.
const EQUAL_VALUES: f64 = 1e-12;

/// The expected reward of one round in which task `k` is given `spend[k]` and a completion of it
/// has the value `values[k]`.
#[must_use]
pub fn value_of(problem: &Problem, values: &[f64], spend: &[f64]) -> f64 {
    sum(problem
        .tasks()
        .iter()
        .zip(values)
        .zip(spend)
        .map(|((task, value), &spend)| value * task.volume() * task.curve().success(spend)))
}
