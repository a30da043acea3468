//! Rounds an allocation to multiples of a unit: cents, seats, machine-minutes.
//!
//! It starts with the largest-remainder method. Because that can round a task just below a jump of
//! its curve, single units are then moved to where they gain most, from where they cost least, as
//! long as the value increases. The cost of rounding is reported.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::value_of;
use crate::curve::Shape;
use crate::oracle::Allocation;
use crate::problem::{Bounds, Problem};

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
        "in multiples of {unit} the sum of min = {needed} > budget {budget}: {}",
        .largest_lower_bounds.join(", ")
    )]
    Infeasible {
        /// The unit.
        unit: f64,
        /// Sum of the lower bounds.
        needed: f64,
        /// The budget.
        budget: f64,
        /// The largest lower bounds as `name amount`, then the number of the others.
        largest_lower_bounds: Vec<String>,
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
    if allocation.unspent <= budget * super::SLACK {
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
        if (count - whole).abs() <= (whole * super::SLACK).clamp(1e-9, 0.25) {
            whole
        } else {
            count
        }
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
        let mut donors = Queue::cheapest(self.counts.len(), |task| self.loss(task));
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
        let mut takers = Queue::dearest(self.counts.len(), |task| self.gain(task));
        let mut donors = Queue::cheapest(self.counts.len(), |task| self.loss(task));
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
    const NAMED: usize = 5;
    let mut held: Vec<(usize, i64)> = ranges
        .iter()
        .map(|range| range.least)
        .enumerate()
        .filter(|(_, least)| *least > 0)
        .collect();
    held.sort_by_key(|&(_, least)| std::cmp::Reverse(least));
    let mut largest: Vec<String> = held
        .iter()
        .take(NAMED)
        .map(|&(task, least)| format!("{} {}", problem.tasks()[task].name(), unit.amount(least)))
        .collect();
    if held.len() > NAMED {
        largest.push(format!("and {} more", held.len() - NAMED));
    }
    RoundingError::Infeasible {
        unit: unit.size,
        needed: unit.amount(ranges.iter().map(|range| range.least).sum()),
        budget,
        largest_lower_bounds: largest,
    }
}

/// Tasks by gain or loss. Entries are not updated in place: one whose amount is no longer the
/// task's is skipped.
struct Queue {
    heap: BinaryHeap<Entry>,
    /// 1 for largest first, -1 for smallest first.
    sign: f64,
}

#[derive(PartialEq)]
struct Entry {
    key: f64,
    task: usize,
}

impl Eq for Entry {}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.total_cmp(&other.key).then(other.task.cmp(&self.task))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Queue {
    fn dearest(tasks: usize, amount: impl Fn(usize) -> Option<f64>) -> Self {
        Self::new(1.0, tasks, amount)
    }

    fn cheapest(tasks: usize, amount: impl Fn(usize) -> Option<f64>) -> Self {
        Self::new(-1.0, tasks, amount)
    }

    fn new(sign: f64, tasks: usize, amount: impl Fn(usize) -> Option<f64>) -> Self {
        let heap =
            (0..tasks).filter_map(|task| Some(Entry { key: sign * amount(task)?, task })).collect();
        Self { heap, sign }
    }

    fn push(&mut self, task: usize, amount: Option<f64>) {
        self.heap.extend(amount.map(|amount| Entry { key: self.sign * amount, task }));
    }

    /// The first task with its amount, which is `amount(task)` now.
    fn pop(&mut self, amount: impl Fn(usize) -> Option<f64>) -> Option<(usize, f64)> {
        loop {
            let entry = self.heap.pop()?;
            if let Some(current) =
                amount(entry.task).filter(|current| self.sign * current == entry.key)
            {
                return Some((entry.task, current));
            }
        }
    }

    fn pop_other_than(
        &mut self,
        task: usize,
        amount: impl Fn(usize) -> Option<f64>,
    ) -> Option<(usize, f64)> {
        let mut set_aside = None;
        let found = loop {
            match self.pop(&amount) {
                Some((first, its_amount)) if first == task => set_aside = Some(its_amount),
                found => break found,
            }
        };
        self.push(task, set_aside);
        found
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::oracle::Status;
    use crate::{Curve, ProblemSpec, TaskSpec};

    fn problem(budget: f64, tasks: Vec<TaskSpec>) -> Problem {
        ProblemSpec { budget, tasks, ..ProblemSpec::default() }.check().unwrap()
    }

    fn split(problem: &Problem, values: &[f64], spend: &[f64]) -> Allocation {
        let value = value_of(problem, values, spend);
        let unspent =
            (problem.budget() - crate::numeric::compensated::sum(spend.iter().copied())).max(0.0);
        Allocation {
            budget: problem.budget(),
            spend: spend.to_vec(),
            success: vec![],
            value,
            upper_bound: value,
            price: 0.0,
            status: Status::Optimal,
            unspent: if unspent <= problem.budget() * 1e-12 { 0.0 } else { unspent },
            unspent_reason: None,
            nodes: 1,
            labels: 0,
        }
    }

    #[test]
    fn equal_thirds_of_a_hundred_add_up() {
        let curve = Curve::exponential(50.0).unwrap();
        let problem =
            problem(100.0, ["a", "b", "c"].map(|name| TaskSpec::new(name, curve.clone())).to_vec());
        let third = 100.0 / 3.0;
        let rounded =
            round(&problem, &[1.0; 3], &split(&problem, &[1.0; 3], &[third; 3]), 0.01).unwrap();
        assert_eq!(rounded.spend, [33.34, 33.33, 33.33]);
        assert_eq!(rounded.unspent, 0.0);
        assert!(rounded.loss() >= 0.0 && rounded.loss() < 1e-8);
    }

    #[test]
    fn a_budget_that_is_no_multiple_leaves_its_rest() {
        let curve = Curve::exponential(50.0).unwrap();
        let problem =
            problem(12.5, vec![TaskSpec::new("a", curve.clone()), TaskSpec::new("b", curve)]);
        let rounded =
            round(&problem, &[1.0; 2], &split(&problem, &[1.0; 2], &[6.25, 6.25]), 5.0).unwrap();
        assert_eq!(rounded.spend, [5.0, 5.0]);
        assert_eq!(rounded.unspent, 2.5);
    }

    #[test]
    fn a_threshold_is_rounded_up_at_the_cost_of_a_smooth_task() {
        let tasks = vec![
            TaskSpec::new("job", Curve::threshold(33.3).unwrap()),
            TaskSpec::new("ads", Curve::exponential(50.0).unwrap()),
        ];
        let problem = problem(100.0, tasks);
        let rounded =
            round(&problem, &[1.0; 2], &split(&problem, &[1.0; 2], &[33.3, 66.7]), 1.0).unwrap();
        assert_eq!(rounded.spend, [34.0, 66.0]);
    }

    #[test]
    fn thresholds_that_no_longer_fit_together_do_not_all_fail() {
        let curve = Curve::threshold(33.3).unwrap();
        let problem =
            problem(100.0, ["a", "b", "c"].map(|name| TaskSpec::new(name, curve.clone())).to_vec());
        let rounded = round(
            &problem,
            &[1.0, 2.0, 3.0],
            &split(&problem, &[1.0, 2.0, 3.0], &[33.3, 33.3, 33.4]),
            1.0,
        )
        .unwrap();
        assert_eq!(rounded.value, 5.0);
        assert_eq!(rounded.loss(), 1.0);
    }

    #[test]
    fn the_most_valuable_thresholds_are_kept() {
        let curve = Curve::threshold(0.25).unwrap();
        let problem = problem(
            1.0,
            ["a", "b", "c", "d"].map(|name| TaskSpec::new(name, curve.clone())).to_vec(),
        );
        let values = [0.9, 0.55, 0.8, 0.6];
        let rounded = round(&problem, &values, &split(&problem, &values, &[0.25; 4]), 0.1).unwrap();
        assert_eq!(rounded.spend, [0.3, 0.1, 0.3, 0.3]);
    }

    #[test]
    fn bounds_are_rounded_inwards_or_refused() {
        let curve = Curve::exponential(50.0).unwrap();
        let bounded =
            TaskSpec { min: Some(10.5), max: Some(20.5), ..TaskSpec::new("a", curve.clone()) };
        let problem_of =
            |first: TaskSpec| problem(100.0, vec![first, TaskSpec::new("b", curve.clone())]);
        let low = problem_of(bounded.clone());
        assert_eq!(
            round(&low, &[0.0, 1.0], &split(&low, &[0.0, 1.0], &[10.5, 89.5]), 1.0).unwrap().spend,
            [11.0, 89.0]
        );
        assert_eq!(
            round(&low, &[1.0, 0.0], &split(&low, &[1.0, 0.0], &[20.5, 79.5]), 1.0).unwrap().spend,
            [20.0, 80.0]
        );
        let fixed = problem_of(TaskSpec { fixed: Some(10.5), ..TaskSpec::new("a", curve.clone()) });
        let error =
            round(&fixed, &[1.0; 2], &split(&fixed, &[1.0; 2], &[10.5, 89.5]), 1.0).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a: no multiple of 1 lies between its min 10.5 and its max 10.5"
        );
        let tight = problem_of(TaskSpec { min: Some(97.0), ..TaskSpec::new("a", curve.clone()) });
        let error =
            round(&tight, &[1.0; 2], &split(&tight, &[1.0; 2], &[97.0, 3.0]), 30.0).unwrap_err();
        assert_eq!(
            error.to_string(),
            "in multiples of 30 the sum of min = 120 > budget 100: a 120"
        );
    }

    #[test]
    fn zero_or_at_least_stays_zero_or_at_least() {
        let tasks = ["a", "b", "c"].map(|name| TaskSpec {
            at_least: Some(33.0),
            ..TaskSpec::new(name, Curve::exponential(50.0).unwrap())
        });
        let problem = problem(100.0, tasks.to_vec());
        let rounded = round(
            &problem,
            &[1.0, 2.0, 3.0],
            &split(&problem, &[1.0, 2.0, 3.0], &[33.0, 33.0, 34.0]),
            10.0,
        )
        .unwrap();
        assert_eq!(rounded.spend[0], 0.0);
        assert!(rounded.spend[1] >= 40.0 && rounded.spend[2] >= 40.0);
        assert_eq!(rounded.spend.iter().sum::<f64>(), 100.0);
    }

    #[test]
    fn units_that_are_no_units_are_refused() {
        let problem = problem(100.0, vec![TaskSpec::new("a", Curve::exponential(50.0).unwrap())]);
        let allocation = split(&problem, &[1.0], &[100.0]);
        for unit in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(
                round(&problem, &[1.0], &allocation, unit),
                Err(RoundingError::BadUnit(_))
            ));
        }
        assert!(matches!(
            round(&problem, &[1.0], &allocation, 1e-300),
            Err(RoundingError::TooSmall { .. })
        ));
    }

    /// Tasks of every kind with a share of the budget that respects their bounds.
    fn any_split() -> impl Strategy<Value = (Problem, Vec<f64>, Allocation)> {
        let task = (0..4_usize, 0.1..1.0_f64, 0.05..1.0_f64, 0..4_usize);
        proptest::collection::vec(task, 1..12)
            .prop_flat_map(|tasks| (Just(tasks), 1.0..5000.0_f64))
            .prop_map(|(tasks, budget)| {
                let weight: f64 = tasks.iter().map(|task| task.1).sum();
                let spend: Vec<f64> = tasks.iter().map(|task| budget * task.1 / weight).collect();
                let specs = tasks.iter().zip(&spend).enumerate().map(
                    |(position, (&(family, _, at, bound), &spend))| {
                        let curve = match family {
                            0 => Curve::threshold(spend * at),
                            1 => Curve::hill(budget * at, 3.0),
                            2 => Curve::exponential(budget * at),
                            _ => Curve::saturating(spend * at),
                        };
                        let mut spec = TaskSpec::new(format!("task {position}"), curve.unwrap());
                        match bound {
                            1 => spec.min = Some(spend * at),
                            2 => spec.max = Some(spend / at),
                            3 => spec.at_least = Some(spend * at),
                            _ => {}
                        }
                        spec
                    },
                );
                let problem = problem(budget, specs.collect());
                let values: Vec<f64> = tasks.iter().map(|task| task.1).collect();
                let allocation = split(&problem, &values, &spend);
                (problem, values, allocation)
            })
    }

    proptest! {
        #[test]
        fn whole_units_add_up_within_bounds(
            (problem, values, allocation) in any_split(),
            unit in prop::sample::select(vec![0.01, 0.05, 0.25, 1.0, 5.0])) {
            let Ok(rounded) = round(&problem, &values, &allocation, unit) else { return Ok(()) };
            let size = Unit::new(unit, problem.budget()).unwrap();
            let count = |&spend: &f64| (spend / unit).round() as i64;
            let counts: Vec<i64> = rounded.spend.iter().map(count).collect();
            let tasks = problem.tasks().iter().zip(&rounded.spend).zip(&counts);
            for ((task, &spend), &count) in tasks {
                prop_assert_eq!(spend, size.amount(count));
                prop_assert!(super::super::violation::allows(task.bounds(), spend));
            }
            let total: i64 = counts.iter().sum();
            prop_assert!(total <= size.floor(problem.budget()));
            let mut pairs = problem.tasks().iter().zip(&rounded.spend);
            let room = pairs.any(|(task, spend)| task.bounds().max > spend + unit && *spend > 0.0);
            prop_assert!(total == size.floor(problem.budget()) || !room);
        }
    }
}
