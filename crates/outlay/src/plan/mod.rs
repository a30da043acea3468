//! Plans: what a given split is worth, what other budgets would buy, and splits in whole units.
//!
//! Everything here is a function of a checked problem, the tasks' values and a split; nothing is
//! read or printed.

mod evaluate;
mod frontier;
mod outcome;
mod rounding;
mod violation;

pub use evaluate::{Comparison, Evaluation, PlanError, evaluate};
pub use frontier::{evenly_spaced, frontier};
pub use outcome::{BindingBound, TaskOutcome, outcomes};
pub use rounding::{Rounded, RoundingError, round};
pub use violation::{Violation, violations};

use crate::numeric::compensated::sum;
use crate::problem::Problem;

/// Spends this close to a bound, relative to it, count as being at it: sums of decimals are off by
/// a few of the last digits.
const SLACK: f64 = 1e-12;

/// The expected reward of one round in which task `k` is given `spend[k]`.
#[must_use]
pub fn value_of(problem: &Problem, values: &[f64], spend: &[f64]) -> f64 {
    sum(problem
        .tasks()
        .iter()
        .zip(values)
        .zip(spend)
        .map(|((task, value), &spend)| value * task.curve().success(spend)))
}
