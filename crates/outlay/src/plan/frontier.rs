//! The efficient frontier: the best value at each of several budgets.

use std::ops::ControlFlow;

use super::value_of;
use crate::numeric::compensated::sum;
use crate::oracle::{Allocation, AllocationError, Options, Oracle, UnspentReason};
use crate::problem::{Leftover, Problem};

/// `points` budgets from `from` to `to`, both included.
#[must_use]
pub fn evenly_spaced(from: f64, to: f64, points: usize) -> Vec<f64> {
    let last = points.saturating_sub(1).max(1) as f64;
    let between = |point: usize| from + (to - from) * (point as f64 / last);
    // The last budget is copied, not computed, so that it is exact.
    (0..points)
        .map(|point| if point > 0 && point + 1 == points { to } else { between(point) })
        .collect()
}

/// The best allocation at each of `budgets`, which must be nondecreasing. `each` is called with
/// every allocation and may stop the computation; then the allocations found so far are returned.
///
/// Values never decrease along the frontier. Where a search that reached its limit found less than
/// at a smaller budget, the allocation of the smaller budget is used, and the rest is spent on the
/// task that gains most.
///
/// # Errors
/// If an input is out of range or the lower bounds exceed a budget.
pub fn frontier(
    problem: &Problem,
    values: &[f64],
    budgets: &[f64],
    options: &Options,
    mut each: impl FnMut(&Allocation) -> ControlFlow<()>,
) -> Result<Vec<Allocation>, AllocationError> {
    let mut oracle = Oracle::new(problem);
    let mut points: Vec<Allocation> = Vec::with_capacity(budgets.len());
    for &budget in budgets {
        let mut point = oracle.allocate(values, budget, options)?.clone();
        if let Some(previous) = points
            .last()
            .filter(|previous| previous.budget <= budget && previous.value > point.value)
        {
            carry(problem, values, previous, &mut point, options.leftover)?;
        }
        let goes_on = each(&point);
        points.push(point);
        if goes_on.is_break() {
            break;
        }
    }
    Ok(points)
}

/// Replaces `point` by the allocation of the previous budget plus the rest on one task.
fn carry(
    problem: &Problem,
    values: &[f64],
    previous: &Allocation,
    point: &mut Allocation,
    leftover: Leftover,
) -> Result<(), AllocationError> {
    let mut spend = previous.spend.clone();
    let rest = (point.budget - sum(spend.iter().copied())).max(0.0);
    let recipient = recipient_of(problem, values, &spend, rest, leftover);
    if let Some(task) = recipient.filter(|_| rest > 0.0) {
        spend[task] += rest;
    }
    point.set_spend(problem, &spend);
    // The rest can only add; the sum of the terms may still lose the last digit.
    point.value = value_of(problem, values, &point.spend).max(previous.value);
    if point.value > point.upper_bound {
        let Allocation { value, upper_bound, .. } = *point;
        return Err(AllocationError::BoundBeaten { value, upper_bound });
    }
    point.unspent = if recipient.is_some() { 0.0 } else { rest };
    point.unspent_reason =
        (point.unspent > 0.0).then(|| point.unspent_reason.unwrap_or(UnspentReason::CurveFlat));
    Ok(())
}

/// The task that gains most from `rest`, the first of equals. `None` if no task gains and leftovers
/// are kept, or if all tasks are at their maximum.
fn recipient_of(
    problem: &Problem,
    values: &[f64],
    spend: &[f64],
    rest: f64,
    leftover: Leftover,
) -> Option<usize> {
    let mut best: Option<(usize, f64)> = None;
    for (position, task) in problem.tasks().iter().enumerate() {
        let raised = spend[position] + rest;
        if !task.bounds().allows(raised) {
            continue;
        }
        let gain = values[position]
            * task.volume()
            * (task.curve().success(raised) - task.curve().success(spend[position]));
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
    use crate::oracle::Status;
    use crate::{Curve, ProblemSpec, TaskSpec};

    fn problem(tasks: Vec<TaskSpec>) -> Problem {
        ProblemSpec { budget: 10.0, tasks, ..ProblemSpec::default() }.check().unwrap()
    }

    fn split(budget: f64, spend: &[f64], value: f64, upper_bound: f64) -> Allocation {
        Allocation {
            budget,
            spend: spend.to_vec(),
            success: vec![],
            value,
            upper_bound,
            price: 0.0,
            status: Status::Limit,
            unspent: 0.0,
            unspent_reason: None,
            nodes: 1,
            labels: 0,
        }
    }

    #[test]
    fn the_result_of_a_smaller_budget_is_used_if_it_is_better() {
        let tasks = vec![
            TaskSpec { max: Some(3.0), ..TaskSpec::new("job", Curve::threshold(3.0).unwrap()) },
            TaskSpec::new("search", Curve::saturating(10.0).unwrap()),
        ];
        let problem = problem(tasks);
        let previous = split(3.0, &[3.0, 0.0], 1.0, 1.0);
        let mut point = split(8.0, &[0.0, 8.0], 0.8, 1.6);
        carry(&problem, &[1.0, 1.0], &previous, &mut point, Leftover::Keep).unwrap();
        assert_eq!(point.spend, [3.0, 5.0]);
        assert_eq!((point.value, point.upper_bound, point.unspent), (1.5, 1.6, 0.0));
    }

    #[test]
    fn a_useless_leftover_is_kept_or_spent_as_configured() {
        let tasks = vec![
            TaskSpec {
                at_least: Some(9.0),
                ..TaskSpec::new("video", Curve::exponential(1.0).unwrap())
            },
            TaskSpec::new("job", Curve::threshold(3.0).unwrap()),
        ];
        let problem = problem(tasks);
        let previous = split(3.0, &[0.0, 3.0], 1.0, 1.0);
        let mut kept = split(5.0, &[0.0, 0.0], 0.0, 1.5);
        carry(&problem, &[1.0, 1.0], &previous, &mut kept, Leftover::Keep).unwrap();
        assert_eq!(
            (kept.spend, kept.unspent, kept.unspent_reason),
            (vec![0.0, 3.0], 2.0, Some(UnspentReason::CurveFlat))
        );
        let mut spent = split(5.0, &[0.0, 0.0], 0.0, 1.5);
        carry(&problem, &[1.0, 1.0], &previous, &mut spent, Leftover::Spend).unwrap();
        assert_eq!((spent.spend, spent.unspent, spent.unspent_reason), (vec![0.0, 5.0], 0.0, None));
    }
}
