//! From the solution of a solver to the allocation: given bounds and budget instead of relaxed ones,
//! repair of rounding in the last digits, use of leftovers, and the value from the curves themselves.

use super::mckp::IdenticalThresholds;
use super::prepared::PreparedProblem;
use super::tolerances::{BOUND_ROUNDING, negligible};
use super::{Allocation, AllocationError, Options, Outcome, UnspentReason};
use crate::curve::{Curve, Shape};
use crate::numeric::compensated::{Sum, sum};
use crate::problem::{Bounds, Leftover, max_total};

/// Writes the allocation. `success` belongs to the solution of the first relaxation.
///
/// # Errors
/// If the allocation is worth more than the bound by more than rounding.
pub(super) fn finalize(
    prepared: &PreparedProblem,
    best: &mut [f64],
    success: &[f64],
    outcome: Outcome,
    options: &Options,
    answer: &mut Allocation,
) -> Result<(), AllocationError> {
    let tasks = prepared.curves.len();
    answer.budget = prepared.given_budget;
    let is_final = !prepared.has_steps
        && outcome.multiplier > 0.0
        && outcome.left.is_some_and(|left| is_spent(prepared, left, &best[..tasks]))
        && are_allowed(prepared, &best[..tasks]);
    if is_final {
        // No jumps and nothing left: the relaxation's solution is final.
        answer.spend.copy_from_slice(&best[..tasks]);
        answer.success.copy_from_slice(success);
        answer.value = outcome.value + prepared.constant;
        answer.unspent = 0.0;
        answer.unspent_reason = None;
    } else {
        expand(prepared, best);
        answer.spend.copy_from_slice(&best[..tasks]);
        let scale = outcome.value + prepared.constant;
        let residual = Repair { prepared, spend: &mut answer.spend, max_cost: MAX_COST * scale }
            .run(outcome, options.leftover);
        write_success(prepared, &best[..tasks], answer);
        answer.value = sum(prepared
            .values
            .iter()
            .zip(&answer.success)
            .map(|(value, success)| value * success));
        answer.unspent = residual;
        answer.unspent_reason = (residual > 0.0).then(|| reason(prepared, &answer.spend));
    }
    answer.value *= prepared.value_scale;
    let bound = outcome.bound + prepared.constant;
    let has_underflow = prepared.has_tiny_values || bound > 0.0;
    let lost = if has_underflow { UNDERFLOW * tasks as f64 } else { 0.0 };
    let rounding = if prepared.success_rounding > 0.0 {
        prepared.success_rounding * smooth_value(prepared).min(bound)
    } else {
        0.0
    };
    let bound = (bound + lost + rounding) * prepared.value_scale;
    if answer.value > bound * (1.0 + BOUND_ROUNDING) {
        return Err(AllocationError::BoundBeaten { value: answer.value, upper_bound: bound });
    }
    answer.upper_bound = bound.max(answer.value + BOUND_ROUNDING * answer.value);
    answer.set_price(outcome.price * prepared.value_scale);
    answer.nodes = outcome.nodes;
    answer.labels = outcome.labels;
    answer.status = answer.status_within(options.tolerance);
    Ok(())
}

/// The most that the tasks whose success is not exact can be worth.
fn smooth_value(prepared: &PreparedProblem) -> f64 {
    if !prepared.has_steps {
        return f64::INFINITY;
    }
    let is_exact = |curve: &Curve| matches!(curve.shape(), Shape::Steps { .. });
    let terms = prepared.curves.iter().zip(&prepared.values);
    terms.filter(|(curve, _)| !is_exact(curve)).map(|(curve, value)| value * curve.ceiling()).sum()
}

/// A repair of the last digits may cost this share of the value.
const MAX_COST: f64 = 1e-14;
/// More than a product near the smallest positive number loses.
const UNDERFLOW: f64 = 1e-322;

/// Whether a solution spends the budget as given, where `left` is what the relaxation left. That
/// counts from its own lower bounds: relaxed ones are lower by the tolerance, which may be more than
/// is negligible.
fn is_spent(prepared: &PreparedProblem, left: f64, spend: &[f64]) -> bool {
    let is_exact = |left: f64| left.abs() <= 0.5 * negligible(prepared.given_budget);
    is_exact(left)
        && (!prepared.is_relaxed || is_exact(prepared.given_budget - sum(spend.iter().copied())))
}

/// Whether all spends are within the given bounds, not only within the relaxed ones.
fn are_allowed(prepared: &PreparedProblem, spend: &[f64]) -> bool {
    let is_allowed = |(bounds, &spend): (Bounds, &f64)| {
        spend >= bounds.min && spend <= bounds.max && (spend == 0.0 || spend >= bounds.at_least)
    };
    !prepared.is_relaxed || prepared.curves.bounds().zip(spend).all(is_allowed)
}

/// Distributes the spend of groups to their tasks.
fn expand(prepared: &PreparedProblem, best: &mut [f64]) {
    let tasks = prepared.curves.len();
    for (position, group) in prepared.identical.iter().enumerate() {
        let total = best[tasks + position];
        group.expand(total, best);
    }
}

/// Writes the success of each task at its spend: by its item if all curves are step curves and the
/// spend is still the one of the solver.
fn write_success(prepared: &PreparedProblem, solved: &[f64], answer: &mut Allocation) {
    let by_curve = |task: usize, spend: f64| prepared.curves[task].success(spend);
    let Some(steps) = &prepared.steps else {
        for (task, success) in answer.success.iter_mut().enumerate() {
            *success = by_curve(task, answer.spend[task]);
        }
        return;
    };
    steps.write_success(&mut answer.success);
    let groups = prepared.identical.iter().flat_map(IdenticalThresholds::tasks);
    for task in groups.chain(prepared.valueless()) {
        answer.success[task] = by_curve(task, answer.spend[task]);
    }
    for (task, (&spend, &solved)) in answer.spend.iter().zip(solved).enumerate() {
        if spend != solved {
            answer.success[task] = by_curve(task, spend);
        }
    }
}

/// A smaller spend of one task, and what it costs.
struct Reduction {
    task: usize,
    to: f64,
    cost: f64,
    /// The cost per unit of the overspend that it removes.
    per_unit: f64,
}

/// The last corrections of a solution.
struct Repair<'a> {
    prepared: &'a PreparedProblem,
    spend: &'a mut [f64],
    /// The largest cost of a correction that could be omitted.
    max_cost: f64,
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
        if self.prepared.is_relaxed {
            self.restore_bounds();
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
            self.reduce_excess();
            self.reduce_overspend();
            residual = self.residual();
        }
        if residual <= self.negligible() { 0.0 } else { residual }
    }

    fn negligible(&self) -> f64 {
        negligible(self.prepared.given_budget)
    }

    fn residual(&self) -> f64 {
        self.prepared.given_budget - sum(self.spend.iter().copied())
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

    /// Moves spends that only the tolerance allows to the bounds as given: up as far as the budget
    /// covers it, down where that costs nothing.
    fn restore_bounds(&mut self) {
        let limit = max_total(self.prepared.given_budget);
        if are_allowed(self.prepared, self.spend) {
            return;
        }
        let mut total: Sum = self.spend.iter().copied().collect();
        for (task, bounds) in self.prepared.curves.bounds().enumerate() {
            let spend = self.spend[task];
            let least = if spend > 0.0 { bounds.min.max(bounds.at_least) } else { bounds.min };
            let restored = spend.clamp(least, bounds.max.max(least));
            if restored == spend {
                continue;
            }
            let mut after = total;
            after.add(restored - spend);
            let is_possible = if restored > spend {
                !after.exceeds(limit)
            } else {
                self.cost(task, restored) <= self.max_cost
            };
            if is_possible {
                self.spend[task] = restored;
                total = after;
            }
        }
    }

    /// The value lost by reducing a spend.
    fn cost(&self, task: usize, to: f64) -> f64 {
        let curve = &self.prepared.curves[task];
        self.prepared.values[task] * (curve.success(self.spend[task]) - curve.success(to))
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
        let bounds = self.prepared.curves.bounds_of(task);
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
        let max = self.prepared.curves.bounds_of(task).max;
        self.spend[task] = (self.spend[task] + step).min(max.max(self.spend[task]));
    }

    /// Reduces the total to what the budget covers, tolerance included: rounding of the solvers'
    /// sums may exceed it.
    fn reduce_excess(&mut self) {
        let limit = max_total(self.prepared.given_budget);
        for _ in 0..2 * self.spend.len() {
            let total: Sum = self.spend.iter().copied().collect();
            if !total.exceeds(limit) {
                return;
            }
            let excess = total.excess_over(limit) * (1.0 + BOUND_ROUNDING);
            let Some(cheapest) = self.cheapest(excess, Bounds::relaxed) else {
                return;
            };
            self.spend[cheapest.task] = cheapest.to;
        }
    }

    /// Reduces the total to the budget where that costs nothing.
    fn reduce_overspend(&mut self) {
        for _ in 0..self.spend.len() {
            let over = -self.residual();
            if !(over > 0.0) {
                return;
            }
            let cheapest = self.cheapest(over, |bounds| bounds);
            let Some(cheapest) = cheapest.filter(|reduction| reduction.cost <= self.max_cost)
            else {
                return;
            };
            self.spend[cheapest.task] = cheapest.to;
        }
    }

    /// The reduction of one spend by at most `over` that costs least per unit.
    fn cheapest(&self, over: f64, bounds: impl Fn(Bounds) -> Bounds) -> Option<Reduction> {
        let options = (0..self.spend.len()).filter_map(|task| {
            let to = self.reduced(task, over, bounds(self.prepared.curves.bounds_of(task)));
            let step = self.spend[task] - to;
            (step > 0.0).then(|| {
                let cost = self.cost(task, to);
                Reduction { task, to, cost, per_unit: cost / step.min(over) }
            })
        });
        options.min_by(|one, other| one.per_unit.total_cmp(&other.per_unit))
    }

    /// The spend of a task after a reduction by at most `over`, or by one unit in the last place: it
    /// stays within its bounds and, if it is above its jump, at the jump.
    fn reduced(&self, task: usize, over: f64, bounds: Bounds) -> f64 {
        let spend = self.spend[task];
        let least = if spend > 0.0 { bounds.min.max(bounds.at_least) } else { bounds.min };
        let jumps = self.prepared.curves[task].jumps();
        let reached = crate::curve::jumps_reached(jumps, spend);
        let jump = reached.checked_sub(1).map_or(0.0, |last| jumps[last]);
        let needed = if spend > jump { jump } else { 0.0 };
        (spend - over).min(spend.next_down()).max(least.max(needed)).min(spend)
    }
}

/// The reason for unspent budget.
fn reason(prepared: &PreparedProblem, spend: &[f64]) -> UnspentReason {
    let wants_more = |task: usize| {
        let (curve, max) = (&prepared.curves[task], prepared.curves.bounds_of(task).max);
        prepared.values[task] > 0.0
            && spend[task] >= max
            && curve.saturates_at() > max
            && curve.height() > 0.0
    };
    if (0..spend.len()).any(wants_more) { UnspentReason::AtMax } else { UnspentReason::CurveFlat }
}
