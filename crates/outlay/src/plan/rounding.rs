//! Rounds an allocation to multiples of a unit: cents, seats, machine-minutes.
//!
//! It starts with the largest-remainder method. Because that can round a task just below a jump of
//! its curve, single units are then moved to where they gain most, from where they cost least, as
//! long as the value increases. The cost of rounding is reported.

use super::task_queue::TaskQueue;
use super::value_of;
use crate::curve::Shape;
use crate::oracle::Allocation;
use crate::problem::{Bounds, FEASIBILITY_TOLERANCE, Problem};
use crate::text::listed;

/// The largest number of moves; a count, so that results do not depend on the machine.
const MAX_MOVES: usize = 1_000_000;

/// The largest number of units in a budget; beyond it floating point cannot count them.
const MAX_UNITS: f64 = (1_u64 << 50) as f64;

/// Relative gains below this are rounding error.
const NOISE: f64 = 1e-13;

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
    /// The unspent budget, including the fraction below one unit.
    pub unspent: f64,
}

impl Rounded {
    /// The value lost by rounding.
    #[must_use]
    pub fn loss(&self) -> f64 {
        self.value_before - self.value
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
/// below it. Bounds are kept. An allocation that leaves budget unspent is rounded up where that
/// helps and leaves the rest.
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
    let mut units = Units::new(problem, values, &allocation.spend, unit, budget)?;
    units.repay();
    if allocation.unspent <= budget * FEASIBILITY_TOLERANCE {
        units.give_by_remainder(&allocation.spend);
    }
    units.improve();
    let spend: Vec<f64> = units.counts.iter().map(|&count| unit.amount(count)).collect();
    let total = unit.amount(units.counts.iter().sum());
    Ok(Rounded {
        unit: unit.size,
        value: value_of(problem, values, &spend),
        value_before: allocation.value,
        spend,
        unspent: (budget - total).max(0.0),
    })
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
        // No bound is an amount larger than any budget; a task can then use all there is.
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

    /// The allowed count next to `count`: down to the bounds, but up to the first count that is not
    /// nothing.
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

    fn worth(&self, task: usize, count: i64) -> f64 {
        self.values[task] * self.problem.tasks()[task].curve().success(self.unit.amount(count))
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
                // Nobody can give one unit: some task that gets its `at_least` goes without.
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

    /// The spare units, one each: first to tasks that go by steps, by what the unit brings them,
    /// then by falling remainder. What bounds still leave over goes to the first tasks with room.
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

    /// Moves single units, spare ones first, to where they bring most from where they are missed
    /// least.
    fn improve(&mut self) {
        let noise = NOISE
            * (0..self.counts.len()).map(|task| self.worth(task, self.counts[task])).sum::<f64>();
        let mut takers = TaskQueue::dearest(self.counts.len(), |task| self.gain(task));
        let mut donors = TaskQueue::cheapest(self.counts.len(), |task| self.loss(task));
        for _ in 0..MAX_MOVES {
            let Some((taker, gain)) =
                takers.pop(|task| self.gain(task)).filter(|(_, gain)| *gain > noise)
            else {
                break;
            };
            if self.spare > 0 {
                self.shift(taker, 1);
            } else {
                let Some((donor, loss)) = donors.pop_other_than(taker, |task| self.loss(task))
                else {
                    break;
                };
                if gain - loss <= noise {
                    break;
                }
                self.shift(donor, -1);
                self.shift(taker, 1);
                takers.push(donor, self.gain(donor));
                donors.push(donor, self.loss(donor));
            }
            takers.push(taker, self.gain(taker));
            donors.push(taker, self.loss(taker));
        }
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
