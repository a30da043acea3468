//! The fast path for identical thresholds of which the budget funds up to eight: the K-armed bandit
//! and M-sets.
//!
//! The tasks with the largest gains are funded, of equals the first. The multiplier is the gain per
//! unit of the last one. Calls that fund more tasks, or need a repair of rounding or a use of
//! leftovers, are left to the general solver.

use crate::numeric::compensated::Sum;
use crate::oracle::prepared::PreparedProblem;
use crate::oracle::tolerances::{BOUND_ROUNDING, negligible};
use crate::oracle::{Allocation, Options, UnspentReason};
use crate::problem::{Leftover, affordable, max_total};

/// The tasks, in their order.
#[derive(Debug)]
pub(in crate::oracle) struct TopM {
    /// The spend that each of them needs.
    at: f64,
    /// Success without and with the spend, and the difference.
    base_success: Vec<f64>,
    full_success: Vec<f64>,
    rise: Vec<f64>,
    has_floors: bool,
    /// The gain of funding each task in this call.
    gains: Vec<f64>,
    /// The largest of them.
    best: [Gain; MAX_RANKED],
    /// The tasks funded in the last allocation and their number; zero if it was written by another
    /// solver.
    funded: [usize; MAX_RANKED],
    written: usize,
    /// The plan for the budget of the last call, which seldom changes.
    plan: BudgetPlan,
}

/// The consequences of a budget.
#[derive(Debug, Clone, Copy)]
struct BudgetPlan {
    budget: f64,
    /// The number of tasks to fund; zero if the fast path does not apply.
    funded: usize,
    residual: f64,
    has_residual: bool,
}

impl BudgetPlan {
    fn new(budget: f64, at: f64, tasks: usize) -> Self {
        let affordable = affordable(max_total(budget), at);
        let funded = if affordable < MAX_RANKED { affordable.min(tasks) } else { 0 };
        let residual = budget - at * funded as f64;
        Self {
            budget,
            funded: if residual >= 0.0 { funded } else { 0 },
            residual,
            has_residual: residual > negligible(budget),
        }
    }
}

/// A task and the gain of funding it.
#[derive(Debug, Clone, Copy)]
struct Gain {
    task: usize,
    gain: f64,
}

/// The number of largest gains that are found at most, including that of the first task beyond the
/// budget.
const MAX_RANKED: usize = 9;
/// Gains within these limits neither overflow nor underflow.
const MIN_GAIN: f64 = 1e-90;
const MAX_VALUE: f64 = 1e90;

impl TopM {
    /// None unless all tasks form one group.
    pub(in crate::oracle) fn new(prepared: &PreparedProblem) -> Option<Self> {
        let [group] = &prepared.identical[..] else { return None };
        if group.len() != prepared.curves.len() {
            return None;
        }
        let success = |spend: f64| {
            prepared.curves.iter().map(|curve| curve.success(spend)).collect::<Vec<f64>>()
        };
        let (base_success, full_success) = (success(0.0), success(group.at));
        let rise = full_success
            .iter()
            .zip(&base_success)
            .map(|(full_success, base_success)| full_success - base_success)
            .collect();
        Some(Self {
            at: group.at,
            has_floors: base_success.iter().any(|base_success| *base_success > 0.0),
            gains: vec![0.0; base_success.len()],
            best: [Gain { task: 0, gain: 0.0 }; MAX_RANKED],
            funded: [0; MAX_RANKED],
            written: 0,
            plan: BudgetPlan { budget: f64::NAN, funded: 0, residual: 0.0, has_residual: false },
            base_success,
            full_success,
            rise,
        })
    }

    /// Writes the best allocation and returns true, or returns false and leaves the call to the
    /// general solver.
    ///
    /// Values and budget need not be checked: invalid ones are left to the general solver.
    pub(in crate::oracle) fn allocate(
        &mut self,
        values: &[f64],
        budget: f64,
        options: &Options,
        answer: &mut Allocation,
    ) -> bool {
        if budget != self.plan.budget {
            self.plan = BudgetPlan::new(budget, self.at, self.rise.len());
        }
        let BudgetPlan { funded, residual, has_residual, .. } = self.plan;
        let is_fit = funded > 0 && options.tolerance >= 0.0 && values.len() == self.rise.len();
        if !is_fit || (has_residual && options.leftover == Leftover::Spend) {
            return false;
        }
        // The price is set by the first task beyond the budget.
        let are_valid =
            if funded == 1 { self.find_best(values) } else { self.rank(values, funded + 1) };
        if !are_valid {
            return false;
        }
        let last = self.best[funded - 1].gain;
        if !(last >= MIN_GAIN) {
            return false;
        }
        let value_sum = self.write(values, funded, answer);
        answer.budget = budget;
        answer.value = value_sum;
        // No feasible plan funds more tasks.
        answer.upper_bound = value_sum + BOUND_ROUNDING * value_sum;
        answer.price = self.best[funded].gain / self.at;
        answer.unspent = if has_residual { residual } else { 0.0 };
        answer.unspent_reason = has_residual.then_some(UnspentReason::CurveFlat);
        (answer.nodes, answer.labels) = (1, 0);
        answer.status = answer.status_within(options.tolerance);
        true
    }

    /// Declares that another solver writes the allocation.
    pub(in crate::oracle) fn invalidate(&mut self) {
        self.written = 0;
    }

    /// Finds the `count` largest gains, of equals the first; gain zero where there are fewer. False
    /// if a value is invalid.
    ///
    /// It takes one pass per gain: the order is unpredictable, and the passes do not branch on it.
    fn rank(&mut self, values: &[f64], count: usize) -> bool {
        let mut are_valid = true;
        for ((gain, &value), &rise) in self.gains.iter_mut().zip(values).zip(&self.rise) {
            #[allow(
                clippy::manual_range_contains,
                reason = "a range asks twice, with a branch between"
            )]
            let is_valid = (value >= 0.0) & (value < MAX_VALUE);
            are_valid &= is_valid;
            *gain = value * rise;
        }
        for best in self.best.iter_mut().take(count) {
            let gain = largest(&self.gains);
            let task = self.gains.iter().position(|other| *other == gain).unwrap_or(0);
            *best = Gain { task, gain };
            self.gains[task] = 0.0;
        }
        are_valid
    }

    /// [`TopM::rank`] for one task, the choice of a bandit, and the next gain.
    fn find_best(&mut self, values: &[f64]) -> bool {
        // A sum shows whether a number is NaN or too large, in fewer operations than comparisons.
        let (mut sum, mut least) = (0.0, 0.0);
        let (mut most, mut next) = (0.0, 0.0);
        for (&value, rise) in values.iter().zip(&self.rise) {
            sum += value;
            least = smaller(value, least);
            let gain = value * rise;
            next = larger(smaller(gain, most), next);
            most = larger(gain, most);
        }
        // It is usually the task of the last call, which the branch predictor learns.
        let task = values.iter().zip(&self.rise).position(|(value, rise)| value * rise == most);
        self.best[0] = Gain { task: task.unwrap_or(0), gain: most };
        self.best[1].gain = next;
        sum < MAX_VALUE && least >= 0.0
    }

    /// Writes spend and success; returns the value.
    fn write(&mut self, values: &[f64], funded: usize, answer: &mut Allocation) -> f64 {
        let best = &self.best[..funded];
        let is_same = self.written == funded
            && best.iter().zip(&self.funded).all(|(best, &task)| best.task == task);
        let mut value_sum = Sum::default();
        best.iter().for_each(|best| value_sum.add(best.gain));
        if !is_same {
            self.write_spends(funded, answer);
        }
        if self.has_floors {
            self.base_success
                .iter()
                .zip(values)
                .for_each(|(base_success, value)| value_sum.add(base_success * value));
        }
        value_sum.value()
    }

    /// Writes spend and success of the tasks funded now and of those funded in the last call.
    fn write_spends(&mut self, funded: usize, answer: &mut Allocation) {
        if self.written == 0 {
            answer.spend.fill(0.0);
            answer.success.copy_from_slice(&self.base_success);
        }
        for &task in &self.funded[..self.written] {
            (answer.spend[task], answer.success[task]) = (0.0, self.base_success[task]);
        }
        for (best, place) in self.best[..funded].iter().zip(&mut self.funded) {
            (answer.spend[best.task], answer.success[best.task]) =
                (self.at, self.full_success[best.task]);
            *place = best.task;
        }
        self.written = funded;
    }
}

fn larger(one: f64, other: f64) -> f64 {
    if one > other { one } else { other }
}

fn smaller(one: f64, other: f64) -> f64 {
    if one < other { one } else { other }
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
