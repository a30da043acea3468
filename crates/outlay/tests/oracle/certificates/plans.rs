//! Plans that try to beat an upper bound: breakpoints of every task, with one task that takes all
//! that the tolerance of the budget leaves, and perturbations of the allocation found.

use outlay::plan::value_of;
use outlay::problem::{covers, is_feasible, max_total};
use outlay::{Allocation, Curve, Problem, curve::Family};

use super::edge_problems::nudged;
use crate::support::Random;

/// The most valuable feasible plan found, and its value.
pub(super) fn best_plan(
    random: &mut Random,
    problem: &Problem,
    values: &[f64],
    found: &Allocation,
) -> (f64, Vec<f64>) {
    let mut best = (f64::NEG_INFINITY, Vec::new());
    let mut offer = |plan: Vec<f64>| {
        if is_feasible(problem, found.budget, &plan) {
            let value = value_of(problem, values, &plan);
            if value > best.0 {
                best = (value, plan);
            }
        }
    };
    offer(found.spend.clone());
    let candidates: Vec<Vec<f64>> = (0..values.len())
        .map(|task| candidates(problem, task, found.budget, found.spend[task]))
        .collect();
    let count: usize = candidates.iter().map(Vec::len).product();
    let mut plan = vec![0.0; values.len()];
    for number in 0..count.min(MAX_PLANS) {
        let mut place = if count <= MAX_PLANS { number } else { random.bits() as usize % count };
        for (spend, candidates) in plan.iter_mut().zip(&candidates) {
            *spend = candidates[place % candidates.len()];
            place /= candidates.len();
        }
        offer(plan.clone());
        for filler in 0..plan.len() {
            offer(filled(&plan, filler, found.budget));
        }
    }
    for _ in 0..RANDOM_PLANS {
        let mut plan = found.spend.clone();
        for spend in &mut plan {
            *spend = nudged(random, *spend);
        }
        offer(filled(&plan, random.below(values.len()), found.budget));
        let shares: Vec<f64> = plan.iter().map(|_| -random.uniform().max(1e-12).ln()).collect();
        let total: f64 = shares.iter().sum();
        let plan: Vec<f64> = shares.iter().map(|share| share / total * found.budget).collect();
        offer(filled(&plan, random.below(values.len()), found.budget));
    }
    best
}

const MAX_PLANS: usize = 4000;
const RANDOM_PLANS: usize = 40;

/// The plan with everything that the others leave, tolerance included, on one task.
fn filled(plan: &[f64], filler: usize, budget: f64) -> Vec<f64> {
    let mut plan = plan.to_vec();
    plan[filler] = 0.0;
    let others: f64 = plan.iter().sum();
    plan[filler] = (max_total(budget) - others).max(0.0);
    for _ in 0..8 {
        if covers(budget, plan.iter().copied()) {
            break;
        }
        plan[filler] = plan[filler].next_down().max(0.0);
    }
    plan
}

/// Spends of a task at which something changes.
fn candidates(problem: &Problem, task: usize, budget: f64, found: f64) -> Vec<f64> {
    let task = &problem.tasks()[task];
    let (bounds, relaxed) = (task.bounds(), task.bounds().relaxed());
    let mut spends = vec![0.0, found, relaxed.min, relaxed.max, relaxed.at_least, bounds.max];
    spends.extend(breakpoints(task.curve()));
    spends.retain(|&spend| bounds.allows(spend) && spend <= max_total(budget));
    spends.sort_by(f64::total_cmp);
    spends.dedup();
    if spends.is_empty() { vec![bounds.min] } else { spends }
}

fn breakpoints(curve: &Curve) -> Vec<f64> {
    match curve.family() {
        Family::Threshold(family) => vec![family.at()],
        Family::Steps(family) => family.at().to_vec(),
        Family::Empirical(family) => family.at().to_vec(),
        Family::Piecewise(family) => family.spend().to_vec(),
        Family::Power(family) => vec![family.scale()],
        Family::Saturating(family) => vec![family.full_at()],
        _ => Vec::new(),
    }
}
