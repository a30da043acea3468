//! Rounds an allocation to multiples of a unit: cents, seats, machine-minutes.
//!
//! It starts with the largest-remainder method and moves single units to where they gain most, from
//! where they cost least, as long as the value increases. With diminishing returns that is the best
//! plan in whole units. Otherwise there are two more steps: the same from the best allocation of the
//! problem whose jumps and bounds are moved to the next unit, and a search for a better plan at the
//! margin (`knapsack`). The cost of rounding is reported, with a bound on what is possible.

use super::knapsack::{self, Choice};
use super::task_queue::TaskQueue;
use super::{BindingBound, value_of};
use crate::curve::{Curve, Family, Shape};
use crate::oracle::{Allocation, Options, Oracle};
use crate::problem::{Bounds, FEASIBILITY_TOLERANCE, Leftover, Problem, Task};
use crate::text::listed;

/// The largest number of moves; a count, so that results do not depend on the machine.
const MAX_MOVES: usize = 1_000_000;

/// The largest number of units in a budget; beyond it floating point cannot count them.
const MAX_UNITS: f64 = (1_u64 << 50) as f64;

/// Relative gains below this are rounding error.
const NOISE: f64 = 1e-13;

/// The largest number of choices of the search at the margin, and of users' functions, which may be
/// slow.
const MAX_CHOICES: i64 = 2_000_000;
const MAX_CUSTOM_CHOICES: i64 = 20_000;

/// An allocation in multiples of a unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Rounded {
    /// The unit.
    pub unit: f64,
    /// The spend of each task.
    pub spend: Vec<f64>,
    /// Its value.
    pub value: f64,
    /// The value before rounding.
    pub value_before: f64,
    /// No plan in multiples of the unit is worth more. It equals `value` if this plan is the best.
    pub upper_bound: f64,
    /// The unspent budget, including the fraction below one unit.
    pub unspent: f64,
    /// The bounds that are not multiples of the unit, by task.
    pub moved_bounds: Vec<MovedBound>,
}

/// A bound that is not a multiple of the unit: `min` and `at_least` are rounded up, `max` down.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MovedBound {
    /// Position of the task.
    pub task: usize,
    /// The bound.
    pub bound: BindingBound,
    /// The bound of the problem.
    pub given: f64,
    /// The multiple of the unit in its place.
    pub used: f64,
}

impl Rounded {
    /// The value lost by rounding.
    #[must_use]
    pub fn loss(&self) -> f64 {
        self.value_before - self.value
    }

    /// The part of the loss that another plan in multiples of the unit might avoid; zero if this
    /// plan is the best.
    #[must_use]
    pub fn avoidable_loss(&self) -> f64 {
        self.upper_bound - self.value
    }
}

/// An error of rounding.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RoundingError {
    /// The unit is not positive and finite.
    #[error("unit: must be positive and finite, not {0}")]
    BadUnit(f64),
    /// The budget has more units than floating point can count.
    #[error("unit: too small, a budget of {budget} has more than 2^50 of them")]
    TooSmall {
        /// The unit.
        unit: f64,
        /// The budget.
        budget: f64,
    },
    /// No multiple of the unit is within a task's bounds.
    #[error("{task}: no multiple of {unit} lies between its min {min} and its max {max}")]
    NoMultiple {
        /// Name of the task.
        task: String,
        /// The unit.
        unit: f64,
        /// Its lower bound.
        min: f64,
        /// Its upper bound.
        max: f64,
    },
    /// The lower bounds, rounded up, exceed the budget, rounded down.
    #[error(
        "in multiples of {unit}, min adds up to {needed}, more than the budget {budget}: \
         {largest_lower_bounds}"
    )]
    Infeasible {
        /// The unit.
        unit: f64,
        /// Sum of the lower bounds.
        needed: f64,
        /// The budget.
        budget: f64,
        /// The largest lower bounds as `name amount`, then the number of the others.
        largest_lower_bounds: String,
    },
}

/// Rounds `allocation` to multiples of `unit` that add up to its budget, or to the last whole unit
/// below it. Bounds are rounded inwards. An allocation that leaves budget unspent is rounded up
/// where that helps and leaves the rest.
///
/// The plan is the best in multiples of the unit, unless `upper_bound` exceeds its value.
///
/// # Errors
/// If `unit` is not positive or too small for the budget, or if no multiple of it satisfies the
/// bounds.
pub fn round(
    problem: &Problem,
    values: &[f64],
    allocation: &Allocation,
    unit: f64,
) -> Result<Rounded, RoundingError> {
    let budget = allocation.budget;
    let unit = Unit::new(unit, budget)?;
    let spends_all = allocation.unspent <= budget * FEASIBILITY_TOLERANCE;
    let mut units = Units::new(problem, values, &allocation.spend, unit, budget)?;
    let has_converged = units.settle(&allocation.spend, spends_all);
    let mut upper_bound = Some(allocation.upper_bound);
    if units.has_diminishing_returns() {
        upper_bound = upper_bound.filter(|_| !has_converged);
    } else {
        units.restart_from_grid(spends_all);
        upper_bound = units.improve_at_margin(&allocation.spend, spends_all, upper_bound);
    }
    let spend = units.spend();
    let total = unit.amount(units.counts.iter().sum());
    let value = value_of(problem, values, &spend);
    Ok(Rounded {
        unit: unit.size,
        value,
        value_before: allocation.value,
        upper_bound: upper_bound.map_or(value, |bound| bound.max(value)),
        spend,
        unspent: (budget - total).max(0.0),
        moved_bounds: moved_bounds(problem, unit),
    })
}

/// The bounds that are not multiples of the unit.
fn moved_bounds(problem: &Problem, unit: Unit) -> Vec<MovedBound> {
    let bounds_of = |(task, bounds): (usize, Bounds)| {
        let moved = |bound, given: f64, count: i64| {
            let is_moved = given.is_finite() && unit.count(given).fract() != 0.0;
            is_moved.then(|| MovedBound { task, bound, given, used: unit.amount(count) })
        };
        [
            moved(BindingBound::Min, bounds.min, unit.ceil(bounds.min)),
            moved(BindingBound::AtLeast, bounds.at_least, unit.ceil(bounds.at_least)),
            moved(BindingBound::Max, bounds.max, unit.floor(bounds.max)),
        ]
    };
    let tasks = problem.tasks().iter().map(Task::bounds).enumerate();
    tasks.flat_map(bounds_of).flatten().collect()
}

/// The unit, with amounts that are the nearest floating-point number to the decimal meant: 7 cents
/// are 7/100, not 7 * 0.01.
#[derive(Debug, Clone, Copy)]
struct Unit {
    size: f64,
    per_one: Option<f64>,
}

impl Unit {
    fn new(size: f64, budget: f64) -> Result<Self, RoundingError> {
        if !(size > 0.0 && size.is_finite()) {
            return Err(RoundingError::BadUnit(size));
        }
        if budget / size > MAX_UNITS {
            return Err(RoundingError::TooSmall { unit: size, budget });
        }
        let per_one = (1.0 / size).round();
        Ok(Self { size, per_one: (per_one >= 2.0 && 1.0 / per_one == size).then_some(per_one) })
    }

    fn amount(self, count: i64) -> f64 {
        self.per_one.map_or_else(|| count as f64 * self.size, |per_one| count as f64 / per_one)
    }

    /// The amount in units, tolerant of rounding error in the last digits.
    fn count(self, amount: f64) -> f64 {
        let count = self.per_one.map_or_else(|| amount / self.size, |per_one| amount * per_one);
        let whole = count.round();
        let is_whole = (count - whole).abs() <= (whole * FEASIBILITY_TOLERANCE).min(0.25);
        if is_whole { whole } else { count }
    }

    fn floor(self, amount: f64) -> i64 {
        // Without a bound the amount is infinite; the task can then use the whole budget.
        self.count(amount).floor().min(2.0 * MAX_UNITS) as i64
    }

    fn ceil(self, amount: f64) -> i64 {
        self.count(amount).ceil().min(2.0 * MAX_UNITS) as i64
    }
}

/// A task's bounds in units, rounded inwards.
#[derive(Debug, Clone, Copy)]
struct Range {
    least: i64,
    most: i64,
    /// The smallest positive count.
    first: i64,
}

impl Range {
    fn new(bounds: Bounds, unit: Unit) -> Option<Self> {
        let (least, most) = (unit.ceil(bounds.min), unit.floor(bounds.max));
        let first = unit.ceil(bounds.at_least).max(least).max(1);
        let most = if first > most { 0 } else { most };
        (least <= most).then_some(Self { least, most, first })
    }

    fn allows(self, count: i64) -> bool {
        self.least <= count && count <= self.most && (count == 0 || count >= self.first)
    }

    /// The nearest allowed count: clamped to the bounds, or up to the smallest positive count.
    fn nearest(self, count: i64, is_something: bool) -> i64 {
        let within = count.clamp(self.least, self.most);
        if self.allows(within) {
            within
        } else if is_something && self.first <= self.most {
            self.first
        } else {
            0
        }
    }
}

/// The allocation in units during rounding.
#[derive(Clone)]
struct Units<'a> {
    problem: &'a Problem,
    values: &'a [f64],
    unit: Unit,
    ranges: Vec<Range>,
    counts: Vec<i64>,
    /// The unassigned units; negative while the assigned units exceed the budget.
    spare: i64,
}

impl<'a> Units<'a> {
    /// Every spend rounded down, then into its bounds.
    fn new(
        problem: &'a Problem,
        values: &'a [f64],
        spend: &[f64],
        unit: Unit,
        budget: f64,
    ) -> Result<Self, RoundingError> {
        let mut ranges = Vec::with_capacity(spend.len());
        for task in problem.tasks() {
            let bounds = task.bounds();
            ranges.push(Range::new(bounds, unit).ok_or_else(|| RoundingError::NoMultiple {
                task: task.name().to_owned(),
                unit: unit.size,
                min: bounds.min,
                max: bounds.max,
            })?);
        }
        let available = unit.floor(budget);
        if ranges.iter().map(|range| range.least).sum::<i64>() > available {
            return Err(infeasible(problem, &ranges, unit, budget));
        }
        let counts: Vec<i64> = ranges
            .iter()
            .zip(spend)
            .map(|(range, &spend)| range.nearest(unit.floor(spend), spend > 0.0))
            .collect();
        let spare = available - counts.iter().sum::<i64>();
        Ok(Self { problem, values, unit, ranges, counts, spare })
    }

    fn spend(&self) -> Vec<f64> {
        self.counts.iter().map(|&count| self.unit.amount(count)).collect()
    }

    fn value(&self) -> f64 {
        value_of(self.problem, self.values, &self.spend())
    }

    /// All units: those of the tasks and the spare ones.
    fn available(&self) -> i64 {
        self.spare + self.counts.iter().sum::<i64>()
    }

    /// Makes the counts of the rounded `spend` feasible and improves them by single units. Returns
    /// whether no single unit can be moved any more.
    fn settle(&mut self, spend: &[f64], spends_all: bool) -> bool {
        self.repay();
        if spends_all {
            self.give_by_remainder(spend);
        }
        self.improve()
    }

    /// Whether every further unit of a task gains less, so that a plan is the best if no single unit
    /// can be moved.
    fn has_diminishing_returns(&self) -> bool {
        let tasks = self.problem.tasks().iter().zip(&self.ranges);
        tasks.into_iter().all(|(task, range)| {
            task.curve().shape() == Shape::Concave && (range.least > 0 || range.first == 1)
        })
    }

    /// Replaces the counts if the best allocation of the problem on the grid leads to better ones.
    fn restart_from_grid(&mut self, spends_all: bool) {
        let Some((problem, budget)) = self.on_grid() else { return };
        let leftover = if spends_all { Leftover::Spend } else { Leftover::Keep };
        let options = Options { leftover, ..Options::default() };
        let mut oracle = Oracle::new(&problem);
        let Ok(allocation) = oracle.allocate(self.values, budget, &options) else { return };
        let counts = self
            .ranges
            .iter()
            .zip(&allocation.spend)
            .map(|(range, &spend)| range.nearest(self.unit.floor(spend), spend > 0.0));
        let counts: Vec<i64> = counts.collect();
        let spare = self.available() - counts.iter().sum::<i64>();
        let mut other = Units { counts, spare, ranges: self.ranges.clone(), ..*self };
        other.settle(&allocation.spend, spends_all);
        if other.value() > self.value() * (1.0 + NOISE) {
            *self = other;
        }
    }

    /// The problem with its jumps and bounds at whole units, and its budget. Plans in whole units
    /// are worth the same there. `None` if no curve jumps and no task has `at_least`.
    fn on_grid(&self) -> Option<(Problem, f64)> {
        let tasks = self.problem.tasks();
        let jumps = |curve: &Curve| matches!(curve.shape(), Shape::Steps { .. });
        if !tasks.iter().any(|task| jumps(task.curve()) || task.bounds().at_least > 0.0) {
            return None;
        }
        let curves = tasks.iter().enumerate().map(|(task, checked)| {
            let curve = checked.curve();
            if !jumps(curve) {
                return Some(curve.clone());
            }
            let counts = self.jump_counts(task);
            let success = counts.iter().map(|&count| curve.success(self.unit.amount(count)));
            let at: Vec<f64> = counts.iter().map(|&count| self.unit.amount(count)).collect();
            Curve::steps(at, success.collect()).ok()
        });
        let bounds = self.ranges.iter().map(|range| {
            let most = self.unit.amount(range.most.min(self.available()));
            let at_least = if range.least > 0 { 0.0 } else { self.unit.amount(range.first) };
            let is_free = range.least > 0 || range.first == 1 || range.most == 0;
            Bounds {
                min: self.unit.amount(range.least),
                max: most,
                at_least: if is_free { 0.0 } else { at_least.min(most) },
            }
        });
        let bounds: Vec<Bounds> = bounds.collect();
        let problem = self.problem.with_curves(curves.collect::<Option<_>>()?).with_bounds(&bounds);
        Some((problem, self.unit.amount(self.available())))
    }

    /// Zero and the counts at which the success of a step curve rises, in increasing order.
    fn jump_counts(&self, task: usize) -> Vec<i64> {
        let curve = self.problem.tasks()[task].curve();
        let threshold;
        let jumps: &[f64] = match curve.family() {
            Family::Threshold(family) => {
                threshold = [family.at()];
                &threshold
            }
            Family::Steps(family) => family.at(),
            Family::Empirical(family) => family.at(),
            _ => &[],
        };
        let mut counts = vec![0];
        for &at in jumps {
            // A count that rounds to a unit may miss the jump by the last digit.
            let count = self.unit.ceil(at);
            let reaches = curve.success(self.unit.amount(count)) >= curve.success(at);
            counts.push(if reaches { count } else { count + 1 });
        }
        counts.sort_unstable();
        counts.dedup();
        counts
    }

    /// Replaces the counts by the best ones if the search at the margin finds them. Returns a bound
    /// on the value of every plan, or `None` if the counts are the best.
    fn improve_at_margin(
        &mut self,
        spend: &[f64],
        spends_all: bool,
        upper_bound: Option<f64>,
    ) -> Option<f64> {
        let Some(choices) = self.choices() else { return upper_bound };
        let found = knapsack::improve(&choices, self.available(), self.value());
        if let Some(better) = found.better {
            self.spare = self.available() - better.iter().sum::<i64>();
            self.counts = better;
            if spends_all {
                self.give_by_remainder(spend);
            }
        }
        let bound = found.upper_bound?;
        Some(upper_bound.map_or(bound, |known| known.min(bound)))
    }

    /// For each task the counts that are worth more than every smaller one; `None` if there are too
    /// many.
    fn choices(&self) -> Option<Vec<Vec<Choice>>> {
        let least: i64 = self.ranges.iter().map(|range| range.least).sum();
        let free = self.available() - least;
        let tasks = self.problem.tasks();
        let is_custom = |curve: &Curve| matches!(curve.family(), Family::Custom(_));
        let has_customs = tasks.iter().any(|task| is_custom(task.curve()));
        let mut left = if has_customs { MAX_CUSTOM_CHOICES } else { MAX_CHOICES };
        let mut all = Vec::with_capacity(tasks.len());
        for (task, range) in self.ranges.iter().enumerate() {
            let most = range.most.min(range.least.saturating_add(free));
            let is_steps = matches!(tasks[task].curve().shape(), Shape::Steps { .. });
            let counts = if is_steps { self.jump_counts(task) } else { Vec::new() };
            left -= if is_steps { counts.len() as i64 + 2 } else { most - range.least + 1 };
            if left < 0 {
                return None;
            }
            let every = if is_steps { 0..0 } else { range.least..most + 1 };
            // Bounds may ask for more than a jump needs.
            let counts = counts.into_iter().map(|count| match count {
                0 => range.least,
                count => count.max(range.first),
            });
            let mut choices: Vec<Choice> = Vec::new();
            for count in counts.chain(every).filter(|&count| count <= most && range.allows(count)) {
                let worth = self.worth(task, count);
                if choices.last().is_none_or(|last| count > last.count && worth > last.worth) {
                    choices.push(Choice { count, worth });
                }
            }
            all.push(choices);
        }
        Some(all)
    }

    fn worth(&self, task: usize, count: i64) -> f64 {
        let (value, task) = (self.values[task], &self.problem.tasks()[task]);
        value * task.volume() * task.curve().success(self.unit.amount(count))
    }

    /// The gain of one more unit for the task, if allowed.
    fn gain(&self, task: usize) -> Option<f64> {
        let count = self.counts[task];
        self.ranges[task]
            .allows(count + 1)
            .then(|| self.worth(task, count + 1) - self.worth(task, count))
    }

    /// The cost of one unit less for the task, if allowed.
    fn loss(&self, task: usize) -> Option<f64> {
        let count = self.counts[task];
        self.ranges[task]
            .allows(count - 1)
            .then(|| self.worth(task, count) - self.worth(task, count - 1))
    }

    fn shift(&mut self, task: usize, change: i64) {
        self.counts[task] += change;
        self.spare -= change;
    }

    /// Removes units beyond the budget where they cost least.
    fn repay(&mut self) {
        let mut donors = TaskQueue::cheapest(self.counts.len(), |task| self.loss(task));
        while self.spare < 0 {
            match donors.pop(|task| self.loss(task)) {
                Some((task, _)) => {
                    self.shift(task, -1);
                    donors.push(task, self.loss(task));
                }
                // No task can give up one unit, so a task at its `at_least` drops to zero.
                None => match self.least_missed() {
                    Some(task) => self.shift(task, -self.counts[task]),
                    None => break,
                },
            }
        }
    }

    /// The task that loses least with zero spend, among those for which it is allowed.
    fn least_missed(&self) -> Option<usize> {
        let may_go = |&task: &usize| self.counts[task] > 0 && self.ranges[task].allows(0);
        let missed = |task: usize| self.worth(task, self.counts[task]) - self.worth(task, 0);
        (0..self.counts.len())
            .filter(may_go)
            .min_by(|&one, &other| missed(one).total_cmp(&missed(other)))
    }

    /// Assigns spare units, one each: first to tasks with step curves by gain, then by decreasing
    /// remainder. Units that bounds still leave over go to the first tasks with capacity.
    fn give_by_remainder(&mut self, spend: &[f64]) {
        let rank = |task: usize| {
            let is_step = matches!(self.problem.tasks()[task].curve().shape(), Shape::Steps { .. });
            let gain = if is_step { self.gain(task).unwrap_or(0.0) } else { 0.0 };
            (gain, self.unit.count(spend[task]) - self.counts[task] as f64)
        };
        let ranks: Vec<(f64, f64)> = (0..self.counts.len()).map(rank).collect();
        let mut order: Vec<usize> = (0..self.counts.len()).collect();
        order.sort_by(|&one, &other| {
            let ((gain, remainder), (other_gain, other_remainder)) = (ranks[one], ranks[other]);
            other_gain.total_cmp(&gain).then(other_remainder.total_cmp(&remainder))
        });
        for &task in &order {
            if self.spare > 0
                && ranks[task].1 > 0.0
                && self.ranges[task].allows(self.counts[task] + 1)
            {
                self.shift(task, 1);
            }
        }
        for &task in &order {
            let (room, raised) =
                (self.ranges[task].most - self.counts[task], self.counts[task] + self.spare);
            let given = room.min(self.spare);
            if given > 0 && self.ranges[task].allows(raised.min(self.ranges[task].most)) {
                self.shift(task, given);
            }
        }
    }

    /// Moves single units, spare ones first, from where they cost least to where they gain most.
    /// Returns whether no move is left.
    fn improve(&mut self) -> bool {
        let noise = NOISE
            * (0..self.counts.len()).map(|task| self.worth(task, self.counts[task])).sum::<f64>();
        let mut takers = TaskQueue::dearest(self.counts.len(), |task| self.gain(task));
        let mut donors = TaskQueue::cheapest(self.counts.len(), |task| self.loss(task));
        for _ in 0..MAX_MOVES {
            let Some((taker, gain)) =
                takers.pop(|task| self.gain(task)).filter(|(_, gain)| *gain > noise)
            else {
                return true;
            };
            if self.spare > 0 {
                self.shift(taker, 1);
            } else {
                let Some((donor, loss)) = donors.pop_other_than(taker, |task| self.loss(task))
                else {
                    return true;
                };
                if gain - loss <= noise {
                    return true;
                }
                self.shift(donor, -1);
                self.shift(taker, 1);
                takers.push(donor, self.gain(donor));
                donors.push(donor, self.loss(donor));
            }
            takers.push(taker, self.gain(taker));
            donors.push(taker, self.loss(taker));
        }
        false
    }
}

fn infeasible(problem: &Problem, ranges: &[Range], unit: Unit, budget: f64) -> RoundingError {
    let mut held: Vec<(&str, i64)> = problem
        .tasks()
        .iter()
        .zip(ranges)
        .filter(|(_, range)| range.least > 0)
        .map(|(task, range)| (task.name(), range.least))
        .collect();
    held.sort_by_key(|&(_, least)| std::cmp::Reverse(least));
    let amounts = held.iter().map(|&(name, least)| format!("{name} {}", unit.amount(least)));
    RoundingError::Infeasible {
        unit: unit.size,
        needed: unit.amount(held.iter().map(|(_, least)| least).sum()),
        budget,
        largest_lower_bounds: listed(&amounts.collect::<Vec<_>>()),
    }
}
