//! `lattimore`: saturating linear curves of unknown slope, after T. Lattimore, K. Crammer and C.
//! Szepesvári, "Optimal resource allocation with semi-bandit feedback" (UAI 2014, arXiv:1406.3840).
//!
//! Assumes curves min(1, x/ν) and rewards of 1, with ν unknown. It ignores the problem's curves and
//! the rewards and uses only which tasks completed at which spend. On other curves its allocations
//! are feasible, but there is no reason to use it.
//!
//! For each task it keeps bounds low <= ν <= high that only tighten. In increasing order of `low`,
//! each task gets its `low` or the remaining budget: the optimistic split. As no spend x is above
//! ν, a task completes with probability exactly x/ν, so that
//!
//! ```text
//! 1/ν  is within  Σ w B / Σ w x  ±  f / Σ w x,      w = 1 / (1 − x/high)
//! f = a + sqrt(2 (V + 1) l + a²),   a = (R + 1) l / 3,   l = log(6 (R + 1)² (V + 1)² (T K)²),   R = max w,   V = Σ w x / low
//! ```
//!
//! with high probability, where B is 1 for a completion. The weights are close to the inverse
//! variances: near ν a completion is almost certain, a failure is informative, and the bounds
//! tighten like 1/t instead of 1/√t.
//!
//! The principle is that of the paper; the start-up phase is ours. A task without a `low` receives a
//! K-th of the budget, then half of the last sufficient spend, until it fails: a failure at x means
//! ν > x. If a fifth of the budget or more is left after every task received its `low`, the tasks
//! share it in proportion. A task that then fails has its `low` raised by at least a quarter, which
//! happens a bounded number of times, and a round without possible failures has no regret. The rest
//! is not spent, because outcomes above `low` cannot be counted. Bounds on spends, absent tasks,
//! varying budgets and late outcomes are our additions as well.
//!
//! Guarantee: the paper proves O(log² T) for its algorithm. We have no proof for this one; the
//! regrets measured grow like it.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::{Decision, Learner, LearnerState, RoundContext, StateError};
use crate::feedback::Outcome;
use crate::problem::{Bounds, Problem};

/// The largest weight of an outcome: where the bounds meet, the weight would be infinite. Smaller
/// weights are valid, too.
const MAX_WEIGHT: f64 = 1e6;
/// The smallest first trial, as a share of the budget.
const MIN_TRIAL: f64 = 1e-18;
/// The residual budget is distributed if it is at least this share of the allocated one.
const MIN_RESIDUAL: f64 = 0.25;

#[derive(Debug, Clone)]
pub(super) struct Lattimore {
    bounds: Vec<Bounds>,
    /// `log(6 (T K)²)`.
    log_confidence: f64,
    state: LattimoreState,
    /// Tasks by their lower bounds.
    order: Vec<usize>,
}

/// The saved state of `lattimore`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LattimoreState {
    tasks: Vec<Difficulty>,
    /// Outcomes since the last decision. The next decision processes them sorted, so that the order
    /// of arrival has no effect.
    #[serde(rename = "news")]
    pending: Vec<Observation>,
}

/// Estimates of ν, the spend at which a task always completes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Difficulty {
    /// ν is at least this; 0 until the first failure.
    low: f64,
    /// ν is at most this; absent: unknown.
    high: Option<f64>,
    /// The smallest spend with a completion.
    sufficed: Option<f64>,
    /// Σ w B.
    completions: f64,
    /// Σ w x.
    spend: f64,
    /// V: a bound on the variance of Σ w B.
    variance: f64,
    /// R.
    largest_weight: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Observation {
    task: usize,
    spend: f64,
    completed: bool,
}

impl Observation {
    fn order(&self, other: &Self) -> Ordering {
        let by_spend = || self.spend.total_cmp(&other.spend);
        self.task.cmp(&other.task).then_with(by_spend).then(self.completed.cmp(&other.completed))
    }
}

impl Difficulty {
    /// Learns from the outcomes of this task since the last decision.
    fn learn(&mut self, observations: &[Observation], log_confidence: f64) {
        // Which outcomes count, and with which weight, is fixed before any of them is used:
        // otherwise lucky ones would count more.
        let (low, high) = (self.low, self.high);
        for &Observation { spend, completed, .. } in observations {
            if spend <= low {
                self.count(spend, completed, low, high);
            }
            if completed {
                self.sufficed = Some(self.sufficed.map_or(spend, |least| least.min(spend)));
            } else {
                self.low = self.low.max(spend);
            }
        }
        self.tighten(log_confidence);
    }

    fn count(&mut self, spend: f64, completed: bool, low: f64, high: Option<f64>) {
        let chance = high.map_or(0.0, |high| spend / high);
        let weight = 1.0 / (1.0 - chance).max(1.0 / MAX_WEIGHT);
        self.completions += if completed { weight } else { 0.0 };
        self.spend += weight * spend;
        self.variance += weight * spend / low;
        self.largest_weight = self.largest_weight.max(weight);
    }

    fn tighten(&mut self, log_confidence: f64) {
        let (slope, width) = (self.completions / self.spend, self.width(log_confidence));
        let (least, most) = (1.0 / (slope + width), 1.0 / (slope - width));
        if least.is_finite() {
            self.low = self.low.max(least);
        }
        if most > 0.0 && most.is_finite() {
            self.high = Some(self.high.map_or(most, |high| high.min(most)));
        }
    }

    /// The confidence width of the estimated slope 1/ν.
    fn width(&self, log_confidence: f64) -> f64 {
        let log = log_confidence + 2.0 * self.largest_weight.ln_1p() + 2.0 * self.variance.ln_1p();
        let jump = (self.largest_weight + 1.0) * log / 3.0;
        (jump + (2.0 * (self.variance + 1.0) * log + jump * jump).sqrt()) / self.spend
    }

    /// The largest spend that is certainly at most ν; before the first failure a trial.
    fn demand(&self, share: f64, min_trial: f64) -> f64 {
        if self.low > 0.0 {
            return self.low;
        }
        self.sufficed.map_or(share, |least| share.min(0.5 * least)).max(min_trial)
    }

    fn is_valid(&self) -> bool {
        let numbers = [self.low, self.completions, self.spend, self.variance, self.largest_weight];
        let spends = [self.high, self.sufficed].into_iter().flatten();
        numbers.into_iter().all(is_amount)
            && spends.into_iter().all(|spend| is_amount(spend) && spend > 0.0)
    }
}

fn is_amount(number: f64) -> bool {
    number >= 0.0 && number.is_finite()
}

impl Lattimore {
    pub(super) fn learner(problem: &Problem, horizon: u64) -> Box<dyn Learner> {
        Box::new(Self::new(problem, horizon))
    }

    fn new(problem: &Problem, horizon: u64) -> Self {
        let tasks = problem.tasks().len();
        Self {
            bounds: problem.tasks().iter().map(|task| task.bounds()).collect(),
            log_confidence: 6.0_f64.ln() + 2.0 * ((horizon as f64).ln() + (tasks as f64).ln()),
            state: LattimoreState {
                tasks: vec![Difficulty::default(); tasks],
                pending: Vec::new(),
            },
            order: (0..tasks).collect(),
        }
    }

    fn learn_pending(&mut self) {
        let LattimoreState { tasks, pending } = &mut self.state;
        pending.sort_unstable_by(Observation::order);
        for of_one_task in pending.chunk_by(|one, other| one.task == other.task) {
            tasks[of_one_task[0].task].learn(of_one_task, self.log_confidence);
        }
        pending.clear();
    }

    /// Distributes the residual budget over the tasks that have failed before, in proportion to
    /// their spends.
    fn distribute_residual(&self, left: f64, spends: &mut [f64]) {
        let has_failed = |task: usize| self.state.tasks[task].low > 0.0;
        let given: f64 = spends
            .iter()
            .enumerate()
            .filter(|(task, _)| has_failed(*task))
            .map(|(_, spend)| spend)
            .sum();
        if !(given > 0.0 && left >= MIN_RESIDUAL * given) {
            return;
        }
        let more = 1.0 + left / given;
        for (task, (spend, bounds)) in spends.iter_mut().zip(&self.bounds).enumerate() {
            if has_failed(task) {
                *spend = (*spend * more).min(bounds.max);
            }
        }
    }
}

impl Learner for Lattimore {
    fn needs_spends(&self) -> bool {
        true
    }

    fn decide(&mut self, context: &RoundContext<'_>, numbers: &mut [f64]) -> Decision {
        self.learn_pending();
        let tasks = &self.state.tasks;
        self.order.sort_unstable_by(|&one, &other| {
            tasks[one].low.total_cmp(&tasks[other].low).then(one.cmp(&other))
        });
        let mut left = context.budget;
        for (task, (spend, bounds)) in numbers.iter_mut().zip(&self.bounds).enumerate() {
            *spend = if context.has(task) { bounds.min } else { 0.0 };
            left -= *spend;
        }
        let share = context.budget / tasks.len() as f64;
        for &task in self.order.iter().filter(|task| context.has(**task)) {
            let Bounds { min, max, at_least } = self.bounds[task];
            let demand =
                tasks[task].demand(share, MIN_TRIAL * context.budget).max(at_least).min(max);
            let spend = demand.min(min + left);
            if spend > min && spend >= at_least {
                numbers[task] = spend;
                left -= spend - min;
            }
        }
        self.distribute_residual(left, numbers);
        Decision::Allocation
    }

    fn observe(&mut self, _: usize, _: Outcome) {}

    fn observe_spent(&mut self, task: usize, spend: f64, outcome: Outcome) {
        let completed = match outcome {
            Outcome::Done(_) | Outcome::Counted(_) => true,
            Outcome::Failed | Outcome::Forgone(_) => false,
            Outcome::Missing => return,
        };
        // A task without spend is uninformative.
        if spend > 0.0 && spend.is_finite() && task < self.state.tasks.len() {
            self.state.pending.push(Observation { task, spend, completed });
        }
    }

    fn save(&self) -> LearnerState {
        let mut state = self.state.clone();
        state.pending.sort_unstable_by(Observation::order);
        LearnerState::Lattimore(state)
    }

    fn load(&mut self, state: &LearnerState) -> Result<(), StateError> {
        let state = match state {
            LearnerState::Lattimore(state) => state.clone(),
            other => other.read()?,
        };
        let tasks = self.bounds.len();
        let is_pending_valid = state
            .pending
            .iter()
            .all(|seen| seen.task < tasks && is_amount(seen.spend) && seen.spend > 0.0);
        if state.tasks.len() != tasks
            || !state.tasks.iter().all(Difficulty::is_valid)
            || !is_pending_valid
        {
            return Err(StateError::SlopeBounds(tasks));
        }
        self.state = state;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback::Reward;
    use crate::instance::Instance;
    use crate::random::{Draws, Purpose};

    const FULL_AT: [f64; 5] = [0.5, 0.2, 0.9, 0.3, 0.4];

    fn learner(full_at: &[f64], horizon: u64) -> Lattimore {
        let list: Vec<String> = full_at.iter().map(f64::to_string).collect();
        let instance: Instance =
            format!("saturating-jobs:full_at={}", list.join(";")).parse().unwrap();
        Lattimore::new(&instance.problem(horizon, 1).unwrap(), horizon)
    }

    /// Plays to the horizon; `look` is called with every state and split.
    fn play(
        learner: &mut Lattimore,
        full_at: &[f64],
        horizon: u64,
        seed: u64,
        mut look: impl FnMut(u64, &Lattimore, &[f64]),
    ) {
        let draws = Draws::new(seed, Purpose::Completion);
        let mut spend = vec![0.0; full_at.len()];
        for round in 1..=horizon {
            learner.decide(
                &RoundContext { round, budget: 1.0, ..RoundContext::default() },
                &mut spend,
            );
            look(round, learner, &spend);
            for (task, (&spend, &full_at)) in spend.iter().zip(full_at).enumerate() {
                let completes = draws.round(round).uniform(task) < spend / full_at;
                learner.observe_spent(
                    task,
                    spend,
                    if completes { Outcome::Done(Reward::MAX) } else { Outcome::Failed },
                );
            }
        }
    }

    #[test]
    fn the_bounds_contain_the_truth_and_only_tighten() {
        for full_at in [FULL_AT.as_slice(), &[0.1, 0.2, 0.3], &[1.5, 3.0], &[1e-6, 0.7, 40.0]] {
            for seed in 1..=40 {
                let mut bounds = vec![(0.0, f64::INFINITY); full_at.len()];
                play(&mut learner(full_at, 3000), full_at, 3000, seed, |round, learner, _| {
                    for ((known, truth), before) in
                        learner.state.tasks.iter().zip(full_at).zip(&mut bounds)
                    {
                        let now = (known.low, known.high.unwrap_or(f64::INFINITY));
                        // A trial may fail at ν itself only by rounding.
                        assert!(
                            now.0 <= truth * (1.0 + 1e-12) && now.1 >= *truth,
                            "seed {seed}, round {round}: {truth} in {now:?}"
                        );
                        assert!(now.0 >= before.0 && now.1 <= before.1);
                        *before = now;
                    }
                });
            }
        }
    }

    /// In the end ν is known to a few percent for funded tasks: the bounds are not trivially wide.
    #[test]
    fn the_bounds_of_funded_tasks_tighten() {
        let mut learner = learner(&FULL_AT, 20_000);
        play(&mut learner, &FULL_AT, 20_000, 1, |_, _, _| {});
        for task in [1, 3, 4] {
            let known = &learner.state.tasks[task];
            assert!(
                known.low > 0.97 * FULL_AT[task]
                    && known.high.is_some_and(|high| high < 1.03 * FULL_AT[task]),
                "{task}: {known:?}"
            );
        }
    }

    #[test]
    fn the_first_trials_halve_until_they_fail() {
        let mut learner = learner(&[0.5, 0.5], 100);
        let mut spend = [0.0; 2];
        let context = RoundContext { round: 1, budget: 1.0, ..RoundContext::default() };
        for trial in [0.5, 0.25, 0.125] {
            learner.decide(&context, &mut spend);
            assert_eq!(spend, [trial; 2]);
            (0..2).for_each(|task| learner.observe_spent(task, trial, Outcome::Done(Reward::MAX)));
        }
        learner.observe_spent(0, 0.0625, Outcome::Failed);
        learner.observe_spent(1, 0.0625, Outcome::Missing);
        learner.decide(&context, &mut spend);
        // The second still tries; the first gets the whole residual, as its `low` is small.
        assert_eq!(spend, [0.9375, 0.0625]);
        assert_eq!((learner.state.tasks[0].low, learner.state.tasks[1].low), (0.0625, 0.0));
    }

    #[test]
    fn a_task_that_never_fails_costs_next_to_nothing() {
        let mut learner = learner(&[0.5, 0.5], 100);
        let mut spend = [0.0; 2];
        for round in 1..=5000 {
            learner.decide(
                &RoundContext {
                    round,
                    budget: 1e-300,
                    available: Some(&[true, false]),
                    ..RoundContext::default()
                },
                &mut spend,
            );
            assert!(spend[0] > 0.0 && spend[1] == 0.0);
            learner.observe_spent(0, spend[0], Outcome::Done(Reward::MAX));
        }
        assert!(spend[0] < 1e-317);
    }

    #[test]
    fn invalid_states_are_rejected() {
        let mut learner = learner(&FULL_AT, 100);
        play(&mut learner, &FULL_AT, 20, 1, |_, _, _| {});
        let sound = learner.save();
        assert!(learner.load(&sound).is_ok());
        let damage: [fn(&mut serde_json::Value); 5] = [
            |state| state["tasks"][0]["low"] = (-1.0).into(),
            |state| state["tasks"][1]["high"] = 0.0.into(),
            |state| state["tasks"] = serde_json::json!([]),
            |state| state["news"][0]["task"] = 5.into(),
            |state| state["news"][0]["spend"] = 0.0.into(),
        ];
        for harm in damage {
            let mut state = serde_json::to_value(&sound).unwrap();
            harm(&mut state);
            assert!(learner.load(&LearnerState::Other(state.clone())).is_err(), "{state}");
        }
        assert_eq!(learner.save(), sound);
    }
}
