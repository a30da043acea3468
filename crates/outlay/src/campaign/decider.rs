//! Who decides a round: a learner, the oracle that turns its weights into a split, and the guards
//! around it.
//!
//! It knows what was observed, and nothing of rounds that wait for outcomes: a
//! [`Campaign`](super::Campaign) keeps these in memory, a service on a disk.

use super::CampaignError;
use super::guards::{self, GuardReport, Guards};
use crate::curve::Curve;
use crate::feedback::{Feedback, Outcome};
use crate::learner::{Decision, Learner, LearnerSpec, Situation, StateError};
use crate::oracle::{Allocation, AllocationError, Options, Oracle};
use crate::problem::{Bounds, Leftover, Problem};

/// A learner with its oracle and guards.
#[derive(Debug)]
pub struct Decider {
    pub(super) spec: LearnerSpec,
    pub(super) names: Vec<String>,
    curves: Vec<Curve>,
    bounds: Vec<Bounds>,
    pub(super) learner: Box<dyn Learner>,
    /// The learner is told sums only.
    pub(super) sees_gains: bool,
    reconsiders: bool,
    pub(super) oracle: Oracle,
    options: Options,
    is_afresh: bool,
    weights: Vec<f64>,
    /// A split that the learner named itself.
    pub(super) own: Allocation,
    /// Guards at work, if there are any.
    pub(super) watch: Option<Box<guards::Watch>>,
    source: Source,
}

/// Where the last split is.
#[derive(Debug, Clone, Copy)]
enum Source {
    Oracle,
    Guards,
    Learner,
}

impl Decider {
    /// Nothing is observed yet. A learner that needs a horizon takes `horizon`, or else the
    /// problem's; `seed` is for the learner's own draws.
    ///
    /// # Errors
    /// If the learner cannot be made: see [`LearnerSpec::build`].
    pub fn new(
        problem: &Problem,
        spec: &LearnerSpec,
        horizon: Option<u64>,
        feedback: Feedback,
        seed: u64,
    ) -> Result<Self, CampaignError> {
        let learner = spec.build(problem, horizon, feedback, seed)?;
        let tasks = problem.tasks().len();
        Ok(Self {
            spec: *spec,
            names: problem.tasks().iter().map(|task| task.name().to_owned()).collect(),
            curves: problem.tasks().iter().map(|task| task.curve().clone()).collect(),
            bounds: problem.tasks().iter().map(|task| task.bounds()).collect(),
            sees_gains: learner.needs() == Feedback::Bandit,
            reconsiders: learner.reconsiders(),
            learner,
            oracle: Oracle::new(problem),
            options: Options { leftover: problem.leftover(), ..Options::default() },
            is_afresh: false,
            weights: vec![0.0; tasks],
            own: Allocation::empty(tasks),
            watch: None,
            source: Source::Learner,
        })
    }

    /// Holds every split from now on within `guards`. `problem` is the one it was made for.
    ///
    /// # Errors
    /// If the guards contradict each other, the tasks or the budget, or the learner names its
    /// splits itself.
    pub fn guard(&mut self, problem: &Problem, guards: Guards) -> Result<(), CampaignError> {
        if guards.is_empty() {
            self.watch = None;
            return Ok(());
        }
        if self.spec.chooses_allocation() {
            let message = format!(
                "guards: {} names its splits itself, and so cannot be held within guards",
                self.spec
            );
            return Err(CampaignError::BadGuard(message));
        }
        self.watch = Some(Box::new(guards::Watch::new(problem, guards)?));
        Ok(())
    }

    /// The guards that every split is held within.
    #[must_use]
    pub fn guards(&self) -> Guards {
        self.watch.as_ref().map(|watch| *watch.guards()).unwrap_or_default()
    }

    /// Finds every split afresh from now on: no search starts where the last one ended. A split
    /// then follows from what was observed alone, to the last bit, whatever was decided before it
    /// and wherever.
    pub fn search_afresh(&mut self) {
        self.is_afresh = true;
    }

    /// What the learner wrote for the last round: weights, or a split of its own.
    #[must_use]
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// What the guards did to the last round, if there are any.
    #[must_use]
    pub fn guard_report(&self) -> Option<&GuardReport> {
        self.watch.as_ref().map(|watch| &watch.report)
    }

    /// The last split.
    #[must_use]
    pub fn last(&self) -> &Allocation {
        match (self.source, &self.watch) {
            (Source::Oracle, _) => self.oracle.last(),
            (Source::Guards, Some(watch)) => &watch.answer,
            (Source::Guards | Source::Learner, _) => &self.own,
        }
    }

    /// Whether a round can be asked for with this budget and these tasks. What passes is decided
    /// without an error, so nothing need be taken back afterwards.
    ///
    /// # Errors
    /// If there is not one entry a task, a task that must be given something is not there, or the
    /// budget does not cover the lower bounds.
    #[inline]
    pub fn check(
        &self,
        round: u64,
        budget: f64,
        available: Option<&[bool]>,
    ) -> Result<(), CampaignError> {
        self.check_tasks(round, available)?;
        Ok(self.oracle.check_budget(budget)?)
    }

    fn check_tasks(&self, round: u64, available: Option<&[bool]>) -> Result<(), CampaignError> {
        let Some(available) = available else { return Ok(()) };
        let tasks = self.names.len();
        if available.len() != tasks {
            return Err(CampaignError::Count {
                what: "available",
                expected: tasks,
                got: available.len(),
            });
        }
        match available
            .iter()
            .zip(&self.bounds)
            .position(|(there, bounds)| !there && bounds.min > 0.0)
        {
            None => Ok(()),
            Some(task) => Err(CampaignError::Needed {
                task: self.names[task].clone(),
                round,
                min: self.bounds[task].min,
            }),
        }
    }

    /// The split of a round, which has been [checked](Self::check). `available` says which tasks
    /// are there; absent: all. If the learner names it itself, `value`, `upper_bound` and `price`
    /// are zero: it maximises nothing.
    ///
    /// # Errors
    /// If the budget does not cover the lower bounds.
    #[inline]
    pub fn decide(
        &mut self,
        round: u64,
        budget: f64,
        available: Option<&[bool]>,
    ) -> Result<&Allocation, CampaignError> {
        if self.is_afresh {
            self.oracle.forget();
        }
        let situation = Situation { round, budget, available };
        let decision = self.learner.decide(&situation, &mut self.weights);
        self.source = match decision {
            Decision::Maximise if self.watch.is_some() => {
                self.maximise_within_guards(budget, available)?;
                Source::Guards
            }
            Decision::Maximise => {
                self.maximise(budget, available)?;
                Source::Oracle
            }
            Decision::Split => {
                self.write_own_split(budget)?;
                Source::Learner
            }
        };
        Ok(self.last())
    }

    /// What [`Decider::decide`] would answer, without any consequence for the rounds to come.
    ///
    /// # Errors
    /// As [`Decider::check`].
    pub fn preview(
        &mut self,
        round: u64,
        budget: f64,
        available: Option<&[bool]>,
    ) -> Result<&Allocation, CampaignError> {
        self.check(round, budget, available)?;
        let base = self.watch.as_ref().map(|watch| watch.save());
        // The others remember what they decide.
        let learnt = (!self.spec.is_count_based()).then(|| self.learner.save());
        self.decide(round, budget, available)?;
        if let Some(learnt) = learnt {
            self.learner.load(&learnt)?;
        }
        if let Some((watch, base)) = self.watch.as_mut().zip(base) {
            watch.go_back(base);
        }
        Ok(self.last())
    }

    /// A round was handed out like this, whatever would be decided today: the learner may count its
    /// decisions, and the guards hold the next split against it.
    ///
    /// # Errors
    /// If the numbers do not fit the tasks; nothing changes then.
    pub fn take_up(
        &mut self,
        round: u64,
        budget: f64,
        available: Option<&[bool]>,
        spend: &[f64],
    ) -> Result<(), CampaignError> {
        self.check_tasks(round, available)?;
        if spend.len() != self.names.len() {
            return Err(CampaignError::Count {
                what: "spend",
                expected: self.names.len(),
                got: spend.len(),
            });
        }
        if !(budget >= 0.0 && budget.is_finite()) {
            return Err(AllocationError::BadBudget(budget).into());
        }
        // What it says is not asked for.
        self.learner.decide(&Situation { round, budget, available }, &mut self.weights);
        if let Some(watch) = &mut self.watch {
            watch.follow(budget, available, spend);
        }
        Ok(())
    }

    /// Takes what came back of a task in a round in which it was given `spend`. The order matters
    /// only to learners that do not [learn by counting](LearnerSpec::is_count_based).
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

    /// Takes these counts for everything that came back so far: completions, and the sums of their
    /// rewards in billionths of the largest one.
    ///
    /// # Errors
    /// If the learner does not [learn by counting](LearnerSpec::is_count_based), or the counts
    /// cannot be any.
    pub fn set_counts(
        &mut self,
        completions: &[u64],
        reward_sums: &[u64],
    ) -> Result<(), StateError> {
        if !self.spec.is_count_based() {
            return Err(StateError(format!("{} learns from more than counts", self.spec)));
        }
        if !self.sees_gains {
            self.learner.load(
                &serde_json::json!({ "completions": completions, "reward_sum": reward_sums }),
            )?;
        }
        Ok(())
    }

    /// Leaves the best split for the learner's weights in the oracle.
    fn maximise(&mut self, budget: f64, available: Option<&[bool]>) -> Result<(), AllocationError> {
        if available.is_none() && !self.reconsiders {
            return self.oracle.allocate(&self.weights, budget, &self.options).map(|_| ());
        }
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
            if !(self.reconsiders
                && self.learner.reconsider(&allocation.success, &mut self.weights))
            {
                return Ok(());
            }
        }
    }

    /// Leaves the best split for the learner's weights that the guards allow in `watch`.
    fn maximise_within_guards(
        &mut self,
        budget: f64,
        available: Option<&[bool]>,
    ) -> Result<(), AllocationError> {
        let Some(watch) = &mut self.watch else { return Ok(()) };
        loop {
            let round =
                guards::Round { weights: &self.weights, budget, available, options: &self.options };
            watch.solve(&round)?;
            if !(self.reconsiders
                && self.learner.reconsider(&watch.answer.success, &mut self.weights))
            {
                break;
            }
        }
        watch.count_costs(&guards::Round {
            weights: &self.weights,
            budget,
            available,
            options: &self.options,
        })?;
        let spend = std::mem::take(&mut watch.answer.spend);
        watch.follow(budget, available, &spend);
        watch.answer.spend = spend;
        Ok(())
    }

    fn write_own_split(&mut self, budget: f64) -> Result<(), AllocationError> {
        if !(budget >= 0.0 && budget.is_finite()) {
            return Err(AllocationError::BadBudget(budget));
        }
        let own = &mut self.own;
        own.budget = budget;
        own.spend.copy_from_slice(&self.weights);
        for ((success, curve), &spend) in own.success.iter_mut().zip(&self.curves).zip(&own.spend) {
            *success = curve.success(spend);
        }
        own.unspent = (budget - own.spend.iter().sum::<f64>()).max(0.0);
        Ok(())
    }
}
