//! The outcome of each task of an allocation: the rows of the tables in reports.

use serde::Serialize;

use super::returns::Returns;
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
    /// The largest gain per unit of more spend, over all larger spends that the bounds allow. It
    /// equals the marginal return where the curve is smooth and concave. `None` if no larger spend
    /// is allowed, and for custom functions.
    pub return_up: Option<f64>,
    /// The smallest loss per unit of less spend, over all smaller spends that the bounds allow.
    /// `None` if no smaller spend is allowed, and for custom functions.
    pub return_down: Option<f64>,
    /// The expected reward per unit of spend; `None` without spend.
    pub return_on_spend: Option<f64>,
    /// The spend per expected completion; `None` if none is expected.
    pub cost_per_completion: Option<f64>,
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
            let (completions, expected_reward) = (task.volume() * success, value * success);
            let returns = Returns::of(task.curve(), task.bounds(), spend, value);
            TaskOutcome {
                spend,
                share: if budget > 0.0 { spend / budget } else { 0.0 },
                success,
                completions,
                expected_reward,
                // A worthless task gains nothing even from an infinite slope.
                marginal_return: if value > 0.0 { value * task.curve().slope(spend) } else { 0.0 },
                return_up: returns.up,
                return_down: returns.down,
                return_on_spend: ratio(expected_reward, spend),
                cost_per_completion: ratio(spend, completions),
                bound: if task.is_retired() {
                    Some(BindingBound::Retired)
                } else {
                    BindingBound::of(task.bounds(), spend, unit)
                },
            }
        })
        .collect()
}

/// `None` if the denominator is zero.
fn ratio(numerator: f64, denominator: f64) -> Option<f64> {
    (denominator > 0.0).then(|| numerator / denominator)
}
