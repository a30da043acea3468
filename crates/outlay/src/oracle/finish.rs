//! From the search's split to the answer: every unit accounted for, the value taken from the curves
//! themselves.

use super::model::Model;
use super::stack::Stack;
use super::{Allocation, Options, Outcome, Status, UnspentReason};
use crate::curve::{Family, JUMP_TOLERANCE};
use crate::numeric::compensated::sum;
use crate::problem::Leftover;

/// A gap this small is rounding.
const ROUNDING_GAP: f64 = 1e-12;
/// The spends add up to the budget within this many units in its last place.
const BUDGET_ULPS: f64 = 4.0;

/// `success` is that of the first relaxation's split.
pub(super) fn finish(
    model: &Model,
    best: &mut [f64],
    success: &[f64],
    outcome: Outcome,
    options: &Options,
    answer: &mut Allocation,
) {
    let tasks = model.curves.len();
    let upper_bound = outcome.bound + model.constant;
    answer.budget = model.budget;
    let exact = |left: f64| left.abs() <= negligible(model.budget);
    if !model.has_steps && outcome.price > 0.0 && outcome.left.is_some_and(exact) {
        // No jumps and nothing left: the relaxation's split is the answer as it stands.
        answer.spend.copy_from_slice(&best[..tasks]);
        answer.success.copy_from_slice(success);
        answer.value = outcome.value + model.constant;
        answer.unspent = 0.0;
        answer.unspent_reason = None;
    } else {
        expand(model, best);
        answer.spend.copy_from_slice(&best[..tasks]);
        let left = Settlement { model, spend: &mut answer.spend }.settle(outcome, options.leftover);
        write_success(model, options.leftover, answer);
        answer.value =
            sum(model.values.iter().zip(&answer.success).map(|(value, success)| value * success));
        answer.unspent = left;
        answer.unspent_reason = (left > 0.0).then(|| reason(model, &answer.spend));
    }
    answer.value *= model.unit;
    answer.upper_bound = (upper_bound * model.unit).max(answer.value);
    answer.price = outcome.price.max(sole_taker_price(model, &answer.spend, outcome)) * model.unit;
    answer.nodes = outcome.nodes;
    answer.states = outcome.states;
    answer.status = status(answer, options.tolerance);
}

/// What may stay unspent without being told.
pub(super) fn negligible(budget: f64) -> f64 {
    BUDGET_ULPS * f64::EPSILON * budget
}

/// What value and bound say, without dividing one by the other.
pub(super) fn status(answer: &Allocation, tolerance: f64) -> Status {
    let (open, bound) = (answer.upper_bound - answer.value, answer.upper_bound);
    if open <= ROUNDING_GAP * bound {
        Status::Optimal
    } else if open <= tolerance * bound {
        Status::WithinTolerance
    } else {
        Status::Limit
    }
}

/// Hands the stacks' spend to their tasks.
fn expand(model: &Model, best: &mut [f64]) {
    let tasks = model.curves.len();
    for (position, stack) in model.stacks.iter().enumerate() {
        let total = best[tasks + position];
        stack.expand(total, best);
    }
}

/// Each task's success at its spend. Of staircases the levels that were bought say it, unless
/// leftovers were spent on top.
fn write_success(model: &Model, leftover: Leftover, answer: &mut Allocation) {
    let stairs = model.stairs.as_ref().filter(|_| leftover == Leftover::Keep);
    if stairs.is_some_and(|stairs| stairs.write_success(&mut answer.success)) {
        for task in model.stacks.iter().flat_map(Stack::tasks) {
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
struct Settlement<'a> {
    model: &'a Model,
    spend: &'a mut [f64],
}

impl Settlement<'_> {
    /// Returns what stays unspent.
    fn settle(&mut self, outcome: Outcome, leftover: Leftover) -> f64 {
        let is_exact = self.model.stairs.is_some();
        if !is_exact {
            self.trim_steps();
        }
        if !is_exact && (outcome.nodes > 1 || outcome.states > 0) {
            self.order_equals();
        }
        let mut left = self.left();
        // Above price zero something may still be bought, but never by steps: their search has
        // tried everything that fits.
        if left > self.negligible() && outcome.price > 0.0 && !self.model.is_all_steps() {
            self.spend_usefully(left);
            left = self.left();
        }
        if left > 0.0 && leftover == Leftover::Spend {
            self.spend_anywhere(left);
            left = self.left();
        }
        if left < 0.0 {
            self.take_back(-left);
            left = self.left();
        }
        if left <= self.negligible() { 0.0 } else { left }
    }

    fn negligible(&self) -> f64 {
        negligible(self.model.budget)
    }

    fn left(&self) -> f64 {
        self.model.budget - sum(self.spend.iter().copied())
    }

    /// Steps pay for nothing beyond the jump that they reach.
    fn trim_steps(&mut self) {
        let tasks = self.spend.len();
        for coordinate in self.model.coordinates.iter().filter(|coordinate| coordinate.task < tasks)
        {
            self.spend[coordinate.task] = coordinate.trimmed(self.spend[coordinate.task]);
        }
    }

    /// Among tasks with equal curves, bounds and weights the lowest index gets most. Classes are
    /// ranked by weight and index, and spends are nearly in that order already, so insertion is the
    /// right sort.
    fn order_equals(&mut self) {
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
    fn spend_usefully(&mut self, mut left: f64) {
        for _ in 0..self.spend.len() {
            let worth = |task: usize| {
                let (curve, spend) = (&self.model.curves[task], self.spend[task]);
                let room = self.room(task).min(curve.saturates_at() - spend).min(left);
                let gain = if room > 0.0 {
                    self.model.values[task] * (curve.success(spend + room) - curve.success(spend))
                } else {
                    0.0
                };
                (gain, room)
            };
            let mut choice = (0.0, 0.0, 0);
            for task in 0..self.spend.len() {
                let (gain, room) = worth(task);
                if gain > choice.0 {
                    choice = (gain, room, task);
                }
            }
            if !(choice.0 > 0.0 && left > self.negligible()) {
                break;
            }
            self.give(choice.2, choice.1);
            left -= choice.1;
        }
    }

    /// How much more a task may be given; a task at zero that needs "at least" so much may not be
    /// given less.
    fn room(&self, task: usize) -> f64 {
        let bounds = self.model.bounds[task];
        if self.spend[task] < bounds.at_least { 0.0 } else { bounds.max - self.spend[task] }
    }

    fn spend_anywhere(&mut self, mut left: f64) {
        for task in 0..self.spend.len() {
            let step = self.room(task).min(left);
            if step > 0.0 {
                self.give(task, step);
                left -= step;
            }
        }
    }

    /// Gives a task more, but not a digit above its maximum.
    fn give(&mut self, task: usize, step: f64) {
        self.spend[task] = (self.spend[task] + step).min(self.model.bounds[task].max);
    }

    /// Takes back what rounding overspent: from smooth tasks, and from jumps no more than leaves
    /// them reached.
    fn take_back(&mut self, mut over: f64) {
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
            let needed = if reached == 0 { 0.0 } else { jumps[reached - 1] * JUMP_TOLERANCE };
            let step = over.min(spend - lowest.max(needed));
            if step > 0.0 {
                self.spend[task] -= step;
                over -= step;
            }
        }
    }
}

/// Where one task takes all that is free, many prices prove the same bound; the one that says what
/// budget is worth is that task's own: its slope, or if that is steeper than its chord, the chord.
fn sole_taker_price(model: &Model, spend: &[f64], outcome: Outcome) -> f64 {
    if !outcome.is_flat || outcome.price == 0.0 || model.free == 0.0 {
        return 0.0;
    }
    let takes_all =
        |task: &usize| spend[*task] - model.bounds[*task].min >= model.free * (1.0 - 1e-12);
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
fn reason(model: &Model, spend: &[f64]) -> UnspentReason {
    let wants_more = |task: usize| {
        let (curve, max) = (&model.curves[task], model.bounds[task].max);
        model.values[task] > 0.0
            && spend[task] >= max
            && curve.saturates_at() > max
            && curve.height() > 0.0
    };
    if (0..spend.len()).any(wants_more) { UnspentReason::AtMax } else { UnspentReason::CurveFlat }
}
