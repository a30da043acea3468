//! The outcome of each task of an allocation: the rows of the tables in reports.

use serde::Serialize;

use crate::names::names;
use crate::problem::{Bounds, Problem};

/// A spend this close to a bound, relative to it, is at the bound.
const NEARBY: f64 = 1e-12;

/// The binding bound of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BindingBound {
    /// The spend equals `min`.
    Min,
    /// The spend equals `max`.
    Max,
    /// The spend is `fixed`.
    Fixed,
    /// The task is excluded.
    Excluded,
    /// The task is retired.
    Retired,
    /// The spend equals `at_least`.
    AtLeast,
}

names!(
    BindingBound,
    "bound",
    Min = "min",
    Max = "max",
    Fixed = "fixed",
    Excluded = "excluded",
    Retired = "retired",
    AtLeast = "at_least",
);

impl BindingBound {
    /// The bound that a spend equals, up to the rounding `unit` (zero if spends are not rounded).
    #[must_use]
    pub fn of(bounds: Bounds, spend: f64, unit: f64) -> Option<Self> {
        let touches = |bound: f64| {
            let distance = (spend - bound).abs();
            distance <= bound * NEARBY || distance < unit * (1.0 - NEARBY)
        };
        match bounds {
            Bounds { max: 0.0, .. } => Some(Self::Excluded),
            Bounds { min, max, .. } if min == max => Some(Self::Fixed),
            Bounds { max, .. } if spend > 0.0 && max.is_finite() && touches(max) => Some(Self::Max),
            Bounds { min, .. } if min > 0.0 && touches(min) => Some(Self::Min),
            Bounds { at_least, .. } if at_least > 0.0 && spend > 0.0 && touches(at_least) => {
                Some(Self::AtLeast)
            }
            _ => None,
        }
    }
}

/// The spend of one task of an allocation and its consequences.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskOutcome {
    /// The spend.
    pub spend: f64,
    /// The spend as a share of the budget; zero if the budget is zero.
    pub share: f64,
    /// The probability of success.
    pub success: f64,
    /// The expected number of completions: the volume times the probability of success.
    pub completions: f64,
    /// The value of a completion times their expected number.
    pub expected_reward: f64,
    /// The expected reward per unit of additional spend; infinite where a curve starts vertically.
    pub marginal_return: f64,
    /// The binding bound, if any.
    pub bound: Option<BindingBound>,
}

/// The outcome of every task when task `k` is given `spend[k]` out of `budget`, in multiples of
/// `unit` (zero: any amount).
#[must_use]
pub fn outcomes(
    problem: &Problem,
    values: &[f64],
    budget: f64,
    spend: &[f64],
    unit: f64,
) -> Vec<TaskOutcome> {
    let tasks = problem.tasks().iter().zip(values).zip(spend);
    tasks
        .map(|((task, &value), &spend)| {
            let success = task.curve().success(spend);
            let value = value * task.volume();
            TaskOutcome {
                spend,
                share: if budget > 0.0 { spend / budget } else { 0.0 },
                success,
                completions: task.volume() * success,
                expected_reward: value * success,
                // A worthless task gains nothing even from an infinite slope.
                marginal_return: if value > 0.0 { value * task.curve().slope(spend) } else { 0.0 },
                bound: if task.is_retired() {
                    Some(BindingBound::Retired)
                } else {
                    BindingBound::of(task.bounds(), spend, unit)
                },
            }
        })
        .collect()
}
