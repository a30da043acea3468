//! A proof of the upper bound that shares no code with the search.
//!
//! If curves are not concave, the dual bound leaves a gap. Cutting the domain of one task in two
//! and bounding each part with its own multiplier closes it. This module does so from the curves
//! alone, by bisection. It is slow, simple and independent.

use super::Allocation;
use super::certificate::{best_surplus, relaxed_bounds, relaxed_residual};
use super::prepared::max_spend;
use super::tolerances::{BOUND_ROUNDING, SUM_TOLERANCE, curve_rounding};
use crate::numeric::compensated::{Sum, sum};
use crate::problem::{Bounds, Problem, Task, max_total};

/// The result of a proof attempt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proof {
    /// An upper bound on the value of every feasible allocation.
    pub bound: f64,
    /// Whether it proves the allocation's `upper_bound`, up to rounding.
    pub is_complete: bool,
    /// The number of parts into which the domain was cut.
    pub parts: u64,
}

/// A part of the domain: the bounds of every task, the dual bound, and where to cut next.
#[derive(Debug, Clone)]
struct Part {
    bounds: Vec<Bounds>,
    bound: f64,
    cut: Option<(usize, f64)>,
}

/// Bisections of the multiplier's logarithm: enough for the whole range of multipliers.
const MULTIPLIER_BISECTIONS: usize = 90;

/// Proves the allocation's `upper_bound` from the curves alone, cutting the domain into at most
/// `max_parts` parts.
///
/// The result is a true bound whether or not the proof is complete. It costs about a hundred passes
/// over all tasks per part.
///
/// ```
/// use outlay::{Curve, Options, Oracle, ProblemSpec, TaskSpec, oracle::prove};
/// let tasks = vec![
///     TaskSpec::new("a", Curve::hill(0.4, 3.0)?),
///     TaskSpec::new("b", Curve::hill(0.5, 4.0)?),
/// ];
/// let problem = ProblemSpec { tasks, ..ProblemSpec::default() }.check()?;
/// let mut oracle = Oracle::new(&problem);
/// let best = oracle.allocate(&[0.6, 0.7], 1.0, &Options::default())?;
/// assert!(prove(&problem, &[0.6, 0.7], best, 1000).is_complete);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn prove(problem: &Problem, values: &[f64], allocation: &Allocation, max_parts: u64) -> Proof {
    let values = &problem.weights(values);
    let budget = allocation.budget;
    let mut whole = relaxed_bounds(problem);
    let residual = relaxed_residual(budget, &whole);
    for bounds in &mut whole {
        bounds.max = bounds.max.min(max_spend(bounds.min, residual));
    }
    let enough = allocation.upper_bound * (1.0 + SUM_TOLERANCE);
    let mut parts = 1;
    let mut open = vec![bound_part(problem, values, budget, whole)];
    let mut closed = f64::NEG_INFINITY;
    // Depth first: it needs little memory, and the order does not matter for a proof.
    while let Some(part) = open.pop() {
        let Some((task, at)) = part.cut.filter(|_| part.bound > enough && parts < max_parts) else {
            closed = closed.max(part.bound);
            continue;
        };
        for bounds in halves(part.bounds[task], at) {
            let mut half = part.bounds.clone();
            half[task] = bounds;
            let min_total: Sum = half.iter().map(|bounds| bounds.min).collect();
            if !min_total.exceeds(max_total(budget)) {
                let mut half = bound_part(problem, values, budget, half);
                half.bound = half.bound.min(part.bound);
                open.push(half);
            }
            parts += 1;
        }
    }
    let bound = closed.max(0.0);
    Proof { bound, is_complete: bound <= enough, parts }
}

/// The two sides of a cut: at most, and at least, `at`.
fn halves(bounds: Bounds, at: f64) -> [Bounds; 2] {
    if bounds.min == 0.0 && bounds.at_least > 0.0 {
        return [
            Bounds { max: 0.0, ..bounds },
            Bounds { min: bounds.at_least, at_least: 0.0, ..bounds },
        ];
    }
    [Bounds { max: at, ..bounds }, Bounds { min: at, ..bounds }]
}

/// The best multiplier for a part, its bound, and the task with the largest jump of demand.
fn bound_part(problem: &Problem, values: &[f64], budget: f64, bounds: Vec<Bounds>) -> Part {
    let tasks = problem.tasks();
    let residual = relaxed_residual(budget, &bounds);
    let rounding = BOUND_ROUNDING + curve_rounding(tasks.iter().map(Task::curve));
    let demand = |multiplier: f64, task: usize| {
        best_surplus(tasks[task].curve(), values[task], multiplier, bounds[task])
    };
    let total = |multiplier: f64| {
        let mut above = 0.0;
        let surplus = sum((0..tasks.len()).map(|task| {
            let (surplus, demand) = demand(multiplier, task);
            above += demand - bounds[task].min;
            surplus
        }));
        let bound = surplus + multiplier * residual;
        (bound + rounding * (bound.abs() + multiplier * residual), above)
    };
    // The multiplier is bracketed by the total value per budget, within 45 units of the logarithm.
    let value_sum = values.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let (mut low, mut high) = ((value_sum / budget).ln() - 45.0, (value_sum / budget).ln() + 45.0);
    let (mut best, _) = total(0.0);
    for _ in 0..MULTIPLIER_BISECTIONS {
        let middle = 0.5 * (low + high);
        let (bound, above) = total(middle.exp());
        best = best.min(bound);
        if above > residual {
            low = middle;
        } else {
            high = middle;
        }
    }
    let jump = |task: usize| (demand(low.exp(), task).1, demand(high.exp(), task).1);
    let cut = (0..tasks.len())
        .map(|task| (task, jump(task)))
        .max_by(|a, b| (a.1.0 - a.1.1).total_cmp(&(b.1.0 - b.1.1)));
    let cut = cut
        .filter(|(_, (more, less))| more - less > 1e-12 * budget)
        .map(|(task, (more, less))| (task, 0.5 * (more + less)));
    Part { bounds, bound: best, cut }
}
