//! What other budgets would buy.

use super::value_of;
use super::violation::allows;
use crate::oracle::{Allocation, AllocationError, Options, Oracle, UnspentReason};
use crate::problem::{Leftover, Problem};
use crate::sum::sum;

/// `points` budgets from `from` to `to`, both included.
#[must_use]
pub fn evenly_spaced(from: f64, to: f64, points: usize) -> Vec<f64> {
    let last = points.saturating_sub(1).max(1) as f64;
    let between = |point: usize| from + (to - from) * (point as f64 / last);
    // The end is given, not computed: it must be what was asked for to the last digit.
    (0..points).map(|point| if point > 0 && point + 1 == points { to } else { between(point) }).collect()
}

/// The best split at each of `budgets`, which must not decrease; `each` is called with every one as it is found.
///
/// Value never falls along the way: where a search that hit its limit found less than a smaller budget brings, the
/// smaller budget's split is used, with the rest on the task that gains most from it.
///
/// # Errors
/// If an input is out of range or the lower bounds exceed a budget.
pub fn frontier(
    problem: &Problem,
    values: &[f64],
    budgets: &[f64],
    options: &Options,
    mut each: impl FnMut(&Allocation),
) -> Result<Vec<Allocation>, AllocationError> {
    let mut oracle = Oracle::new(problem);
    let mut points: Vec<Allocation> = Vec::with_capacity(budgets.len());
    for &budget in budgets {
        let mut point = oracle.allocate(values, budget, options)?.clone();
        if let Some(previous) = points.last().filter(|previous| previous.budget <= budget && previous.value > point.value) {
            carry(problem, values, previous, &mut point, options.leftover);
        }
        each(&point);
        points.push(point);
    }
    Ok(points)
}

/// Replaces `point` by what `previous` did with a smaller budget, plus the rest where it helps.
fn carry(problem: &Problem, values: &[f64], previous: &Allocation, point: &mut Allocation, leftover: Leftover) {
    point.spend.clone_from(&previous.spend);
    let rest = (point.budget - sum(point.spend.iter().copied())).max(0.0);
    let recipient = recipient_of(problem, values, &point.spend, rest, leftover);
    if let Some(task) = recipient.filter(|_| rest > 0.0) {
        point.spend[task] += rest;
    }
    // The rest can only add; the sum of the terms may still lose the last digit.
    point.value = value_of(problem, values, &point.spend).max(previous.value);
    point.upper_bound = point.upper_bound.max(point.value);
    point.unspent = if recipient.is_some() { 0.0 } else { rest };
    point.unspent_reason = (point.unspent > 0.0).then(|| point.unspent_reason.unwrap_or(UnspentReason::CurveFlat));
}

/// The task that gains most from `rest`, the first of equals; none if none gains and leftovers are kept, or none has room.
fn recipient_of(problem: &Problem, values: &[f64], spend: &[f64], rest: f64, leftover: Leftover) -> Option<usize> {
    let mut best: Option<(usize, f64)> = None;
    for (position, task) in problem.tasks().iter().enumerate() {
        let raised = spend[position] + rest;
        if !allows(task.bounds(), raised) {
            continue;
        }
        let gain = values[position] * (task.curve().success(raised) - task.curve().success(spend[position]));
        let helps = gain > 0.0 || leftover == Leftover::Spend;
        if helps && best.is_none_or(|(_, largest)| gain > largest) {
            best = Some((position, gain));
        }
    }
    best.map(|(position, _)| position)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_meet_both_ends() {
        assert_eq!(evenly_spaced(1.0, 3.0, 5), [1.0, 1.5, 2.0, 2.5, 3.0]);
        assert_eq!(evenly_spaced(0.1, 0.7, 4).last(), Some(&0.7));
        assert_eq!(evenly_spaced(2.0, 2.0, 1), [2.0]);
        assert_eq!(evenly_spaced(2.0, 3.0, 0), [0.0; 0]);
    }
}
