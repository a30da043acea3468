//! A learner at work: it hands out splits and takes what comes back, late, in part and in any
//! order.
//!
//! ```
//! use outlay::campaign::Campaign;
//! use outlay::feedback::{Feedback, Outcome, Reward};
//! use outlay::{Curve, ProblemSpec, TaskSpec};
//!
//! let tasks = vec![TaskSpec::new("search", Curve::power(0.5, 100.0)?), TaskSpec::new("social", Curve::power(0.5, 100.0)?)];
//! let problem = ProblemSpec { budget: 100.0, tasks, ..ProblemSpec::default() }.check()?;
//! let mut campaign = Campaign::new(&problem, &"kl-ucb-plus".parse()?, None, Feedback::Censored, 1)?;
//! let ticket = campaign.allocate(100.0, None)?;
//! assert_eq!(ticket.round, 1);
//! assert!((ticket.allocation.spend[0] - 50.0).abs() < 1e-9); // nothing is known yet
//! campaign.observe(1, 0, Outcome::Done(Reward::from_share(0.8)))?;
//! let next = campaign.allocate(100.0, None)?; // the outcome of "social" may still come
//! assert_eq!(next.round, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod decider;
mod guards;
mod open;
mod rebuild;
mod spends;
mod state;

pub use decider::Decider;
pub use guards::{GuardReport, Guards};
pub use state::CampaignState;

use crate::feedback::{Completion, Feedback, Outcome, Reward};
use crate::learner::{LearnerError, LearnerSpec, Played, StateError};
use crate::oracle::{Allocation, AllocationError};
use crate::problem::Problem;
use open::OpenRounds;

/// More rounds than this cannot wait for outcomes at the same time.
pub const MOST_OPEN_ROUNDS: usize = 10_000_000;

/// Something a campaign refuses.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CampaignError {
    /// The learner cannot be made.
    #[error(transparent)]
    Learner(#[from] LearnerError),
    /// The oracle refuses the budget.
    #[error(transparent)]
    Allocation(#[from] AllocationError),
    /// A saved state does not fit.
    #[error(transparent)]
    State(#[from] StateError),
    /// A task that must be given something is not there.
    #[error("task {task} is not there in round {round}, but must be given at least {min}")]
    Needed {
        /// The task.
        task: String,
        /// The round.
        round: u64,
        /// Its lower bound.
        min: f64,
    },
    /// A list is not one a task.
    #[error("{what}: {got} entries for {expected} tasks")]
    Count {
        /// Which list.
        what: &'static str,
        /// Tasks of the problem.
        expected: usize,
        /// Entries given.
        got: usize,
    },
    /// No such round is open.
    #[error("round {0} is not open: it was never handed out, or everything about it has been told")]
    NotOpen(u64),
    /// No such task.
    #[error("task {0} does not exist")]
    NoTask(usize),
    /// A task that was not there cannot have an outcome.
    #[error("task {task} was not there in round {round}")]
    NotThere {
        /// The task.
        task: String,
        /// The round.
        round: u64,
    },
    /// Something was told before.
    #[error("the outcome of task {task} in round {round} has already been told")]
    AlreadyTold {
        /// The task.
        task: String,
        /// The round.
        round: u64,
    },
    /// Outcomes of tasks do not go with bandit feedback, nor sums with the others.
    #[error("{0}")]
    WrongFeedback(&'static str),
    /// A gain is no sum of rewards.
    #[error("gain: must be between 0 and {most}, not {gain}")]
    BadGain {
        /// What was told.
        gain: f64,
        /// The number of tasks, each of which brings at most 1.
        most: f64,
    },
    /// A guard that cannot hold.
    #[error("{0}")]
    BadGuard(String),
    /// Too many rounds wait for outcomes.
    #[error("{MOST_OPEN_ROUNDS} rounds wait for their outcomes: tell some before asking for more")]
    TooManyOpen,
}

/// What is handed out: a round and its split.
#[derive(Debug, Clone, Copy)]
pub struct Ticket<'a> {
    /// The round, counted from 1; outcomes are told with it.
    pub round: u64,
    /// The split. If the learner named it itself, `value`, `upper_bound` and `price` are zero: it
    /// maximises nothing.
    pub allocation: &'a Allocation,
    /// What the guards did, if there are any.
    pub guards: Option<&'a GuardReport>,
}

/// A learner, its oracle, and the rounds whose outcomes are still to come.
#[derive(Debug)]
pub struct Campaign {
    horizon: Option<u64>,
    seed: u64,
    feedback: Feedback,
    decider: Decider,
    open: OpenRounds,
    /// For learners that need the spends of a round with its outcomes.
    spends: spends::Spends,
    round: u64,
}

impl Campaign {
    /// A campaign that has not begun. A learner that needs a horizon takes `horizon`, or else the
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
        let decider = Decider::new(problem, spec, horizon, feedback, seed)?;
        let keeps_splits = decider.sees_gains || decider.learner.needs_spends();
        let open = OpenRounds::new(problem.tasks().len(), keeps_splits);
        Ok(Self {
            horizon,
            seed,
            feedback,
            decider,
            open,
            spends: spends::Spends::default(),
            round: 0,
        })
    }

    /// Holds every split from now on within `guards`. `problem` is the one it was made for.
    ///
    /// # Errors
    /// If the guards contradict each other, the tasks or the budget, or the learner names its
    /// splits itself.
    pub fn guard(&mut self, problem: &Problem, guards: Guards) -> Result<(), CampaignError> {
        self.decider.guard(problem, guards)
    }

    /// The guards that every split is held within.
    #[must_use]
    pub fn guards(&self) -> Guards {
        self.decider.guards()
    }

    /// Finds every split afresh from now on: see [`Decider::search_afresh`].
    pub fn search_afresh(&mut self) {
        self.decider.search_afresh();
    }

    /// The learner as asked for.
    #[must_use]
    pub fn learner(&self) -> &LearnerSpec {
        &self.decider.spec
    }

    /// Rounds handed out so far.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.round
    }

    /// Rounds of which something is still to be told.
    #[must_use]
    pub fn open_rounds(&self) -> usize {
        self.open.len()
    }

    /// What the learner has learnt, as it is saved: for most of them `completions` and
    /// `reward_sum`, one a task.
    #[must_use]
    pub fn learnt(&self) -> serde_json::Value {
        self.decider.learner.save()
    }

    /// What the learner wrote for the last round: weights, or a split of its own.
    #[must_use]
    pub fn weights(&self) -> &[f64] {
        self.decider.weights()
    }

    /// The split of the next round. `available` says which tasks are there; absent: all.
    ///
    /// # Errors
    /// If the budget does not cover the lower bounds, or too many rounds are open. Nothing is
    /// handed out then.
    pub fn allocate(
        &mut self,
        budget: f64,
        available: Option<&[bool]>,
    ) -> Result<Ticket<'_>, CampaignError> {
        self.check_room()?;
        let round = self.round + 1;
        self.decider.check(round, budget, available)?;
        let allocation = self.decider.decide(round, budget, available)?;
        self.open.open(round, available, allocation);
        self.round = round;
        Ok(Ticket { round, allocation: self.decider.last(), guards: self.decider.guard_report() })
    }

    fn check_room(&self) -> Result<(), CampaignError> {
        if self.open.len() >= MOST_OPEN_ROUNDS { Err(CampaignError::TooManyOpen) } else { Ok(()) }
    }

    /// Takes the outcome of one task in one round. [`Outcome::Missing`] says nothing and changes
    /// nothing.
    ///
    /// # Errors
    /// If the round or the task is not waiting for it; nothing changes then.
    pub fn observe(
        &mut self,
        round: u64,
        task: usize,
        outcome: Outcome,
    ) -> Result<(), CampaignError> {
        if self.decider.sees_gains {
            return Err(CampaignError::WrongFeedback(
                "this learner is told the gain of a round, not the outcome of a task",
            ));
        }
        if task >= self.decider.names.len() {
            return Err(CampaignError::NoTask(task));
        }
        self.open.record_fresh();
        let place = self.open.find(round).ok_or(CampaignError::NotOpen(round))?;
        if outcome == Outcome::Missing {
            return Ok(());
        }
        let spend = self.open.spend(place, task);
        let told = self.open.tell(place, task);
        told.map_err(|refusal| refusal.about(&self.decider.names[task], round))?;
        match spend {
            None => self.decider.learner.observe(task, outcome),
            Some(spend) => self.decider.learner.observe_spent(task, spend, outcome),
        }
        Ok(())
    }

    /// Takes the outcomes of a whole round, one a task; what is missing stays open.
    ///
    /// # Errors
    /// As [`Campaign::observe`]; nothing changes then.
    pub fn observe_round(&mut self, round: u64, outcomes: &[Outcome]) -> Result<(), CampaignError> {
        if outcomes.len() != self.decider.names.len() {
            return Err(CampaignError::Count {
                what: "outcomes",
                expected: self.decider.names.len(),
                got: outcomes.len(),
            });
        }
        if self.decider.sees_gains {
            let gain: u64 = outcomes.iter().map(|outcome| outcome.gain().units()).sum();
            return self.observe_gain(round, gain as f64 / Reward::UNITS as f64);
        }
        if self.open.keeps_splits() {
            return self.observe_round_spent(round, outcomes);
        }
        self.open.record_fresh();
        let place = self.open.find(round).ok_or(CampaignError::NotOpen(round))?;
        let told = self.open.tell_all(place, outcomes);
        told.map_err(|(task, refusal)| refusal.about(&self.decider.names[task], round))?;
        for (task, &outcome) in outcomes.iter().enumerate() {
            self.decider.learner.observe(task, outcome);
        }
        Ok(())
    }

    /// Takes what is still missing of a round: these tasks completed, the others failed. Each task
    /// at most once.
    ///
    /// # Errors
    /// As [`Campaign::observe`]; nothing changes then.
    pub fn observe_completed(
        &mut self,
        round: u64,
        completed: &[Completion],
    ) -> Result<(), CampaignError> {
        let exists = |completion: &Completion| completion.task < self.decider.names.len();
        // In rising order the last one says for all whether they exist.
        let is_simple = completed.is_sorted_by(|one, other| one.task < other.task);
        let all_exist = is_simple && completed.last().is_none_or(exists);
        let bad =
            if all_exist { None } else { completed.iter().find(|completion| !exists(completion)) };
        if let Some(bad) = bad {
            return Err(CampaignError::NoTask(bad.task));
        }
        self.take_completed(round, completed, is_simple)
    }

    /// The same for tasks that exist, each after the one before: what an environment hands over.
    pub(crate) fn observe_in_order(
        &mut self,
        round: u64,
        completed: &[Completion],
    ) -> Result<(), CampaignError> {
        debug_assert!(completed.is_sorted_by(|one, other| one.task < other.task));
        self.take_completed(round, completed, true)
    }

    fn take_completed(
        &mut self,
        round: u64,
        completed: &[Completion],
        is_simple: bool,
    ) -> Result<(), CampaignError> {
        if self.decider.sees_gains {
            let gain: u64 = completed.iter().map(|completion| completion.reward.units()).sum();
            return self.observe_gain(round, gain as f64 / Reward::UNITS as f64);
        }
        if self.open.keeps_splits() {
            return self.observe_rest_spent(round, completed);
        }
        // A round of which nothing was told before has no record: who is named twice there must be
        // looked for.
        if !(is_simple && self.open.close_fresh(round)) {
            self.open.record_fresh();
            let place = self.open.find(round).ok_or(CampaignError::NotOpen(round))?;
            let told = self.open.tell_rest(place, completed);
            told.map_err(|(task, refusal)| refusal.about(&self.decider.names[task], round))?;
        }
        self.decider.learner.observe_completed(completed);
        Ok(())
    }

    /// Takes the sum of a round's rewards, in multiples of the largest reward: bandit feedback.
    ///
    /// # Errors
    /// If the learner needs more than that, the round is not open, or the sum is none; nothing
    /// changes then.
    pub fn observe_gain(&mut self, round: u64, gain: f64) -> Result<(), CampaignError> {
        if !self.decider.sees_gains {
            return Err(CampaignError::WrongFeedback(
                "this learner is told the outcome of each task, not the gain of a round",
            ));
        }
        let most = self.decider.names.len() as f64;
        if !(gain >= 0.0 && gain <= most) {
            return Err(CampaignError::BadGain { gain, most });
        }
        let place = self.open.find(round).ok_or(CampaignError::NotOpen(round))?;
        let (spend, success) = self.open.split(place);
        self.decider.learner.observe_gain(&Played { round, spend, success }, gain);
        self.open.close(place);
        Ok(())
    }
}
