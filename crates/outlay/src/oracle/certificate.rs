//! Checking an answer without trusting the search: from the multiplier and the curves alone.
//!
//! For every multiplier `p >= 0`, budget times `p` plus each task's best surplus `value F(x) - p x` is
//! at least the value of any split. That takes one line per task and no search, and it is how
//! anybody can check `upper_bound` of a concave problem, or how far a search had to lower it
//! otherwise.

use super::Allocation;
use super::prepared::max_spend;
use crate::curve::{Curve, Family};
use crate::problem::{Bounds, Problem};
use crate::sum::sum;

/// What a recheck found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recheck {
    /// The split's value, from the curves.
    pub value: f64,
    /// What the multiplier alone proves: no split is worth more.
    pub dual_bound: f64,
    /// Whether the multiplier alone already proves the allocation's `upper_bound` (up to rounding). If
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
pub(super) const RECHECK_TOLERANCE: f64 = 1e-12;

/// Checks an allocation against its problem: bounds, budget, value, and the bound that its multiplier
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
    let excess = (sum(tasks.iter().map(|task| task.bounds().min)) - budget)
        .clamp(0.0, RECHECK_TOLERANCE * budget);
    if !((spend + unspent - budget).abs() <= 4.0 * f64::EPSILON * budget + excess && unspent >= 0.0)
    {
        return Err(RecheckError::Budget { spend, unspent, budget });
    }
    let value = sum(tasks
        .iter()
        .zip(values)
        .zip(&allocation.spend)
        .map(|((task, value), &spend)| value * task.curve().success(spend)));
    if !((value - allocation.value).abs() <= RECHECK_TOLERANCE * value.max(allocation.value)) {
        return Err(RecheckError::Value { claimed: allocation.value, actual: value });
    }
    if !(allocation.upper_bound >= value * (1.0 - RECHECK_TOLERANCE)) {
        return Err(RecheckError::Bound { upper_bound: allocation.upper_bound, value });
    }
    let dual_bound = dual_bound(problem, values, budget, allocation.price);
    let price_proves_bound = dual_bound <= allocation.upper_bound * (1.0 + RECHECK_TOLERANCE);
    Ok(Recheck { value, dual_bound, price_proves_bound })
}

/// The dual function: an upper bound on the value of any split of `budget`, whatever the multiplier.
#[must_use]
pub fn dual_bound(problem: &Problem, values: &[f64], budget: f64, price: f64) -> f64 {
    let residual = (budget - sum(problem.tasks().iter().map(|task| task.bounds().min))).max(0.0);
    let surplus = problem.tasks().iter().zip(values).map(|(task, &value)| {
        let bounds = task.bounds();
        let high = bounds.max.min(max_spend(bounds.min, residual, budget));
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

/// The most of `value F(x) - multiplier x` over the allowed spends, and where: at an end, at a vertex or
/// jump, or where the slope is the multiplier.
pub(super) fn best_surplus(curve: &Curve, value: f64, price: f64, bounds: Bounds) -> (f64, f64) {
    let from = if bounds.min == 0.0 { bounds.at_least } else { bounds.min };
    let surplus = |spend: f64| value * curve.success(spend) - price * spend;
    let mut best = if bounds.min == 0.0 { (surplus(0.0), 0.0) } else { (f64::NEG_INFINITY, from) };
    if from > bounds.max {
        return best;
    }
    let mut consider = |spend: f64| {
        let spend = spend.clamp(from, bounds.max);
        let reached = surplus(spend);
        if reached > best.0 {
            best = (reached, spend);
        }
    };
    consider(from);
    consider(bounds.max);
    let slope = price / (value * curve.height());
    let smooth = |at_slope: &dyn Fn(f64) -> (f64, f64)| {
        if slope > 0.0 && slope.is_finite() { at_slope(slope).0 } else { from }
    };
    match curve.family() {
        Family::Power(power) => {
            consider(power.scale());
            if power.exponent() < 1.0 {
                consider(smooth(&|slope| power.at_slope(slope)));
            }
        }
        Family::Saturating(saturating) => consider(saturating.full_at()),
        Family::Exponential(exponential) => consider(smooth(&|slope| exponential.at_slope(slope))),
        Family::Hill(hill) => consider(smooth(&|slope| hill.at_slope(slope))),
        Family::Logistic(logistic) => consider(smooth(&|slope| logistic.at_slope(slope))),
        Family::Threshold(threshold) => threshold.jumps().iter().copied().for_each(consider),
        Family::Steps(steps) => steps.at().iter().copied().for_each(consider),
        Family::Empirical(empirical) => empirical.at().iter().copied().for_each(consider),
        Family::Piecewise(piecewise) => piecewise.spend().iter().copied().for_each(consider),
        Family::Custom(_) => {
            let bound = bounded_surplus(curve, value, price, from, bounds.max);
            best.0 = best.0.max(bound);
        }
    }
    best
}

/// An upper bound on the surplus of a function known only to be nondecreasing: the cell that
/// promises most is halved until it promises no more than what is reached, or this often.
fn bounded_surplus(curve: &Curve, value: f64, price: f64, from: f64, to: f64) -> f64 {
    const HALVINGS: usize = 20_000;
    let cell_bound = |from: f64, to_success: f64| value * to_success - price * from;
    let mut cells = std::collections::BinaryHeap::new();
    let mut reached = cell_bound(from, curve.success(from)).max(cell_bound(to, curve.success(to)));
    cells.push((Ordered(cell_bound(from, curve.success(to))), Ordered(from), Ordered(to)));
    for _ in 0..HALVINGS {
        let Some(&(Ordered(bound), Ordered(left), Ordered(right))) = cells.peek() else { break };
        let middle = left + 0.5 * (right - left);
        if bound <= reached + 1e-12 * reached.abs() || middle <= left || middle >= right {
            break;
        }
        cells.pop();
        reached = reached.max(cell_bound(middle, curve.success(middle)));
        cells.push((
            Ordered(cell_bound(left, curve.success(middle))),
            Ordered(left),
            Ordered(middle),
        ));
        cells.push((
            Ordered(cell_bound(middle, curve.success(right))),
            Ordered(middle),
            Ordered(right),
        ));
    }
    cells.peek().map_or(reached, |cell| cell.0.0.max(reached))
}

/// A number with the total order, for the heap.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Ordered(f64);

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}
