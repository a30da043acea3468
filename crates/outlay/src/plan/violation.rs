//! Violations of the budget or of a task's bounds.

use crate::numeric::compensated::sum;
use crate::problem::{Bounds, Problem, covers};

/// A violated constraint.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Violation {
    /// The total spend exceeds the budget.
    OverBudget {
        /// The total spend.
        total: f64,
        /// The budget.
        budget: f64,
    },
    /// The spend of a task violates its bounds.
    OutOfBounds {
        /// The task's name.
        task: String,
        /// Its spend.
        spend: f64,
        /// Its bounds.
        bounds: Bounds,
    },
}

impl std::fmt::Display for Violation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::OverBudget { total, budget } => {
                write!(formatter, "the plan spends {total}, more than the budget {budget}")
            }
            Self::OutOfBounds { task, spend, bounds } => {
                write!(formatter, "{task} spends {spend}, ")?;
                match *bounds {
                    Bounds { max: 0.0, .. } => write!(formatter, "but is excluded"),
                    Bounds { min, max, .. } if min == max => {
                        write!(formatter, "but is fixed at {min}")
                    }
                    Bounds { min, .. } if *spend < min => {
                        write!(formatter, "less than its min {min}")
                    }
                    Bounds { max, .. } if *spend > max => {
                        write!(formatter, "more than its max {max}")
                    }
                    Bounds { at_least, .. } => {
                        write!(formatter, "but must spend 0 or at least {at_least}")
                    }
                }
            }
        }
    }
}

/// All violations of an allocation, up to the tolerance of
/// [feasibility](crate::problem::FEASIBILITY_TOLERANCE): the budget first, then the tasks in their
/// order.
#[must_use]
pub fn violations(problem: &Problem, budget: f64, spend: &[f64]) -> Vec<Violation> {
    let spends = || spend.iter().copied();
    let over_budget =
        (!covers(budget, spends())).then(|| Violation::OverBudget { total: sum(spends()), budget });
    let out_of_bounds = problem
        .tasks()
        .iter()
        .zip(spend)
        .filter(|(task, spend)| !task.bounds().allows(**spend))
        .map(|(task, &spend)| Violation::OutOfBounds {
            task: task.name().to_owned(),
            spend,
            bounds: task.bounds(),
        });
    over_budget.into_iter().chain(out_of_bounds).collect()
}
