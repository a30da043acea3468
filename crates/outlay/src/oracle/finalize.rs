//! From the solution of a solver to the allocation: repair of rounding in the last digits, use of
//! leftovers, and the value from the curves themselves.

use super::mckp::IdenticalThresholds;
use super::prepared::PreparedProblem;
use super::tolerances::{SUM_TOLERANCE, negligible};
use super::{Allocation, Options, Outcome, UnspentReason, normal_or_zero};
use crate::curve::JUMP_TOLERANCE;
use crate::numeric::compensated::sum;
use crate::problem::Leftover;

/// Writes the allocation. `success` belongs to the solution of the first relaxation.
pub(super) fn finalize(
    prepared: &PreparedProblem,
    best: &mut [f64],
    success: &[f64],
    outcome: Outcome,
    options: &Options,
    answer: &mut Allocation,
) {
    let tasks = prepared.curves.len();
    let upper_bound = outcome.bound + prepared.constant;
    answer.budget = prepared.budget;
    let exact = |residual: f64| residual.abs() <= negligible(prepared.budget);
    if !prepared.has_steps && outcome.multiplier > 0.0 && outcome.left.is_some_and(exact) {
        // No jumps and nothing left: the relaxation's solution is final.
        answer.spend.copy_from_slice(&best[..tasks]);
        answer.success.copy_from_slice(success);
        answer.value = outcome.value + prepared.constant;
        answer.unspent = 0.0;
        answer.unspent_reason = None;
    } else {
        expand(prepared, best);
        answer.spend.copy_from_slice(&best[..tasks]);
        let residual = Repair { prepared, spend: &mut answer.spend }.run(outcome, options.leftover);
        write_success(prepared, options.leftover, answer);
        answer.value = sum(prepared
            .values
            .iter()
            .zip(&answer.success)
            .map(|(value, success)| value * success));
        answer.unspent = residual;
        answer.unspent_reason = (residual > 0.0).then(|| reason(prepared, &answer.spend));
    }
    answer.value *= prepared.value_scale;
    answer.upper_bound = (upper_bound * prepared.value_scale).max(answer.value);
    let multiplier =
        outcome.multiplier.max(sole_taker_multiplier(prepared, &answer.spend, outcome));
    answer.price = normal_or_zero(multiplier * prepared.value_scale);
    answer.nodes = outcome.nodes;
    answer.labels = outcome.labels;
    answer.status = answer.status_within(options.tolerance);
}

/// Distributes the spend of groups to their tasks.
fn expand(prepared: &PreparedProblem, best: &mut [f64]) {
    let tasks = prepared.curves.len();
    for (position, group) in prepared.identical.iter().enumerate() {
        let total = best[tasks + position];
        group.expand(total, best);
    }
}

/// Writes the success of each task at its spend, by its item if all curves are step curves and no
/// leftovers were spent.
fn write_success(prepared: &PreparedProblem, leftover: Leftover, answer: &mut Allocation) {
    let steps = prepared.steps.as_ref().filter(|_| leftover == Leftover::Keep);
    if steps.is_some_and(|steps| steps.write_success(&mut answer.success)) {
        let groups = prepared.identical.iter().flat_map(IdenticalThresholds::tasks);
        for task in groups.chain(prepared.valueless()) {
            answer.success[task] = prepared.curves[task].success(answer.spend[task]);
        }
        return;
    }
    for ((success, curve), &spend) in
        answer.success.iter_mut().zip(&prepared.curves).zip(&answer.spend)
    {
        *success = curve.success(spend);
    }
}

/// The last corrections of a solution.
struct Repair<'a> {
    prepared: &'a PreparedProblem,
    spend: &'a mut [f64],
}

impl Repair<'_> {
    /// Repairs the solution; returns the unspent budget.
    fn run(&mut self, outcome: Outcome, leftover: Leftover) -> f64 {
        let is_exact = self.prepared.steps.is_some();
        if !is_exact {
            self.trim_steps();
        }
        if !is_exact && (outcome.nodes > 1 || outcome.labels > 0) {
            self.order_identical();
        }
        let mut residual = self.residual();
        // At a positive multiplier the residual may still gain something, but not with steps only:
        // their search has tried every item that fits.
        if residual > self.negligible()
            && outcome.multiplier > 0.0
            && !self.prepared.is_steps_only()
        {
            self.spend_usefully(residual);
            residual = self.residual();
        }
        if residual > 0.0 && leftover == Leftover::Spend {
            self.spend_anywhere(residual);
            residual = self.residual();
        }
        if residual < 0.0 {
            self.reduce_overspend(-residual);
            residual = self.residual();
        }
        if residual <= self.negligible() { 0.0 } else { residual }
    }

    fn negligible(&self) -> f64 {
        negligible(self.prepared.budget)
    }

    fn residual(&self) -> f64 {
        self.prepared.budget - sum(self.spend.iter().copied())
    }

    /// Reduces spends on steps to the jumps that they reach.
    fn trim_steps(&mut self) {
        let tasks = self.spend.len();
        for domain in self.prepared.domains.iter().filter(|domain| domain.task < tasks) {
            self.spend[domain.task] = domain.trimmed(self.spend[domain.task]);
        }
    }

    /// Among tasks with equal curves, bounds and weights the lowest index gets most. Classes are
    /// ranked by weight and index, and spends are nearly in that order, so insertion sort is fast.
    fn order_identical(&mut self) {
        let prepared = self.prepared;
        let equal = |a: u32, b: u32| prepared.weights[a as usize] == prepared.weights[b as usize];
        for class in prepared.classes.iter().filter(|class| class.len() > 1) {
            for position in 1..class.len() {
                let mut place = position;
                while place > 0 && equal(class[place - 1], class[place]) {
                    let (first, second) =
                        (prepared.task(class[place - 1]), prepared.task(class[place]));
                    if self.spend[first] >= self.spend[second] {
                        break;
                    }
                    self.spend.swap(first, second);
                    place -= 1;
                }
            }
        }
    }

    /// Gives the residual to the tasks that gain most from it.
    fn spend_usefully(&mut self, mut residual: f64) {
        for _ in 0..self.spend.len() {
            let worth = |task: usize| {
                let (curve, spend) = (&self.prepared.curves[task], self.spend[task]);
                let capacity = self.capacity(task).min(curve.saturates_at() - spend).min(residual);
                let gain = if capacity > 0.0 {
                    self.prepared.values[task]
                        * (curve.success(spend + capacity) - curve.success(spend))
                } else {
                    0.0
                };
                (gain, capacity)
            };
            let mut choice = (0.0, 0.0, 0);
            for task in 0..self.spend.len() {
                let (gain, capacity) = worth(task);
                if gain > choice.0 {
                    choice = (gain, capacity, task);
                }
            }
            if !(choice.0 > 0.0 && residual > self.negligible()) {
                break;
            }
            self.give(choice.2, choice.1);
            residual -= choice.1;
        }
    }

    /// The spend that a task can still take; none for a task at zero with a larger `at_least`.
    fn capacity(&self, task: usize) -> f64 {
        let bounds = self.prepared.bounds[task];
        if self.spend[task] < bounds.at_least { 0.0 } else { bounds.max - self.spend[task] }
    }

    fn spend_anywhere(&mut self, mut residual: f64) {
        for task in 0..self.spend.len() {
            let step = self.capacity(task).min(residual);
            if step > 0.0 {
                self.give(task, step);
                residual -= step;
            }
        }
    }

    /// Increases a spend up to the maximum of the task.
    fn give(&mut self, task: usize, step: f64) {
        self.spend[task] = (self.spend[task] + step).min(self.prepared.bounds[task].max);
    }

    /// Reduces an overspend of rounding size: from smooth tasks, and from jumps as far as they stay
    /// reached.
    fn reduce_overspend(&mut self, mut over: f64) {
        for task in 0..self.spend.len() {
            if !(over > 0.0) {
                return;
            }
            let (bounds, spend) = (self.prepared.bounds[task], self.spend[task]);
            let lowest = bounds.min.max(if spend > 0.0 { bounds.at_least } else { 0.0 });
            let jumps = self.prepared.curves[task].jumps();
            let reached = crate::curve::jumps_reached(jumps, spend);
            let needed = if reached == 0 { 0.0 } else { jumps[reached - 1] * JUMP_TOLERANCE };
            let step = over.min(spend - lowest.max(needed));
            if step > 0.0 {
                self.spend[task] -= step;
                over -= step;
            }
        }
    }
}

/// If one task takes the whole residual budget, many multipliers prove the same bound. The shadow
/// price is the one of that task: the smaller one of its slope and the slope of its chord.
fn sole_taker_multiplier(prepared: &PreparedProblem, spend: &[f64], outcome: Outcome) -> f64 {
    if !outcome.is_flat || outcome.multiplier == 0.0 || prepared.residual == 0.0 {
        return 0.0;
    }
    let takes_all = |task: &usize| {
        spend[*task] - prepared.bounds[*task].min >= prepared.residual * (1.0 - SUM_TOLERANCE)
    };
    let Some(task) =
        (0..spend.len()).find(takes_all).filter(|&task| spend[task] < prepared.bounds[task].max)
    else {
        return 0.0;
    };
    let (curve, min) = (&prepared.curves[task], prepared.bounds[task].min);
    let chord = (curve.success(spend[task]) - curve.success(min)) / (spend[task] - min);
    prepared.values[task] * curve.slope(spend[task]).min(chord)
}

/// The reason for unspent budget.
fn reason(prepared: &PreparedProblem, spend: &[f64]) -> UnspentReason {
    let wants_more = |task: usize| {
        let (curve, max) = (&prepared.curves[task], prepared.bounds[task].max);
        prepared.values[task] > 0.0
            && spend[task] >= max
            && curve.saturates_at() > max
            && curve.height() > 0.0
    };
    if (0..spend.len()).any(wants_more) { UnspentReason::AtMax } else { UnspentReason::CurveFlat }
}
