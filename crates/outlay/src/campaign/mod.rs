//! A learner in use: it issues allocations and accepts outcomes late, partially and in any order.
//!
//! ```
//! use outlay::campaign::{Campaign, CampaignOptions};
//! use outlay::feedback::{Outcome, Reward};
//! use outlay::{Curve, ProblemSpec, TaskSpec};
//!
//! let curve = Curve::power(0.5, 100.0)?;
//! let tasks = vec![TaskSpec::new("search", curve.clone()), TaskSpec::new("social", curve)];
//! let problem = ProblemSpec { budget: 100.0, tasks, ..ProblemSpec::default() }.check()?;
//! let options = CampaignOptions { seed: 7, ..CampaignOptions::default() };
//! let mut campaign = Campaign::new(&problem, options)?;
//! let issued = campaign.allocate(100.0, None)?;
//! assert_eq!(issued.round, 1);
//! assert!((issued.allocation.spend[0] - 50.0).abs() < 1e-9); // nothing is known yet
//! campaign.observe(1, 0, Outcome::Done(Reward::from_share(0.8)))?;
//! let next = campaign.allocate(100.0, None)?; // the outcome of "social" may still arrive
//! assert_eq!(next.round, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod conditions;
mod guards;
mod open_rounds;
mod replay_round;
mod round_planner;
mod spends;
mod state;

pub use conditions::RoundConditions;
pub use guards::{GuardError, GuardReport, Guards};
pub use round_planner::RoundPlanner;
pub use state::CampaignState;

use crate::feedback::{Completion, Feedback, Outcome, Reward};
use crate::learner::{LearnerChoice, LearnerError, LearnerState, PlayedRound, StateError};
use crate::oracle::{Allocation, AllocationError};
use crate::problem::{Problem, RoundCurvesError};
use open_rounds::OpenRounds;

/// The largest number of open rounds.
pub const MAX_OPEN_ROUNDS: usize = 10_000_000;

/// The settings of a campaign, in addition to its problem.
#[derive(Debug, Clone, PartialEq)]
pub struct CampaignOptions {
    /// The learner.
    pub learner: LearnerChoice,
    /// The number of rounds, for learners that need it. `None`: the horizon of the problem.
    pub horizon: Option<u64>,
    /// The feedback that the learner receives. `None`: the feedback that it needs.
    pub feedback: Option<Feedback>,
    /// The seed of the learner's own random draws.
    pub seed: u64,
    /// Limits on how the allocation may change from round to round.
    pub guards: Guards,
    /// Whether every search for an allocation starts cold. An allocation then depends on the
    /// observations alone, bit for bit, and not on the allocations before it.
    pub always_cold: bool,
    /// Whether the learner starts without the completions that the tasks have
    /// [`seen`](crate::Task::seen). By default it starts as if it had observed them. Learners that
    /// learn from whole rounds or from spends ignore them in any case: see
    /// [`LearnerSpec::uses_seen`](crate::learner::LearnerSpec::uses_seen).
    pub ignore_seen: bool,
}

/// `kl-ucb-plus` without guards, with seed 1.
impl Default for CampaignOptions {
    fn default() -> Self {
        Self {
            learner: LearnerChoice::default(),
            horizon: None,
            feedback: None,
            seed: 1,
            guards: Guards::default(),
            always_cold: false,
            ignore_seen: false,
        }
    }
}

/// A request that a campaign rejects.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CampaignError {
    /// The learner cannot be built.
    #[error(transparent)]
    Learner(#[from] LearnerError),
    /// The oracle rejects the budget.
    #[error(transparent)]
    Allocation(#[from] AllocationError),
    /// A saved state cannot be loaded.
    #[error(transparent)]
    State(#[from] StateError),
    /// A task with a positive lower bound is unavailable.
    #[error("task {task} is not available in round {round}, but its spend must be at least {min}")]
    Needed {
        /// The task.
        task: String,
        /// The round.
        round: u64,
        /// Its lower bound.
        min: f64,
    },
    /// A list does not have one entry per task.
    #[error("{what}: {got} entries for {expected} tasks")]
    Count {
        /// Which list.
        what: &'static str,
        /// The number of tasks of the problem.
        expected: usize,
        /// The number of entries.
        got: usize,
    },
    /// The round is not open.
    #[error("round {0} is not open: it was never issued, or all its outcomes have been reported")]
    NotOpen(u64),
    /// No such task.
    #[error("task {0} does not exist")]
    NoTask(usize),
    /// The task was unavailable in the round, so it has no outcome.
    #[error("task {task} was not available in round {round}")]
    Unavailable {
        /// The task.
        task: String,
        /// The round.
        round: u64,
    },
    /// The outcome was already reported.
    #[error("the outcome of task {task} in round {round} has already been reported")]
    AlreadyReported {
        /// The task.
        task: String,
        /// The round.
        round: u64,
    },
    /// The learner needs another kind of outcomes.
    #[error("{0}")]
    WrongFeedback(&'static str),
    /// The gain is not a possible sum of rewards.
    #[error("gain: must be between 0 and {most}, not {gain}")]
    BadGain {
        /// The reported gain.
        gain: f64,
        /// The number of tasks, each of which has a reward of at most 1; infinite if tasks may
        /// complete more than once.
        most: f64,
    },
    /// The guards are inconsistent.
    #[error(transparent)]
    BadGuard(#[from] GuardError),
    /// The learner chose an allocation with a negative or infinite spend, or above the budget.
    #[error(
        "learner {learner}: chose an invalid allocation: spends must be finite, not negative and \
         add up to at most the budget {budget}, not {total}"
    )]
    InvalidAllocation {
        /// The learner.
        learner: String,
        /// The sum of the spends.
        total: f64,
        /// The budget of the round.
        budget: f64,
    },
    /// The scales or volumes of a round are invalid.
    #[error(transparent)]
    Curves(#[from] RoundCurvesError),
    /// The learner needs curves that do not change.
    #[error(
        "{what}: {learner} cannot use curves that change from round to round; leave `{what}` out, \
         or choose another learner"
    )]
    FixedCurves {
        /// `scale` or `volume`.
        what: &'static str,
        /// The learner.
        learner: String,
    },
    /// Too many rounds are open.
    #[error(
        "{MAX_OPEN_ROUNDS} rounds are open: report some of their outcomes before asking for more"
    )]
    TooManyOpen,
}

/// A round that was issued, with its allocation.
#[derive(Debug, Clone, Copy)]
pub struct IssuedRound<'a> {
    /// The round, counted from 1; outcomes are reported with it.
    pub round: u64,
    /// The allocation. If the learner chose it itself, `value`, `upper_bound` and `price` are zero.
    pub allocation: &'a Allocation,
    /// The effect of the guards, if there are any.
    pub guards: Option<&'a GuardReport>,
}

/// A learner, its oracle, and the rounds whose outcomes are still missing.
#[derive(Debug)]
pub struct Campaign {
    horizon: Option<u64>,
    seed: u64,
    feedback: Feedback,
    planner: RoundPlanner,
    open: OpenRounds,
    /// For learners that need the spends of a round with its outcomes.
    spends: spends::Spends,
    round: u64,
    /// The number of reports with a clipped reward.
    clipped: u64,
}

impl Campaign {
    /// A campaign before its first round.
    ///
    /// # Errors
    /// If the learner cannot be built (see
    /// [`LearnerSpec::build`](crate::learner::LearnerSpec::build)) or the guards are inconsistent.
    pub fn new(problem: &Problem, options: CampaignOptions) -> Result<Self, CampaignError> {
        let (horizon, seed) = (options.horizon, options.seed);
        let feedback = options.feedback.unwrap_or_else(|| options.learner.feedback());
        let planner = RoundPlanner::new(problem, options)?;
        let keeps_allocations = planner.sees_gains || planner.learner.needs_spends();
        let open = OpenRounds::new(problem.tasks().len(), keeps_allocations);
        Ok(Self {
            horizon,
            seed,
            feedback,
            planner,
            open,
            spends: spends::Spends::default(),
            round: 0,
            clipped: 0,
        })
    }

    /// The guards that restrict every allocation.
    #[must_use]
    pub fn guards(&self) -> Guards {
        self.planner.guards()
    }

    /// Starts every later search cold: see [`CampaignOptions::always_cold`].
    pub fn set_always_cold(&mut self) {
        self.planner.set_always_cold();
    }

    /// The learner.
    #[must_use]
    pub fn learner(&self) -> &LearnerChoice {
        &self.planner.choice
    }

    /// The number of rounds issued so far.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.round
    }

    /// The number of rounds with missing outcomes.
    #[must_use]
    pub fn open_rounds(&self) -> usize {
        self.open.len()
    }

    /// The number of reports whose reward was above the largest one and was clipped: see
    /// [`RewardOverMax::Clip`](crate::RewardOverMax::Clip).
    #[must_use]
    pub fn clipped(&self) -> u64 {
        self.clipped
    }

    /// Counts reports whose reward was clipped. An [`Outcome`] cannot hold a larger reward than the
    /// largest, so the caller has clipped it with
    /// [`Problem::clipped_reward`](crate::Problem::clipped_reward).
    pub fn add_clipped(&mut self, reports: u64) {
        self.clipped = self.clipped.saturating_add(reports);
    }

    /// The state of the learner.
    #[must_use]
    pub fn learner_state(&self) -> LearnerState {
        self.planner.learner.save()
    }

    /// The numbers that the learner wrote for the last round: weights or an allocation.
    #[must_use]
    pub fn weights(&self) -> &[f64] {
        self.planner.weights()
    }

    /// Issues the next round with the curves of the problem. `available` marks the available tasks;
    /// `None` means all. Retired tasks never are.
    ///
    /// # Errors
    /// As [`Campaign::issue`].
    #[inline]
    pub fn allocate(
        &mut self,
        budget: f64,
        available: Option<&[bool]>,
    ) -> Result<IssuedRound<'_>, CampaignError> {
        self.issue(&RoundConditions::new(budget, available))
    }

    /// Issues the next round.
    ///
    /// # Errors
    /// If the budget does not cover the lower bounds, a scale or volume is invalid, the learner
    /// cannot use it, or too many rounds are open. No round is issued then.
    pub fn issue(
        &mut self,
        conditions: &RoundConditions<'_>,
    ) -> Result<IssuedRound<'_>, CampaignError> {
        self.check_room()?;
        let round = self.round + 1;
        self.planner.check(round, conditions)?;
        self.planner.decide(round, conditions)?;
        let available = self.planner.without_retired(conditions.available);
        self.open.open(round, available, self.planner.last());
        self.round = round;
        Ok(IssuedRound {
            round,
            allocation: self.planner.last(),
            guards: self.planner.guard_report(),
        })
    }

    /// Sets the spend with which the guards, if there are any, compare the task's next one.
    pub(crate) fn set_reference_spend(&mut self, task: usize, spend: f64) {
        self.planner.set_reference_spend(task, spend);
    }

    /// Accepts gains of rounds in which tasks completed more than once.
    pub(crate) fn accept_counts(&mut self) {
        self.planner.accept_counts();
    }

    fn check_room(&self) -> Result<(), CampaignError> {
        if self.open.len() >= MAX_OPEN_ROUNDS { Err(CampaignError::TooManyOpen) } else { Ok(()) }
    }

    /// Learns from the outcome of one task in one round. [`Outcome::Missing`] changes nothing.
    ///
    /// # Errors
    /// If the outcome is not missing in an open round. Nothing changes then.
    pub fn observe(
        &mut self,
        round: u64,
        task: usize,
        outcome: Outcome,
    ) -> Result<(), CampaignError> {
        self.observe_at(round, task, outcome, None)
    }

    /// As [`Campaign::observe`], with the amount that was really spent, if it is known. Learners
    /// that learn from spends use it.
    ///
    /// # Errors
    /// As [`Campaign::observe`].
    pub fn observe_at(
        &mut self,
        round: u64,
        task: usize,
        outcome: Outcome,
        spent: Option<f64>,
    ) -> Result<(), CampaignError> {
        if self.planner.sees_gains {
            return Err(CampaignError::WrongFeedback(
                "this learner needs the gain of a round, not the outcome of a task",
            ));
        }
        if task >= self.planner.names.len() {
            return Err(CampaignError::NoTask(task));
        }
        self.open.record_fresh();
        let place = self.open.find(round).ok_or(CampaignError::NotOpen(round))?;
        if outcome == Outcome::Missing {
            return Ok(());
        }
        let spend = self.open.spend(place, task).map(|allocated| spent.unwrap_or(allocated));
        let reported = self.open.report(place, task);
        reported.map_err(|refusal| refusal.about(&self.planner.names[task], round))?;
        match spend {
            None => self.planner.learner.observe(task, outcome),
            Some(spend) => self.planner.learner.observe_spent(task, spend, outcome),
        }
        Ok(())
    }

    /// Learns from the outcomes of a round, one per task; missing ones stay open.
    ///
    /// # Errors
    /// As [`Campaign::observe`]; nothing changes then.
    pub fn observe_round(&mut self, round: u64, outcomes: &[Outcome]) -> Result<(), CampaignError> {
        if outcomes.len() != self.planner.names.len() {
            return Err(CampaignError::Count {
                what: "outcomes",
                expected: self.planner.names.len(),
                got: outcomes.len(),
            });
        }
        if self.planner.sees_gains {
            let gain: u64 = outcomes.iter().map(|outcome| outcome.completions().reward_sum()).sum();
            return self.observe_gain(round, gain as f64 / Reward::UNITS as f64);
        }
        if self.open.keeps_allocations() {
            return self.observe_round_spent(round, outcomes, &[]);
        }
        self.open.record_fresh();
        let place = self.open.find(round).ok_or(CampaignError::NotOpen(round))?;
        let reported = self.open.report_all(place, outcomes);
        reported.map_err(|(task, refusal)| refusal.about(&self.planner.names[task], round))?;
        for (task, &outcome) in outcomes.iter().enumerate() {
            self.planner.learner.observe(task, outcome);
        }
        Ok(())
    }

    /// Learns from the missing outcomes of a round: these tasks completed, the others failed. Each
    /// task occurs at most once.
    ///
    /// # Errors
    /// As [`Campaign::observe`]; nothing changes then.
    pub fn observe_completed(
        &mut self,
        round: u64,
        completed: &[Completion],
    ) -> Result<(), CampaignError> {
        let tasks = self.planner.names.len();
        let in_order = completed.is_sorted_by(|one, other| one.task < other.task);
        // In order, no task is above the last one.
        let are_known = in_order && completed.last().is_none_or(|last| last.task < tasks);
        let is_unknown = |completion: &&Completion| completion.task >= tasks;
        if !are_known && let Some(unknown) = completed.iter().find(is_unknown) {
            return Err(CampaignError::NoTask(unknown.task));
        }
        if self.planner.sees_gains {
            let gain: u64 = completed.iter().map(|completion| completion.reward.units()).sum();
            return self.observe_gain(round, gain as f64 / Reward::UNITS as f64);
        }
        if self.open.keeps_allocations() {
            return self.observe_rest_spent(round, completed);
        }
        // A round without reported outcomes has no record, so repeated tasks must be looked for.
        if !(in_order && self.open.close_fresh(round)) {
            self.open.record_fresh();
            let place = self.open.find(round).ok_or(CampaignError::NotOpen(round))?;
            if !self.open.is_unreported(place) {
                return self.observe_rest(place, round, completed);
            }
            let reported = self.open.report_rest(place, completed);
            reported.map_err(|(task, refusal)| refusal.about(&self.planner.names[task], round))?;
        }
        self.planner.learner.observe_completed(completed);
        Ok(())
    }

    /// Learns from the total reward of a round, in multiples of the largest reward (bandit
    /// feedback). If the problem clips rewards, a larger gain than the tasks can have is counted as
    /// the largest possible one.
    ///
    /// # Errors
    /// If the learner needs the outcomes of tasks, the round is not open, or the gain is
    /// impossible; nothing changes then.
    pub fn observe_gain(&mut self, round: u64, gain: f64) -> Result<(), CampaignError> {
        if !self.planner.sees_gains {
            return Err(CampaignError::WrongFeedback(
                "this learner needs the outcome of each task, not the gain of a round",
            ));
        }
        let most = self.planner.largest_gain();
        let is_clipped = gain > most && gain.is_finite() && self.planner.clips_rewards();
        let gain = if is_clipped { most } else { gain };
        if !(gain >= 0.0 && gain <= most && gain.is_finite()) {
            return Err(CampaignError::BadGain { gain, most });
        }
        let place = self.open.find(round).ok_or(CampaignError::NotOpen(round))?;
        let (spend, success) = self.open.split(place);
        self.planner.learner.observe_gain(&PlayedRound { round, spend, success }, gain);
        self.open.close(place);
        self.add_clipped(u64::from(is_clipped));
        Ok(())
    }
}
