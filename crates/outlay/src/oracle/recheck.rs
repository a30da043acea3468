//! Checking an answer without trusting the search: from the price and the curves alone.
//!
//! For every price `p >= 0`, budget times `p` plus each task's best surplus `value F(x) - p x` is
//! at least the value of any split. That takes one line per task and no search, and it is how
//! anybody can check `upper_bound` of a concave problem, or how far a search had to lower it
//! otherwise.

use super::Allocation;
use super::model::within_budget;
use crate::curve::Curve;
use crate::curve::demand::{self, SpendRange};
use crate::numeric::compensated::sum;
use crate::problem::{Bounds, Problem};

/// What a recheck found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recheck {
    /// The split's value, from the curves.
    pub value: f64,
    /// What the price alone proves: no split is worth more.
    pub price_bound: f64,
    /// Whether the price alone already proves the allocation's `upper_bound` (up to rounding). If
    /// not, the search lowered it by trying the alternatives, and `price_bound` is what can be said
    /// without it.
    pub price_proves_bound: bool,
}

/// What is wrong with an allocation.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RecheckError {
    /// The spends are not one a task.
    #[error("{got} spends for {expected} tasks")]
    Length {
        /// Tasks.
        expected: usize,
        /// Spends.
        got: usize,
    },
    /// A task is given what it may not have.
    #[error("task {task} may not be given {spend}")]
    OutOfBounds {
        /// Name of the task.
        task: String,
        /// Its spend.
        spend: f64,
    },
    /// Spend and what is unspent do not add up to the budget.
    #[error("spend {spend} and unspent {unspent} do not add up to the budget {budget}")]
    Budget {
        /// Total spend.
        spend: f64,
        /// Unspent.
        unspent: f64,
        /// The budget.
        budget: f64,
    },
    /// The value is not what the curves say.
    #[error("value {claimed} is {actual} by the curves")]
    Value {
        /// As given.
        claimed: f64,
        /// From the curves.
        actual: f64,
    },
    /// The bound is below a value that is reached.
    #[error("upper bound {upper_bound} is below the value {value}")]
    Bound {
        /// As given.
        upper_bound: f64,
        /// Reached.
        value: f64,
    },
}

/// Two sums of the same terms differ by less than this share.
pub(super) const ROUNDING: f64 = 1e-12;

/// Checks an allocation against its problem: bounds, budget, value, and the bound that its price
/// proves.
///
/// # Errors
/// The first thing that is wrong.
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
        if !is_allowed(task.bounds(), spend) {
            return Err(RecheckError::OutOfBounds { task: task.name().to_owned(), spend });
        }
    }
    let (spend, unspent, budget) =
        (sum(allocation.spend.iter().copied()), allocation.unspent, allocation.budget);
    // Lower bounds may exceed the budget by rounding; then they are what is spent.
    let excess =
        (sum(tasks.iter().map(|task| task.bounds().min)) - budget).clamp(0.0, ROUNDING * budget);
    if !((spend + unspent - budget).abs() <= 4.0 * f64::EPSILON * budget + excess && unspent >= 0.0)
    {
        return Err(RecheckError::Budget { spend, unspent, budget });
    }
    let value = sum(tasks
        .iter()
        .zip(values)
        .zip(&allocation.spend)
        .map(|((task, value), &spend)| value * task.curve().success(spend)));
    if !((value - allocation.value).abs() <= ROUNDING * value.max(allocation.value)) {
        return Err(RecheckError::Value { claimed: allocation.value, actual: value });
    }
    if !(allocation.upper_bound >= value * (1.0 - ROUNDING)) {
        return Err(RecheckError::Bound { upper_bound: allocation.upper_bound, value });
    }
    let price_bound = price_bound(problem, values, budget, allocation.price);
    let price_proves_bound = price_bound <= allocation.upper_bound * (1.0 + ROUNDING);
    Ok(Recheck { value, price_bound, price_proves_bound })
}

/// The dual function: an upper bound on the value of any split of `budget`, whatever the price.
#[must_use]
pub fn price_bound(problem: &Problem, values: &[f64], budget: f64, price: f64) -> f64 {
    let free = (budget - sum(problem.tasks().iter().map(|task| task.bounds().min))).max(0.0);
    let surplus = problem.tasks().iter().zip(values).map(|(task, &value)| {
        let bounds = task.bounds();
        let high = bounds.max.min(within_budget(bounds.min, free, budget));
        best_surplus(task.curve(), value, price, Bounds { max: high, ..bounds }).0
    });
    let total = sum(surplus.chain([price * budget]));
    total + 16.0 * f64::EPSILON * (total.abs() + price * budget)
}

fn is_allowed(bounds: Bounds, spend: f64) -> bool {
    spend.is_finite()
        && spend >= bounds.min
        && spend <= bounds.max
        && (spend == 0.0 || spend >= bounds.at_least)
}

/// The largest surplus `value F(x) - price x` over the allowed spends, and a spend that attains it.
pub(super) fn best_surplus(curve: &Curve, value: f64, price: f64, bounds: Bounds) -> (f64, f64) {
    let range = SpendRange { min: bounds.min, max: bounds.max, at_least: bounds.at_least };
    demand::best_surplus(curve, value, price, range)
}
