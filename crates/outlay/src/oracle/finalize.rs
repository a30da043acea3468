//! From the search's split to the answer: every unit accounted for, the value taken from the curves
//! themselves.

use super::mckp::IdenticalThresholds;
use super::prepared::PreparedProblem;
use super::tolerances::{SUM_TOLERANCE, negligible};
use super::{Allocation, Options, Outcome, UnspentReason};
use crate::curve::{Family, REACH};
use crate::problem::Leftover;
use crate::sum::sum;

/// `success` is that of the first relaxation's split.
pub(super) fn finalize(
    model: &PreparedProblem,
    best: &mut [f64],
    success: &[f64],
    outcome: Outcome,
    options: &Options,
    answer: &mut Allocation,
) {
    let tasks = model.curves.len();
    let upper_bound = outcome.bound + model.constant;
    answer.budget = model.budget;
    let exact = |residual: f64| residual.abs() <= negligible(model.budget);
    if !model.has_steps && outcome.multiplier > 0.0 && outcome.left.is_some_and(exact) {
        // No jumps and nothing left: the relaxation's split is the answer as it stands.
        answer.spend.copy_from_slice(&best[..tasks]);
        answer.success.copy_from_slice(success);
        answer.value = outcome.value + model.constant;
        answer.unspent = 0.0;
        answer.unspent_reason = None;
    } else {
        expand(model, best);
        answer.spend.copy_from_slice(&best[..tasks]);
        let residual = Repair { model, spend: &mut answer.spend }.run(outcome, options.leftover);
        write_success(model, options.leftover, answer);
        answer.value =
            sum(model.values.iter().zip(&answer.success).map(|(value, success)| value * success));
        answer.unspent = residual;
        answer.unspent_reason = (residual > 0.0).then(|| reason(model, &answer.spend));
    }
    answer.value *= model.value_scale;
    answer.upper_bound = (upper_bound * model.value_scale).max(answer.value);
    answer.price = outcome.multiplier.max(sole_taker_multiplier(model, &answer.spend, outcome))
        * model.value_scale;
    answer.nodes = outcome.nodes;
    answer.labels = outcome.labels;
    answer.status = answer.status_within(options.tolerance);
}

/// Hands the identical' spend to their tasks.
fn expand(model: &PreparedProblem, best: &mut [f64]) {
    let tasks = model.curves.len();
    for (position, group) in model.identical.iter().enumerate() {
        let total = best[tasks + position];
        group.expand(total, best);
    }
}

/// Each task's success at its spend. Of step curves the items that were bought say it, unless
/// leftovers were spent on top.
fn write_success(model: &PreparedProblem, leftover: Leftover, answer: &mut Allocation) {
    let steps = model.steps.as_ref().filter(|_| leftover == Leftover::Keep);
    if steps.is_some_and(|steps| steps.write_success(&mut answer.success)) {
        for task in model.identical.iter().flat_map(IdenticalThresholds::tasks) {
            answer.success[task] = model.curves[task].success(answer.spend[task]);
        }
        return;
    }
    for ((success, curve), &spend) in
        answer.success.iter_mut().zip(&model.curves).zip(&answer.spend)
    {
        *success = curve.success(spend);
    }
}

/// The last corrections to a split.
struct Repair<'a> {
    model: &'a PreparedProblem,
    spend: &'a mut [f64],
}

impl Repair<'_> {
    /// Returns what stays unspent.
    fn run(&mut self, outcome: Outcome, leftover: Leftover) -> f64 {
        let is_exact = self.model.steps.is_some();
        if !is_exact {
            self.trim_steps();
        }
        if !is_exact && (outcome.nodes > 1 || outcome.labels > 0) {
            self.order_identical();
        }
        let mut residual = self.residual();
        // Above multiplier zero something may still be bought, but never by steps: their search has
        // tried everything that fits.
        if residual > self.negligible() && outcome.multiplier > 0.0 && !self.model.is_steps_only() {
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
        negligible(self.model.budget)
    }

    fn residual(&self) -> f64 {
        self.model.budget - sum(self.spend.iter().copied())
    }

    /// Steps pay for nothing beyond the jump that they reach.
    fn trim_steps(&mut self) {
        let tasks = self.spend.len();
        for domain in self.model.domains.iter().filter(|domain| domain.task < tasks) {
            self.spend[domain.task] = domain.trimmed(self.spend[domain.task]);
        }
    }

    /// Among tasks with equal curves, bounds and weights the lowest index gets most. Classes are
    /// ranked by weight and index, and spends are nearly in that order already, so insertion is the
    /// right sort.
    fn order_identical(&mut self) {
        let model = self.model;
        let equal = |a: u32, b: u32| model.weights[a as usize] == model.weights[b as usize];
        for class in model.classes.iter().filter(|class| class.len() > 1) {
            for position in 1..class.len() {
                let mut place = position;
                while place > 0 && equal(class[place - 1], class[place]) {
                    let (first, second) = (model.task(class[place - 1]), model.task(class[place]));
                    if self.spend[first] >= self.spend[second] {
                        break;
                    }
                    self.spend.swap(first, second);
                    place -= 1;
                }
            }
        }
    }

    /// Gives what is left to the tasks that gain most from it.
    fn spend_usefully(&mut self, mut residual: f64) {
        for _ in 0..self.spend.len() {
            let worth = |task: usize| {
                let (curve, spend) = (&self.model.curves[task], self.spend[task]);
                let capacity = self.capacity(task).min(curve.saturates_at() - spend).min(residual);
                let gain = if capacity > 0.0 {
                    self.model.values[task]
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

    /// How much more a task may be given; a task at zero that needs "at least" so much may not be
    /// given less.
    fn capacity(&self, task: usize) -> f64 {
        let bounds = self.model.bounds[task];
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

    /// Gives a task more, but not a digit above its maximum.
    fn give(&mut self, task: usize, step: f64) {
        self.spend[task] = (self.spend[task] + step).min(self.model.bounds[task].max);
    }

    /// Takes back what rounding overspent: from smooth tasks, and from jumps no more than leaves
    /// them reached.
    fn reduce_overspend(&mut self, mut over: f64) {
        for task in 0..self.spend.len() {
            if !(over > 0.0) {
                return;
            }
            let (bounds, spend) = (self.model.bounds[task], self.spend[task]);
            let lowest = bounds.min.max(if spend > 0.0 { bounds.at_least } else { 0.0 });
            let jumps = match self.model.curves[task].family() {
                Family::Threshold(threshold) => threshold.jumps(),
                Family::Steps(steps) => steps.at(),
                Family::Empirical(empirical) => empirical.at(),
                _ => &[],
            };
            let reached = crate::curve::jumps_reached(jumps, spend);
            let needed = if reached == 0 { 0.0 } else { jumps[reached - 1] * REACH };
            let step = over.min(spend - lowest.max(needed));
            if step > 0.0 {
                self.spend[task] -= step;
                over -= step;
            }
        }
    }
}

/// Where one task takes all that is free, many multipliers prove the same bound; the one that says
/// what budget is worth is that task's own: its slope, or if that is steeper than its chord, the
/// chord.
fn sole_taker_multiplier(model: &PreparedProblem, spend: &[f64], outcome: Outcome) -> f64 {
    if !outcome.is_flat || outcome.multiplier == 0.0 || model.residual == 0.0 {
        return 0.0;
    }
    let takes_all = |task: &usize| {
        spend[*task] - model.bounds[*task].min >= model.residual * (1.0 - SUM_TOLERANCE)
    };
    let Some(task) =
        (0..spend.len()).find(takes_all).filter(|&task| spend[task] < model.bounds[task].max)
    else {
        return 0.0;
    };
    let (curve, min) = (&model.curves[task], model.bounds[task].min);
    let chord = (curve.success(spend[task]) - curve.success(min)) / (spend[task] - min);
    model.values[task] * curve.slope(spend[task]).min(chord)
}

/// Whether the rest is unspent because tasks are at their `max`, or because no curve rises any
/// more.
fn reason(model: &PreparedProblem, spend: &[f64]) -> UnspentReason {
    let wants_more = |task: usize| {
        let (curve, max) = (&model.curves[task], model.bounds[task].max);
        model.values[task] > 0.0
            && spend[task] >= max
            && curve.saturates_at() > max
            && curve.height() > 0.0
    };
    if (0..spend.len()).any(wants_more) { UnspentReason::AtMax } else { UnspentReason::CurveFlat }
}
