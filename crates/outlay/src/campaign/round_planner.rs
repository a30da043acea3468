//! The decision of a round: a learner, the oracle that turns its weights into an allocation, and
//! the guards that restrict the allocation.
//!
//! A planner does not track open rounds. A [`Campaign`](super::Campaign) keeps them in memory, the
//! service in its store.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::guards::{self, GuardReport, GuardState, Guards};
use super::{CampaignError, CampaignOptions, GuardError, RoundConditions};
use crate::feedback::{Completions, Feedback, Outcome};
use crate::learner::{
    Counts, Decision, Learner, LearnerChoice, LearnerInputs, LearnerSpec, LearnerState, StateError,
};
use crate::numeric::compensated::sum;
use crate::oracle::{Allocation, AllocationError, Options, Oracle};
use crate::problem::{Leftover, Problem, Task, covers};

/// A learner with its oracle and guards.
#[derive(Debug)]
pub struct RoundPlanner {
    pub(super) choice: LearnerChoice,
    pub(super) names: Vec<String>,
    problem: Problem,
    pub(super) learner: Box<dyn Learner>,
    /// The completions of the log that the learner started from, of the tasks that have some.
    seen: Vec<(usize, Completions)>,
    /// Whether the learner receives only the total reward of a round (bandit feedback).
    pub(super) sees_gains: bool,
    /// Whether tasks may complete more than once in a round.
    has_counts: bool,
    revises_weights: bool,
    pub(super) oracle: Oracle,
    /// The oracle of the last round that had curves of its own.
    round_oracle: Option<Box<Oracle>>,
    options: Options,
    always_cold: bool,
    cancel: Option<Arc<AtomicBool>>,
    weights: Vec<f64>,
    /// An allocation that the learner chose itself.
    pub(super) own: Allocation,
    /// The state of the guards, if there are any.
    pub(super) guard_state: Option<Box<GuardState>>,
    source: Source,
    /// Present if tasks are retired.
    retired: Option<Box<RetiredTasks>>,
}

/// The tasks that are not retired, for problems in which some are.
#[derive(Debug)]
struct RetiredTasks {
    active: Vec<bool>,
    /// The available tasks of the last round, reused.
    available: Vec<bool>,
}

impl RetiredTasks {
    fn of(problem: &Problem) -> Option<Box<Self>> {
        let active: Vec<bool> = problem.tasks().iter().map(|task| !task.is_retired()).collect();
        let available = active.clone();
        active.contains(&false).then(|| Box::new(Self { active, available }))
    }

    /// Marks the tasks that are available and not retired.
    fn set_available(&mut self, available: Option<&[bool]>) {
        self.available.copy_from_slice(&self.active);
        for (active, is_there) in self.available.iter_mut().zip(available.unwrap_or_default()) {
            *active &= is_there;
        }
    }
}

/// Where the last allocation is stored.
#[derive(Debug, Clone, Copy)]
enum Source {
    Oracle,
    RoundOracle,
    Guards,
    Learner,
}

impl RoundPlanner {
    /// A planner without observations but those of the log: see [`CampaignOptions::ignore_seen`].
    ///
    /// # Errors
    /// If the learner cannot be built (see [`LearnerSpec::build`]) or the guards are inconsistent.
    pub fn new(problem: &Problem, options: CampaignOptions) -> Result<Self, CampaignError> {
        let CampaignOptions { learner: choice, horizon, feedback, seed, guards, .. } = options;
        let feedback = feedback.unwrap_or_else(|| choice.feedback());
        let mut learner = choice.build(&LearnerInputs { problem, horizon, feedback, seed })?;
        let sees_gains = choice.feedback() == Feedback::Bandit;
        let uses_seen = !(options.ignore_seen || sees_gains || learner.needs_spends());
        let seen = if uses_seen { completions_seen(problem) } else { Vec::new() };
        for &(task, completions) in &seen {
            learner.observe(task, Outcome::of(completions));
        }
        let tasks = problem.tasks().len();
        let mut planner = Self {
            names: problem.tasks().iter().map(|task| task.name().to_owned()).collect(),
            problem: problem.clone(),
            seen,
            sees_gains,
            has_counts: problem.has_counts(),
            revises_weights: learner.revises_weights(),
            choice,
            learner,
            oracle: Oracle::new(problem),
            round_oracle: None,
            options: Options { leftover: problem.leftover(), ..Options::default() },
            always_cold: options.always_cold,
            cancel: None,
            weights: vec![0.0; tasks],
            own: Allocation::empty(tasks),
            guard_state: None,
            source: Source::Learner,
            retired: RetiredTasks::of(problem),
        };
        planner.guard(problem, guards)?;
        Ok(planner)
    }

    /// Restricts every later allocation by `guards`. `problem` is the problem of the planner.
    ///
    /// # Errors
    /// If the guards contradict each other, the tasks or the budget, or the learner chooses its
    /// allocation itself.
    fn guard(&mut self, problem: &Problem, guards: Guards) -> Result<(), CampaignError> {
        if guards.is_empty() {
            self.guard_state = None;
            return Ok(());
        }
        if self.choice.built_in().is_some_and(LearnerSpec::chooses_allocation) {
            return Err(GuardError::ChoosesAllocation(self.choice.to_string()).into());
        }
        self.guard_state = Some(Box::new(GuardState::new(problem, guards)?));
        Ok(())
    }

    /// The guards that restrict every allocation.
    #[must_use]
    pub fn guards(&self) -> Guards {
        self.guard_state.as_ref().map(|state| *state.guards()).unwrap_or_default()
    }

    /// Starts every later search cold.
    pub(super) fn set_always_cold(&mut self) {
        self.always_cold = true;
    }

    /// Lets another thread cancel a decision, see [`Oracle::set_cancel`]. The planner must be built
    /// again after a cancelled one, because the learner may have counted it.
    pub fn set_cancel(&mut self, cancel: Option<Arc<AtomicBool>>) {
        self.oracle.set_cancel(cancel.clone());
        self.cancel = cancel;
    }

    /// Sets the spend with which the guards, if there are any, compare the next one of a task.
    pub fn set_reference_spend(&mut self, task: usize, spend: f64) {
        if let Some(state) = self.guard_state.as_mut().filter(|_| task < self.names.len()) {
            state.set_reference_spend(task, spend);
        }
    }

    /// The numbers that the learner wrote for the last round: weights or an allocation.
    #[must_use]
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The largest possible gain of a round, in multiples of the largest reward.
    pub(super) fn largest_gain(&self) -> f64 {
        if self.has_counts { f64::INFINITY } else { self.names.len() as f64 }
    }

    /// Whether larger rewards than the largest one are clipped.
    pub(super) fn clips_rewards(&self) -> bool {
        self.problem.reward_over_max().clips()
    }

    /// Accepts gains of rounds in which tasks completed more than once.
    pub(super) fn accept_counts(&mut self) {
        self.has_counts = true;
    }

    /// The effect of the guards on the last round, if there are any.
    #[must_use]
    pub fn guard_report(&self) -> Option<&GuardReport> {
        self.guard_state.as_ref().map(|state| &state.report)
    }

    /// The last allocation.
    #[must_use]
    pub fn last(&self) -> &Allocation {
        let of_guards = || self.guard_state.as_ref().map(|state| &state.answer);
        let of_round = || self.round_oracle.as_ref().map(|oracle| oracle.last());
        match self.source {
            Source::Oracle => self.oracle.last(),
            Source::RoundOracle => of_round().unwrap_or(&self.own),
            Source::Guards => of_guards().unwrap_or(&self.own),
            Source::Learner => &self.own,
        }
    }

    /// Checks that a round with these conditions can be decided. Built-in learners then decide it
    /// without an error.
    ///
    /// # Errors
    /// If there is not one entry per task, a task with a positive lower bound is unavailable, the
    /// budget does not cover the lower bounds, a scale or volume is invalid, or the learner cannot
    /// use it.
    #[inline]
    pub fn check(&self, round: u64, conditions: &RoundConditions<'_>) -> Result<(), CampaignError> {
        if let Some(available) = conditions.available {
            self.check_tasks(round, available)?;
        }
        if conditions.scale.is_some() || conditions.volume.is_some() {
            self.check_curves(conditions)?;
        }
        Ok(self.oracle.check_budget(conditions.budget)?)
    }

    fn check_curves(&self, conditions: &RoundConditions<'_>) -> Result<(), CampaignError> {
        self.problem.check_round(conditions.scale, conditions.volume)?;
        self.check_learner(conditions)
    }

    /// Checks that the learner can use the scales and volumes.
    fn check_learner(&self, conditions: &RoundConditions<'_>) -> Result<(), CampaignError> {
        let RoundConditions { scale, volume, .. } = *conditions;
        let has_scale = scale.is_some_and(|scale| scale.iter().any(|scale| *scale != 1.0));
        let refused = |learner: &LearnerSpec| {
            let refuses_scale = has_scale && !learner.allows_scale();
            let refuses_volume = volume.is_some() && !learner.allows_volume();
            refuses_scale.then_some("scale").or(refuses_volume.then_some("volume"))
        };
        match self.choice.built_in().and_then(refused) {
            None => Ok(()),
            Some(what) => {
                Err(CampaignError::FixedCurves { what, learner: self.choice.to_string() })
            }
        }
    }

    /// Checks that a list has one entry per task.
    fn check_length(&self, what: &'static str, got: usize) -> Result<(), CampaignError> {
        let expected = self.names.len();
        if got == expected { Ok(()) } else { Err(CampaignError::Count { what, expected, got }) }
    }

    fn check_tasks(&self, round: u64, available: &[bool]) -> Result<(), CampaignError> {
        self.check_length("available", available.len())?;
        match available
            .iter()
            .zip(self.problem.tasks())
            .position(|(there, task)| !there && task.bounds().min > 0.0)
        {
            None => Ok(()),
            Some(task) => Err(CampaignError::Needed {
                task: self.names[task].clone(),
                round,
                min: self.problem.tasks()[task].bounds().min,
            }),
        }
    }

    /// The allocation of a round that was [checked](Self::check). Retired tasks are unavailable. If
    /// the learner chooses the allocation itself, `value`, `upper_bound` and `price` are zero.
    ///
    /// # Errors
    /// If the budget does not cover the lower bounds, or a scale or volume is invalid.
    #[inline]
    pub fn decide(
        &mut self,
        round: u64,
        conditions: &RoundConditions<'_>,
    ) -> Result<&Allocation, CampaignError> {
        if self.retired.is_some() {
            return self.decide_without_retired(round, conditions);
        }
        self.decide_with_curves(round, conditions)
    }

    #[cold]
    fn decide_without_retired(
        &mut self,
        round: u64,
        conditions: &RoundConditions<'_>,
    ) -> Result<&Allocation, CampaignError> {
        let Some(mut retired) = self.retired.take() else {
            return self.decide_with_curves(round, conditions);
        };
        retired.set_available(conditions.available);
        let available = Some(retired.available.as_slice());
        let conditions = RoundConditions { available, ..*conditions };
        let decided = self.decide_with_curves(round, &conditions).map(|_| ());
        self.retired = Some(retired);
        decided.map(|()| self.last())
    }

    /// The available tasks of the last decision, for which these were given: without retired ones.
    pub(super) fn without_retired<'a>(
        &'a self,
        available: Option<&'a [bool]>,
    ) -> Option<&'a [bool]> {
        self.retired.as_ref().map_or(available, |retired| Some(&retired.available))
    }

    #[inline]
    fn decide_with_curves(
        &mut self,
        round: u64,
        conditions: &RoundConditions<'_>,
    ) -> Result<&Allocation, CampaignError> {
        if conditions.has_own_curves() {
            return self.decide_with_own_curves(round, conditions);
        }
        self.decide_for(round, conditions, None)
    }

    /// Not inlined, so that rounds with the curves of the problem stay fast.
    #[cold]
    fn decide_with_own_curves(
        &mut self,
        round: u64,
        conditions: &RoundConditions<'_>,
    ) -> Result<&Allocation, CampaignError> {
        let problem = self.problem.in_round(conditions.scale, conditions.volume)?;
        self.decide_for(round, conditions, Some(&problem))
    }

    /// Decides a round. `problem` is that of a round with curves of its own.
    #[inline]
    fn decide_for(
        &mut self,
        round: u64,
        conditions: &RoundConditions<'_>,
        problem: Option<&Problem>,
    ) -> Result<&Allocation, CampaignError> {
        if self.always_cold {
            self.oracle.reset();
        }
        let (budget, available) = (conditions.budget, conditions.available);
        let decision = self.learner.decide(&conditions.context(round), &mut self.weights);
        self.source = match (decision, problem) {
            (Decision::Weights, problem) if self.guard_state.is_some() => {
                self.maximise_within_guards(budget, available, problem)?;
                Source::Guards
            }
            (Decision::Weights, None) => {
                self.maximise(budget, available)?;
                Source::Oracle
            }
            (Decision::Weights, Some(problem)) => {
                self.maximise_in_round(budget, available, problem)?;
                Source::RoundOracle
            }
            (Decision::Allocation, _) if self.guard_state.is_some() => {
                return Err(GuardError::ChoosesAllocation(self.choice.to_string()).into());
            }
            (Decision::Allocation, problem) => {
                self.write_own_split(budget, problem)?;
                Source::Learner
            }
        };
        Ok(self.last())
    }

    /// The allocation that [`RoundPlanner::decide`] would return, without any effect on later
    /// rounds.
    ///
    /// # Errors
    /// As [`RoundPlanner::check`].
    pub fn preview(
        &mut self,
        round: u64,
        conditions: &RoundConditions<'_>,
    ) -> Result<&Allocation, CampaignError> {
        self.check(round, conditions)?;
        let reference = self.guard_state.as_ref().map(|state| state.save());
        // The other learners count their decisions.
        let learner = (!self.is_count_based()).then(|| self.learner.clone());
        self.decide(round, conditions)?;
        if let Some(learner) = learner {
            self.learner = learner;
        }
        if let Some((state, reference)) = self.guard_state.as_mut().zip(reference) {
            state.restore(reference);
        }
        Ok(self.last())
    }

    fn is_count_based(&self) -> bool {
        self.choice.built_in().is_some_and(LearnerSpec::is_count_based)
    }

    /// Replays a round that was issued with this allocation: the learner may count its decisions,
    /// and the guards compare the next allocation with this one. Tasks that have been retired since
    /// may have been available.
    ///
    /// # Errors
    /// If the number of entries differs from the number of tasks. Nothing changes then.
    pub fn replay_round(
        &mut self,
        round: u64,
        conditions: &RoundConditions<'_>,
        spend: &[f64],
    ) -> Result<(), CampaignError> {
        self.check_length("spend", spend.len())?;
        self.replay_cancelled(round, conditions)?;
        if let Some(state) = &mut self.guard_state {
            state.set_reference(conditions.budget, conditions.available, spend);
        }
        Ok(())
    }

    /// Replays a round that was issued and then cancelled: the learner may count its decisions.
    ///
    /// The problem may have been amended since, so its bounds and its law of completions are not
    /// applied.
    ///
    /// # Errors
    /// If the budget is invalid, there is not one entry per task, or the learner cannot use a scale
    /// or volume. Nothing changes then.
    pub fn replay_cancelled(
        &mut self,
        round: u64,
        conditions: &RoundConditions<'_>,
    ) -> Result<(), CampaignError> {
        let RoundConditions { budget, available, scale, volume } = *conditions;
        let lists = [
            ("available", available.map(<[bool]>::len)),
            ("scale", scale.map(<[f64]>::len)),
            ("volume", volume.map(<[f64]>::len)),
        ];
        for (what, length) in lists {
            self.check_length(what, length.unwrap_or(self.names.len()))?;
        }
        self.check_learner(conditions)?;
        if !(budget >= 0.0 && budget.is_finite()) {
            return Err(AllocationError::BadBudget(budget).into());
        }
        // Its decision is not used.
        self.learner.decide(&conditions.context(round), &mut self.weights);
        Ok(())
    }

    /// Learns from the outcome of a task in a round in which `spend` was spent on it. The order
    /// matters only to learners that are not [count-based](LearnerSpec::is_count_based).
    ///
    /// # Errors
    /// If there is no such task.
    pub fn observe(
        &mut self,
        task: usize,
        spend: f64,
        outcome: Outcome,
    ) -> Result<(), CampaignError> {
        if task >= self.names.len() {
            return Err(CampaignError::NoTask(task));
        }
        if self.learner.needs_spends() {
            self.learner.observe_spent(task, spend, outcome);
        } else {
            self.learner.observe(task, outcome);
        }
        Ok(())
    }

    /// Replaces all observations by these counts: completions, and the sums of their rewards in
    /// billionths of the largest one. The completions of the log that the planner started from are
    /// added to them.
    ///
    /// # Errors
    /// If the learner is not [count-based](LearnerSpec::is_count_based), or the counts are invalid.
    pub fn set_counts(
        &mut self,
        completions: &[u64],
        reward_sums: &[u64],
    ) -> Result<(), StateError> {
        if !self.is_count_based() {
            return Err(StateError::NotCountBased(self.choice.to_string()));
        }
        if self.sees_gains {
            return Ok(());
        }
        let mut counts = Counts::from_parts(completions.to_vec(), reward_sums.to_vec());
        counts.check(self.names.len())?;
        self.seen.iter().for_each(|&(task, completions)| counts.add_all(task, completions));
        self.learner.load(&LearnerState::Counts(counts))
    }

    /// Leaves the best allocation for the learner's weights in the oracle.
    #[inline(always)]
    fn maximise(&mut self, budget: f64, available: Option<&[bool]>) -> Result<(), AllocationError> {
        if available.is_none() && !self.revises_weights {
            return self.oracle.allocate(&self.weights, budget, &self.options).map(|_| ());
        }
        self.maximise_repeatedly(budget, available)
    }

    /// [`RoundPlanner::maximise`] if tasks are unavailable or the learner may reconsider.
    fn maximise_repeatedly(
        &mut self,
        budget: f64,
        available: Option<&[bool]>,
    ) -> Result<(), AllocationError> {
        // A task that is not there is worth nothing, and so gets nothing; what is left over must
        // not land on it either.
        let options = if available.is_some() {
            Options { leftover: Leftover::Keep, ..self.options }
        } else {
            self.options
        };
        loop {
            for (weight, there) in self.weights.iter_mut().zip(available.unwrap_or_default()) {
                *weight = if *there { *weight } else { 0.0 };
            }
            let allocation = self.oracle.allocate(&self.weights, budget, &options)?;
            if !(self.revises_weights
                && self.learner.revise_weights(&allocation.success, &mut self.weights))
            {
                return Ok(());
            }
        }
    }

    /// Leaves the best allocation under the curves of this round in the round's own oracle, which
    /// starts cold. The oracle of the problem and its warm start stay as they were.
    fn maximise_in_round(
        &mut self,
        budget: f64,
        available: Option<&[bool]>,
        problem: &Problem,
    ) -> Result<(), AllocationError> {
        let mut oracle = Oracle::new(problem);
        oracle.set_cancel(self.cancel.clone());
        std::mem::swap(&mut self.oracle, &mut oracle);
        let result = self.maximise(budget, available);
        std::mem::swap(&mut self.oracle, &mut oracle);
        self.round_oracle = Some(Box::new(oracle));
        result
    }

    /// Leaves the best allocation for the learner's weights that the guards allow in their state.
    /// `problem` is that of a round with curves of its own.
    fn maximise_within_guards(
        &mut self,
        budget: f64,
        available: Option<&[bool]>,
        problem: Option<&Problem>,
    ) -> Result<(), AllocationError> {
        let Some(state) = &mut self.guard_state else { return Ok(()) };
        loop {
            let round = guards::Round {
                problem,
                weights: &self.weights,
                budget,
                available,
                options: &self.options,
                cancel: self.cancel.as_ref(),
            };
            state.solve(&round)?;
            if !(self.revises_weights
                && self.learner.revise_weights(&state.answer.success, &mut self.weights))
            {
                break;
            }
        }
        state.compute_costs(&guards::Round {
            problem,
            weights: &self.weights,
            budget,
            available,
            options: &self.options,
            cancel: self.cancel.as_ref(),
        })?;
        let spend = std::mem::take(&mut state.answer.spend);
        state.set_reference(budget, available, &spend);
        state.answer.spend = spend;
        Ok(())
    }

    /// Leaves the allocation that the learner chose in `own`. `problem` is that of a round with
    /// curves of its own.
    fn write_own_split(
        &mut self,
        budget: f64,
        problem: Option<&Problem>,
    ) -> Result<(), CampaignError> {
        if !(budget >= 0.0 && budget.is_finite()) {
            return Err(AllocationError::BadBudget(budget).into());
        }
        let is_amount = |spend: &f64| *spend >= 0.0 && spend.is_finite();
        let spends = || self.weights.iter().copied();
        if !(self.weights.iter().all(is_amount) && covers(budget, spends())) {
            let (learner, total) = (self.choice.to_string(), sum(spends()));
            return Err(CampaignError::InvalidAllocation { learner, total, budget });
        }
        let own = &mut self.own;
        own.budget = budget;
        own.spend.copy_from_slice(&self.weights);
        let tasks = problem.unwrap_or(&self.problem).tasks();
        for ((success, task), &spend) in own.success.iter_mut().zip(tasks).zip(&own.spend) {
            *success = task.curve().success(spend);
        }
        own.unspent = (budget - own.spend.iter().sum::<f64>()).max(0.0);
        Ok(())
    }
}

/// The completions that the logs of the tasks have seen.
fn completions_seen(problem: &Problem) -> Vec<(usize, Completions)> {
    let reward_max = problem.reward_max();
    let seen = |task: &Task| task.seen()?.completions(reward_max);
    let tasks = problem.tasks().iter().enumerate();
    tasks.filter_map(|(task, definition)| Some((task, seen(definition)?))).collect()
}
