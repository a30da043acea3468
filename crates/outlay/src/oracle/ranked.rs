//! Equal thresholds alone, of which the budget funds a few: the K-armed bandit and the paper's
//! M-sets.
//!
//! The worthiest are funded, of equals the first. Nothing needs to be searched: the price is what
//! the last one funded pays per unit. Calls with many to fund, or with something to settle about
//! rounding or leftovers, are left to the general search.

use super::model::Model;
use super::relaxation::ROUNDING;
use super::{Allocation, Options, UnspentReason, finish};
use crate::curve::JUMP_TOLERANCE;
use crate::numeric::compensated::Sum;
use crate::problem::Leftover;

/// The tasks, in their order.
#[derive(Debug)]
pub(super) struct Ranked {
    /// The spend that each of them needs.
    at: f64,
    /// Success without and with the spend, and the difference.
    lost: Vec<f64>,
    won: Vec<f64>,
    rise: Vec<f64>,
    has_floors: bool,
    /// What funding each task is worth in this call.
    gains: Vec<f64>,
    /// The largest of them.
    best: [Gain; MOST_RANKED],
    /// Who is funded in the last answer, and how many; none if that answer is not from here.
    funded: [usize; MOST_RANKED],
    written: usize,
    /// For the budget of the last call: it seldom changes.
    plan: Plan,
}

/// What a budget allows.
#[derive(Debug, Clone, Copy)]
struct Plan {
    budget: f64,
    /// How many can be funded; none if the call is not for here.
    funded: usize,
    left: f64,
    is_left: bool,
}

impl Plan {
    fn new(budget: f64, at: f64, tasks: usize) -> Self {
        let affordable = budget / (at * JUMP_TOLERANCE);
        let is_fit = affordable >= 1.0 && affordable < MOST_RANKED as f64;
        let funded = if is_fit { (affordable as usize).min(tasks) } else { 0 };
        let left = budget - at * funded as f64;
        Self {
            budget,
            funded: if left >= 0.0 { funded } else { 0 },
            left,
            is_left: left > finish::negligible(budget),
        }
    }
}

/// A task and what funding it is worth.
#[derive(Debug, Clone, Copy)]
struct Gain {
    task: usize,
    gain: f64,
}

/// So many of the largest gains are looked for at most, that of the first task not funded among
/// them.
const MOST_RANKED: usize = 9;
/// Gains within these limits cannot leave the floating-point numbers.
const LEAST_GAIN: f64 = 1e-90;
const MOST_VALUE: f64 = 1e90;

impl Ranked {
    /// None unless all tasks are one stack.
    pub(super) fn new(model: &Model) -> Option<Self> {
        let [stack] = &model.stacks[..] else { return None };
        if stack.len() != model.curves.len() {
            return None;
        }
        let success = |spend: f64| {
            model.curves.iter().map(|curve| curve.success(spend)).collect::<Vec<f64>>()
        };
        let (lost, won) = (success(0.0), success(stack.at));
        let rise = won.iter().zip(&lost).map(|(won, lost)| won - lost).collect();
        Some(Self {
            at: stack.at,
            has_floors: lost.iter().any(|lost| *lost > 0.0),
            gains: vec![0.0; lost.len()],
            best: [Gain { task: 0, gain: 0.0 }; MOST_RANKED],
            funded: [0; MOST_RANKED],
            written: 0,
            plan: Plan { budget: f64::NAN, funded: 0, left: 0.0, is_left: false },
            lost,
            won,
            rise,
        })
    }

    /// Writes the best split and returns true, or returns false and leaves the call to the general
    /// search.
    ///
    /// Values and budget need not be checked: bad ones are left to the general search.
    pub(super) fn allocate(
        &mut self,
        values: &[f64],
        budget: f64,
        options: &Options,
        answer: &mut Allocation,
    ) -> bool {
        if budget != self.plan.budget {
            self.plan = Plan::new(budget, self.at, self.rise.len());
        }
        let Plan { funded, left, is_left, .. } = self.plan;
        let is_fit = funded > 0 && options.tolerance >= 0.0 && values.len() == self.rise.len();
        if !is_fit || (is_left && options.leftover == Leftover::Spend) {
            return false;
        }
        // Where budget is left, the first task that cannot be funded says what more of it would be
        // worth.
        let count = funded + usize::from(is_left);
        let are_good = if count == 1 { self.find_best(values) } else { self.rank(values, count) };
        if !are_good {
            return false;
        }
        let last = self.best[funded - 1].gain;
        if !(last >= LEAST_GAIN) {
            return false;
        }
        let price = if is_left { 0.0 } else { last / self.at };
        let worth = self.write(values, funded, answer);
        // At its own price the last one may as well get nothing: the others' worth, and the
        // budget's, are what is added up.
        let (bound, others) = (worth + price * left, if is_left { worth } else { worth - last });
        answer.budget = budget;
        answer.value = worth;
        answer.upper_bound = bound + ROUNDING * (bound + price * budget + others);
        answer.price = if is_left { self.best[funded].gain / self.at } else { price };
        answer.unspent = if is_left { left } else { 0.0 };
        answer.unspent_reason = is_left.then_some(UnspentReason::CurveFlat);
        (answer.nodes, answer.states) = (1, 0);
        answer.status = finish::status(answer, options.tolerance);
        true
    }

    /// The answer is about to be written by somebody else.
    pub(super) fn leave(&mut self) {
        self.written = 0;
    }

    /// Finds the tasks with the largest gains, `count` of them, of equals the first; gain zero
    /// where there are fewer. False if a value is bad.
    ///
    /// A pass for each of them: who is best is not foreseen by any processor, and passes do not
    /// branch on it.
    fn rank(&mut self, values: &[f64], count: usize) -> bool {
        let mut are_good = true;
        for ((gain, &value), &rise) in self.gains.iter_mut().zip(values).zip(&self.rise) {
            #[allow(
                clippy::manual_range_contains,
                reason = "a range asks twice, with a branch between"
            )]
            let is_good = (value >= 0.0) & (value < MOST_VALUE);
            are_good &= is_good;
            *gain = value * rise;
        }
        for best in self.best.iter_mut().take(count) {
            let gain = largest(&self.gains);
            let task = self.gains.iter().position(|other| *other == gain).unwrap_or(0);
            *best = Gain { task, gain };
            self.gains[task] = 0.0;
        }
        are_good
    }

    /// [`Ranked::rank`] for one task, the bandit's choice: nothing needs to be kept to look for a
    /// second one.
    fn find_best(&mut self, values: &[f64]) -> bool {
        let mut are_good = true;
        let mut gain = |value: f64, rise: f64| {
            #[allow(
                clippy::manual_range_contains,
                reason = "a range asks twice, with a branch between"
            )]
            let is_good = (value >= 0.0) & (value < MOST_VALUE);
            are_good &= is_good;
            value * rise
        };
        let ((values_by_four, values_left), (rises_by_four, rises_left)) =
            (values.as_chunks::<4>(), self.rise.as_chunks::<4>());
        let mut lanes = [0.0; 4];
        for (values, rises) in values_by_four.iter().zip(rises_by_four) {
            for lane in 0..4 {
                lanes[lane] = larger(gain(values[lane], rises[lane]), lanes[lane]);
            }
        }
        let mut most = larger(larger(lanes[0], lanes[1]), larger(lanes[2], lanes[3]));
        for (&value, &rise) in values_left.iter().zip(rises_left) {
            most = larger(gain(value, rise), most);
        }
        // It is mostly the one of the last call, and processors guess so.
        let task = values.iter().zip(&self.rise).position(|(value, rise)| value * rise == most);
        self.best[0] = Gain { task: task.unwrap_or(0), gain: most };
        are_good
    }

    /// Writes spend and success; returns what they are worth.
    fn write(&mut self, values: &[f64], funded: usize, answer: &mut Allocation) -> f64 {
        if self.written == 0 {
            answer.spend.fill(0.0);
            answer.success.copy_from_slice(&self.lost);
        }
        // After a call of its own only those funded then have anything to lose.
        for &task in &self.funded[..self.written] {
            (answer.spend[task], answer.success[task]) = (0.0, self.lost[task]);
        }
        let mut worth = Sum::default();
        for (best, place) in self.best[..funded].iter().zip(&mut self.funded) {
            worth.add(best.gain);
            (answer.spend[best.task], answer.success[best.task]) = (self.at, self.won[best.task]);
            *place = best.task;
        }
        self.written = funded;
        if self.has_floors {
            self.lost.iter().zip(values).for_each(|(lost, value)| worth.add(lost * value));
        }
        worth.value()
    }
}

fn larger(one: f64, other: f64) -> f64 {
    if one > other { one } else { other }
}

/// The largest of numbers that are not NaN; zero if none is larger.
fn largest(numbers: &[f64]) -> f64 {
    let mut lanes = [0.0; 4];
    let (fours, rest) = numbers.as_chunks::<4>();
    for four in fours {
        for lane in 0..4 {
            lanes[lane] = larger(four[lane], lanes[lane]);
        }
    }
    for (lane, &number) in lanes.iter_mut().zip(rest) {
        *lane = larger(number, *lane);
    }
    larger(larger(lanes[0], lanes[1]), larger(lanes[2], lanes[3]))
}
