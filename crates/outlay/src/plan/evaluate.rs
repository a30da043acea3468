//! Evaluates a plan against the best allocation.

use super::{EQUAL_VALUES, Violation, value_of, violations};
use crate::numeric::compensated::sum;
use crate::oracle::{Allocation, AllocationError, Options, Oracle};
use crate::problem::{FEASIBILITY_TOLERANCE, Problem};

/// A plan, its value, and the best allocation to compare it with.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// The budget of the round.
    pub budget: f64,
    /// The spend of each task under the plan.
    pub plan: Vec<f64>,
    /// The total spend of the plan.
    pub total: f64,
    /// Expected reward of a round under the plan.
    pub value: f64,
    /// The violated constraints; empty if the plan is feasible.
    pub violations: Vec<Violation>,
    /// The best allocation of the budget.
    pub best: Comparison,
    /// The best allocation of the plan's own total, if that differs from the budget. `None` also if
    /// the plan spends less than the sum of all `min`.
    pub best_for_total: Option<Comparison>,
}

/// A best allocation compared with the plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The best allocation known, never worth less than a feasible plan.
    pub allocation: Allocation,
    /// Its value minus the plan's value; negative only if the plan is infeasible.
    pub lift: f64,
    /// The lift relative to the plan's value; `None` if that is zero.
    pub relative_lift: Option<f64>,
    /// The change of each task's spend.
    pub moves: Vec<f64>,
    /// Whether the plan itself is the best allocation.
    pub keeps_plan: bool,
}

/// An error of an evaluation.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The number of spends is not the number of tasks.
    #[error("plan: {got} spends for {expected} tasks")]
    SpendCount {
        /// The number of tasks of the problem.
        expected: usize,
        /// The number of spends.
        got: usize,
    },
    /// A spend is negative, NaN or infinite.
    #[error("plan: the spend of {task} must be finite and not negative, not {spend}")]
    BadSpend {
        /// Name of the task.
        task: String,
        /// The spend.
        spend: f64,
    },
    /// The plan is feasible and worth more than the upper bound on every feasible plan.
    #[error(
        "the plan is worth {value}, more than the upper bound {upper_bound} on every plan: either \
         a custom function does not have its declared shape, or this is a bug in outlay; please \
         report it with the problem file and the plan"
    )]
    BoundBeaten {
        /// The value of the plan.
        value: f64,
        /// The bound.
        upper_bound: f64,
    },
    /// The oracle returned an error.
    #[error(transparent)]
    Allocation(#[from] AllocationError),
}

/// The value of spending `plan[k]` on task `k`, and the best allocation of `budget` to compare it
/// with.
///
/// If the plan's total differs from the budget, `best_for_total` compares at the plan's total too.
///
/// # Errors
/// If the plan has the wrong length or an invalid spend, if the oracle returns an error, or if the
/// plan shows that its upper bound is wrong.
pub fn evaluate(
    problem: &Problem,
    values: &[f64],
    budget: f64,
    plan: &[f64],
    options: &Options,
) -> Result<Evaluation, PlanError> {
    require_amounts(problem, plan)?;
    let mut oracle = Oracle::new(problem);
    let best = oracle.allocate(values, budget, options)?.clone();
    let total = sum(plan.iter().copied());
    let value = value_of(problem, values, plan);
    let violations = violations(problem, budget, plan);
    let within_bounds =
        violations.iter().all(|violation| matches!(violation, Violation::OverBudget { .. }));
    let compare = |best, feasible| Comparison::new(problem, best, plan, total, value, feasible);
    let best_for_total = if (total - budget).abs() <= budget * FEASIBILITY_TOLERANCE {
        None
    } else {
        match oracle.allocate(values, total, options) {
            Ok(best) => Some(compare(best.clone(), within_bounds)?),
            Err(AllocationError::Infeasible { .. }) => None,
            Err(error) => return Err(error.into()),
        }
    };
    let best = compare(best, violations.is_empty())?;
    Ok(Evaluation { budget, plan: plan.to_vec(), total, value, violations, best, best_for_total })
}

fn require_amounts(problem: &Problem, plan: &[f64]) -> Result<(), PlanError> {
    if plan.len() != problem.tasks().len() {
        return Err(PlanError::SpendCount { expected: problem.tasks().len(), got: plan.len() });
    }
    match problem.tasks().iter().zip(plan).find(|(_, spend)| !(**spend >= 0.0 && spend.is_finite()))
    {
        Some((task, &spend)) => Err(PlanError::BadSpend { task: task.name().to_owned(), spend }),
        None => Ok(()),
    }
}

impl Comparison {
    fn new(
        problem: &Problem,
        mut allocation: Allocation,
        plan: &[f64],
        total: f64,
        value: f64,
        feasible: bool,
    ) -> Result<Self, PlanError> {
        if feasible && value > allocation.upper_bound {
            let upper_bound = allocation.upper_bound;
            return Err(PlanError::BoundBeaten { value, upper_bound });
        }
        let keeps_plan = feasible && is_at_least_as_good(&allocation, total, value);
        if keeps_plan {
            adopt(problem, &mut allocation, plan, total, value);
        }
        let lift = allocation.value - value;
        Ok(Self {
            lift,
            relative_lift: (value > 0.0).then(|| lift / value),
            moves: allocation.spend.iter().zip(plan).map(|(best, plan)| best - plan).collect(),
            keeps_plan,
            allocation,
        })
    }
}

/// Whether the plan is worth more than the search found, or as much for the same spend or less.
fn is_at_least_as_good(allocation: &Allocation, total: f64, value: f64) -> bool {
    let found_total = allocation.budget - allocation.unspent;
    value > allocation.value
        || (value >= allocation.value * (1.0 - EQUAL_VALUES)
            && total <= found_total * (1.0 + FEASIBILITY_TOLERANCE))
}

/// Replaces the allocation by the plan. Upper bound and multiplier stay those of the search.
fn adopt(problem: &Problem, allocation: &mut Allocation, plan: &[f64], total: f64, value: f64) {
    allocation.set_spend(problem, plan);
    allocation.value = value;
    allocation.unspent = (allocation.budget - total).max(0.0);
    if allocation.unspent <= allocation.budget * FEASIBILITY_TOLERANCE {
        allocation.unspent = 0.0;
        allocation.unspent_reason = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::{Status, UnspentReason};
    use crate::{Curve, ProblemSpec, TaskSpec};

    #[test]
    fn a_better_plan_replaces_the_search_result() {
        let missed = Allocation {
            budget: 8.0,
            spend: vec![2.0, 0.0],
            success: vec![1.0, 0.0],
            value: 1.0,
            upper_bound: 3.5,
            price: 0.5,
            status: Status::Limit,
            unspent: 6.0,
            unspent_reason: Some(UnspentReason::CurveFlat),
            nodes: 1,
            labels: 0,
        };
        let job = |at: f64| TaskSpec::new(at.to_string(), Curve::threshold(at).unwrap());
        let tasks = vec![job(2.0), job(6.0)];
        let problem = ProblemSpec { budget: 8.0, tasks, ..ProblemSpec::default() }.check().unwrap();
        let comparison = Comparison::new(&problem, missed, &[2.0, 6.0], 8.0, 3.0, true).unwrap();
        assert!(comparison.keeps_plan);
        let Allocation { success, value, upper_bound, unspent, unspent_reason, .. } =
            comparison.allocation;
        assert_eq!((value, upper_bound, unspent, unspent_reason), (3.0, 3.5, 0.0, None));
        assert_eq!(success, [1.0, 1.0]);
    }
}
