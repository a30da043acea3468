//! The certificate of an allocation, and its check against the problem.
//!
//! For every multiplier `p >= 0` the dual function
//!
//! ```text
//! p * budget + sum over tasks of max over x of [value * volume * F(x) - p * x]
//! ```
//!
//! is at least the value of every feasible allocation (weak duality): relaxing the budget at the
//! price `p` only adds to the value, and each task then has its best spend. Budget and bounds are
//! those of [feasibility](crate::problem::FEASIBILITY_TOLERANCE), tolerance included. It takes one
//! maximisation per task and no search. For concave curves [`Allocation::price`] alone proves
//! [`Allocation::upper_bound`]; otherwise the search lowered the bound further, and
//! [`prove`](super::prove) repeats that independently.

use serde::Serialize;

use super::prepared::{max_spend, rounded_up_difference};
use super::tolerances::{BOUND_ROUNDING, OPTIMAL_GAP, SUM_TOLERANCE, curve_rounding, negligible};
use crate::curve::Curve;
use crate::curve::demand::{self, SpendRange};
use crate::names::names;
use crate::numeric::compensated::{Sum, sum};
use crate::problem::{Bounds, Problem, Task, covers, max_total};

/// The proved quality of an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The allocation is optimal up to rounding.
    Optimal,
    /// The relative gap is within the tolerance.
    WithinTolerance,
    /// A limit of the search was reached first; the gap is larger than the tolerance.
    Limit,
}

/// The reason why some budget is unspent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UnspentReason {
    /// Every task that would gain from more is at its `max`.
    AtMax,
    /// No task gains from more: the curves are flat there.
    CurveFlat,
}

names!(
    Status,
    "status",
    Optimal = "optimal",
    WithinTolerance = "within_tolerance",
    Limit = "limit",
);
names!(UnspentReason, "unspent reason", AtMax = "at_max", CurveFlat = "curve_flat");

/// An allocation of the budget with its certificate.
#[derive(Debug, Clone, PartialEq)]
pub struct Allocation {
    /// The budget.
    pub budget: f64,
    /// The spend of each task, in the order of the tasks.
    pub spend: Vec<f64>,
    /// The probability of success of each task at its spend, floor and ceiling included: its
    /// curve's `success(spend)`, up to rounding.
    pub success: Vec<f64>,
    /// Expected reward of the round.
    pub value: f64,
    /// An upper bound on the value of every feasible allocation.
    pub upper_bound: f64,
    /// The shadow price: the value of one more unit of budget, by the multiplier of the bound.
    pub price: f64,
    /// The proved quality of the allocation.
    pub status: Status,
    /// Unspent budget.
    pub unspent: f64,
    /// The reason for it.
    pub unspent_reason: Option<UnspentReason>,
    /// Branch-and-bound nodes; 1 if the first relaxation was enough.
    pub nodes: u64,
    /// Labels kept by the exact searches over steps, tiers and mixtures.
    pub labels: u64,
}

/// A price at which the whole budget is worth this share of the value proves no more than zero does.
/// In another unit of money it could be too small for a floating-point number.
const ZERO_PRICE: f64 = 1e-250;

impl Allocation {
    pub(crate) fn empty(tasks: usize) -> Self {
        Self {
            budget: 0.0,
            spend: vec![0.0; tasks],
            success: vec![0.0; tasks],
            value: 0.0,
            upper_bound: 0.0,
            price: 0.0,
            status: Status::Optimal,
            unspent: 0.0,
            unspent_reason: None,
            nodes: 0,
            labels: 0,
        }
    }

    /// Replaces the spends and the probabilities of success; the caller updates the rest of the
    /// certificate.
    pub fn set_spend(&mut self, problem: &Problem, spend: &[f64]) {
        self.spend.clear();
        self.spend.extend_from_slice(spend);
        self.success.clear();
        self.success.extend(
            problem.tasks().iter().zip(spend).map(|(task, &spend)| task.curve().success(spend)),
        );
    }

    /// The relative optimality gap, `(upper_bound - value) / upper_bound`.
    #[must_use]
    pub fn gap(&self) -> f64 {
        if self.upper_bound > 0.0 {
            (self.upper_bound - self.value).max(0.0) / self.upper_bound
        } else {
            0.0
        }
    }

    /// An allocation without spends, of unknown status.
    pub(crate) fn unsolved(budget: f64, value: f64, upper_bound: f64, price: f64) -> Self {
        Self { budget, value, upper_bound, price, ..Self::empty(0) }
    }

    /// Sets the status that value and bound imply.
    pub(crate) fn set_status(&mut self, tolerance: f64) {
        self.status = self.status_within(tolerance);
    }

    /// Sets the price: zero if the whole budget is worth nothing at it.
    pub(super) fn set_price(&mut self, price: f64) {
        let is_zero = price * self.budget <= ZERO_PRICE * self.upper_bound;
        self.price = if is_zero { 0.0 } else { price };
    }

    /// The status that value and bound imply, without dividing one by the other.
    pub(super) fn status_within(&self, tolerance: f64) -> Status {
        let (gap, bound) = (self.upper_bound - self.value, self.upper_bound);
        if gap <= OPTIMAL_GAP * bound {
            Status::Optimal
        } else if gap <= tolerance * bound {
            Status::WithinTolerance
        } else {
            Status::Limit
        }
    }
}

/// The result of [`recheck`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recheck {
    /// The value of the allocation, from the curves.
    pub value: f64,
    /// The dual bound at the allocation's price.
    pub dual_bound: f64,
    /// Whether the price alone already proves the allocation's `upper_bound`, up to rounding. If
    /// not, the search lowered the bound further, and `dual_bound` is the part of it that holds
    /// without the search.
    pub price_proves_bound: bool,
}

/// A contradiction between an allocation and its problem.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RecheckError {
    /// The number of spends is not the number of tasks.
    #[error("{got} spends for {expected} tasks")]
    Length {
        /// Tasks.
        expected: usize,
        /// Spends.
        got: usize,
    },
    /// A spend is outside the bounds of its task.
    #[error("task {task} may not be given {spend}")]
    OutOfBounds {
        /// Name of the task.
        task: String,
        /// Its spend.
        spend: f64,
    },
    /// The spends and the unspent budget do not add up to the budget.
    #[error("spend {spend} and unspent {unspent} do not add up to the budget {budget}")]
    Budget {
        /// Total spend.
        spend: f64,
        /// Unspent.
        unspent: f64,
        /// The budget.
        budget: f64,
    },
    /// The value differs from the one that the curves give.
    #[error("value {claimed} is {actual} by the curves")]
    Value {
        /// The one in the allocation.
        claimed: f64,
        /// The value from the curves.
        actual: f64,
    },
    /// The upper bound is below the value.
    #[error("upper bound {upper_bound} is below the value {value}")]
    Bound {
        /// The one in the allocation.
        upper_bound: f64,
        /// The value from the curves.
        value: f64,
    },
}

/// Checks an allocation against its problem: bounds, budget, value, and the bound that its
/// multiplier proves.
///
/// # Errors
/// The first contradiction found.
pub fn recheck(
    problem: &Problem,
    values: &[f64],
    allocation: &Allocation,
) -> Result<Recheck, RecheckError> {
    let tasks = problem.tasks();
    if allocation.spend.len() != tasks.len() || values.len() != tasks.len() {
        return Err(RecheckError::Length { expected: tasks.len(), got: allocation.spend.len() });
    }
    for (task, &spend) in tasks.iter().zip(&allocation.spend) {
        if !task.bounds().allows(spend) {
            return Err(RecheckError::OutOfBounds { task: task.name().to_owned(), spend });
        }
    }
    let (spend, unspent, budget) =
        (sum(allocation.spend.iter().copied()), allocation.unspent, allocation.budget);
    let adds_up = spend + unspent >= budget - negligible(budget)
        && (unspent == 0.0 || spend + unspent <= max_total(budget));
    if !(adds_up && unspent >= 0.0 && covers(budget, allocation.spend.iter().copied())) {
        return Err(RecheckError::Budget { spend, unspent, budget });
    }
    let value = sum(tasks
        .iter()
        .zip(values)
        .zip(&allocation.spend)
        .map(|((task, value), &spend)| value * task.volume() * task.curve().success(spend)));
    if !((value - allocation.value).abs() <= SUM_TOLERANCE * value.max(allocation.value)) {
        return Err(RecheckError::Value { claimed: allocation.value, actual: value });
    }
    if !(allocation.upper_bound >= value * (1.0 - SUM_TOLERANCE)) {
        return Err(RecheckError::Bound { upper_bound: allocation.upper_bound, value });
    }
    let dual_bound = dual_bound(problem, values, budget, allocation.price);
    let price_proves_bound = dual_bound <= allocation.upper_bound * (1.0 + SUM_TOLERANCE);
    Ok(Recheck { value, dual_bound, price_proves_bound })
}

/// The dual function: an upper bound on the value of any split of `budget`, whatever the
/// multiplier.
#[must_use]
pub fn dual_bound(problem: &Problem, values: &[f64], budget: f64, price: f64) -> f64 {
    let bounds = relaxed_bounds(problem);
    let residual = relaxed_residual(budget, &bounds);
    let terms = problem.tasks().iter().zip(values).zip(&bounds);
    let surplus = terms.map(|((task, &value), &bounds)| {
        let high = bounds.max.min(max_spend(bounds.min, residual));
        let weight = value * task.volume();
        best_surplus(task.curve(), weight, price, Bounds { max: high, ..bounds }).0
    });
    let total = sum(surplus.chain([price * residual]));
    let rounding = BOUND_ROUNDING + curve_rounding(problem.tasks().iter().map(Task::curve));
    total + rounding * (total.abs() + price * residual)
}

/// The bounds of all tasks up to the tolerance.
pub(super) fn relaxed_bounds(problem: &Problem) -> Vec<Bounds> {
    problem.tasks().iter().map(|task| task.bounds().relaxed()).collect()
}

/// What lower bounds leave of the largest total that a budget covers, rounded up.
pub(super) fn relaxed_residual(budget: f64, bounds: &[Bounds]) -> f64 {
    let min_total: Sum = bounds.iter().map(|bounds| bounds.min).collect();
    rounded_up_difference(max_total(budget), min_total).max(0.0)
}

/// The largest surplus `value F(x) - price (x - min)` over the allowed spends, and a spend that attains it.
pub(super) fn best_surplus(curve: &Curve, value: f64, price: f64, bounds: Bounds) -> (f64, f64) {
    let range = SpendRange { min: bounds.min, max: bounds.max, at_least: bounds.at_least };
    demand::best_surplus(curve, value, price, range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_json() {
        for status in [Status::Optimal, Status::WithinTolerance, Status::Limit] {
            assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
            assert_eq!(status.to_string().parse(), Ok(status));
        }
        for reason in [UnspentReason::AtMax, UnspentReason::CurveFlat] {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.as_str());
            assert_eq!(reason.to_string().parse(), Ok(reason));
        }
        let error = "done".parse::<Status>().unwrap_err().to_string();
        assert_eq!(
            error,
            "unknown status `done`: expected one of `optimal`, `within_tolerance`, `limit`"
        );
    }
}
