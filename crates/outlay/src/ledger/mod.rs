//! The daily loop: a campaign with a record of all rounds and outcomes.
//!
//! A [`Campaign`] keeps only the state of its learner. A ledger keeps the whole history: repeated
//! outcomes count once, contradictions are rejected, the last report can be undone, and the number
//! of completions can be compared with the curves.
//!
//! ```
//! use outlay::ledger::{Entry, Ledger, Settings};
//! use outlay::{Curve, ProblemSpec, TaskSpec};
//!
//! let tasks = vec![TaskSpec::new("search", Curve::power(0.5, 100.0)?), TaskSpec::new("social", Curve::power(0.5, 100.0)?)];
//! let problem = ProblemSpec { budget: 100.0, tasks, ..ProblemSpec::default() }.check()?;
//! let mut ledger = Ledger::new(&problem, Settings::default())?;
//! let round = ledger.next(None, &[])?;
//! assert_eq!((round.round, round.budget), (1, 100.0));
//! let reported = ledger.report(&[Entry::completed(1, 0, 0.8)])?;
//! assert_eq!((reported.new, reported.repeated), (1, 0));
//! let kept = ledger.to_json();
//! assert_eq!(Ledger::from_json(&kept)?.to_json(), kept);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod amend;
mod curve_misfit;
mod delivery;
mod error;
mod issue;
mod record;
mod replay;
mod report;
mod revise;
mod status;

pub use curve_misfit::CurveMisfit;
pub use delivery::Delivery;
pub use error::{EntryError, InvalidEntry, LedgerError, RecordError};
pub use issue::{MAX_KEY_BYTES, RoundRequest};
pub use replay::Undone;
pub use report::{Entry, Reported};
pub use status::{LedgerStatus, TaskStatus};

use amend::PastProblem;

use crate::campaign::{Campaign, CampaignOptions, GuardReport, Guards, RoundConditions};
use crate::feedback::Feedback;
use crate::learner::LearnerSpec;
use crate::oracle::Allocation;
use crate::problem::{Problem, Seen};

/// The settings of a ledger, beside its problem.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// The learner.
    pub learner: LearnerSpec,
    /// The number of rounds, for learners that need it. `None`: the horizon of the problem.
    pub horizon: Option<u64>,
    /// The seed of the learner's own random draws.
    pub seed: u64,
    /// Limits on how the allocation may change from round to round.
    pub guards: Guards,
    /// Whether the learner starts without the completions that the tasks have `seen`: see
    /// [`CampaignOptions::ignore_seen`].
    pub ignore_seen: bool,
}

/// `kl-ucb-plus` without guards.
impl Default for Settings {
    fn default() -> Self {
        Self {
            learner: LearnerSpec::default(),
            horizon: None,
            seed: 1,
            guards: Guards::default(),
            ignore_seen: false,
        }
    }
}

/// An issued round and its reported outcomes.
#[derive(Debug, Clone, PartialEq)]
struct Round {
    budget: f64,
    /// The available tasks; absent: all.
    available: Option<Vec<bool>>,
    /// The scales of the curves; absent: all 1.
    scale: Option<Vec<f64>>,
    /// The volumes; absent: those of the problem.
    volume: Option<Vec<f64>>,
    spend: Vec<f64>,
    /// Each task's success probability at its spend.
    success: Vec<f64>,
    outcomes: Vec<Option<ReportedOutcome>>,
    /// The key of the request, if it had one.
    key: Option<String>,
    /// A cancelled round has no outcomes.
    is_cancelled: bool,
}

/// The reported outcome of a task in a round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReportedOutcome {
    /// The number of completions; zero if the task failed.
    pub completions: u64,
    /// The sum of their rewards, if the learner may observe it.
    pub reward: Option<f64>,
    /// The amount that was really spent, if it was reported.
    pub spend: Option<f64>,
}

impl ReportedOutcome {
    /// Whether two reports are the same. Earlier versions did not record spends, so a spend that
    /// only one of them has does not matter.
    fn agrees(&self, other: &Self) -> bool {
        let is_same_spend = self.spend.zip(other.spend).is_none_or(|(one, other)| one == other);
        self.completions == other.completions && self.reward == other.reward && is_same_spend
    }
}

impl std::fmt::Display for ReportedOutcome {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.completions {
            0 => formatter.write_str("failed")?,
            1 => formatter.write_str("completed")?,
            many => write!(formatter, "completed {many} times")?,
        }
        match self.reward {
            Some(reward) if self.completions > 0 => write!(formatter, " with reward {reward}")?,
            Some(reward) => write!(formatter, ", forgoing {reward}")?,
            None => {}
        }
        match self.spend {
            Some(spend) => write!(formatter, " at spend {spend}"),
            None => Ok(()),
        }
    }
}

/// The new outcomes of one call of [`Ledger::report`] or [`Ledger::revise`].
#[derive(Debug, Clone, PartialEq)]
struct Report {
    /// The number of rounds issued before it.
    after: u64,
    entries: Vec<Entry>,
    /// Whether entries may replace earlier ones.
    is_revision: bool,
}

/// A round that was issued.
#[derive(Debug, Clone, PartialEq)]
pub struct IssuedRound {
    /// The round, counted from 1; outcomes are reported with it.
    pub round: u64,
    /// Its budget.
    pub budget: f64,
    /// The available tasks.
    pub available: Vec<bool>,
    /// The scale of each task's curve; `None`: all 1.
    pub scale: Option<Vec<f64>>,
    /// The volume of each task; `None`: those of the problem.
    pub volume: Option<Vec<f64>>,
    /// The allocation with its certificate, in shares of the largest reward. If the learner chose
    /// it itself, everything but the spends is zero.
    pub allocation: Allocation,
    /// The effect of the guards, if there are any; costs in shares of the largest reward.
    pub guards: Option<GuardReport>,
}

/// A campaign with a record of its rounds and outcomes.
#[derive(Debug)]
pub struct Ledger {
    problem: Problem,
    /// The earlier versions of the problem, in their order.
    past: Vec<PastProblem>,
    settings: Settings,
    campaign: Campaign,
    rounds: Vec<Round>,
    reports: Vec<Report>,
}

impl Ledger {
    /// A ledger without rounds.
    ///
    /// # Errors
    /// If the learner or the guards are unsuitable for the problem, or a curve is a function, which
    /// cannot be recorded.
    pub fn new(problem: &Problem, settings: Settings) -> Result<Self, LedgerError> {
        serde_json::to_value(problem).map_err(|error| LedgerError::Problem(error.into()))?;
        let Settings { learner, horizon, seed, guards, ignore_seen } = settings;
        let learner = learner.into();
        // Every search starts cold, as in the service: an allocation depends on the record alone.
        let always_cold = true;
        let options = CampaignOptions {
            learner,
            horizon,
            seed,
            guards,
            always_cold,
            ignore_seen,
            ..CampaignOptions::default()
        };
        let campaign = Campaign::new(problem, options)?;
        Ok(Self {
            problem: problem.clone(),
            past: Vec::new(),
            settings,
            campaign,
            rounds: Vec::new(),
            reports: Vec::new(),
        })
    }

    /// The present problem. Tasks that were retired by an amendment are part of it.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The completions of the log that the learner started from; `None` if the task has none, or
    /// the learner does not use them.
    #[must_use]
    pub fn seen(&self, task: usize) -> Option<Seen> {
        let is_used = !self.settings.ignore_seen && self.settings.learner.uses_seen();
        self.problem.tasks().get(task)?.seen().filter(|_| is_used)
    }

    /// The number of issued rounds.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.rounds.len() as u64
    }

    /// The number of rounds with missing outcomes.
    #[must_use]
    pub fn open_rounds(&self) -> usize {
        self.rounds.iter().filter(|round| round.waiting() > 0).count()
    }

    /// The spends of an issued round.
    #[must_use]
    pub fn spend(&self, round: u64) -> Option<&[f64]> {
        self.round(round).map(|round| round.spend.as_slice())
    }

    fn round(&self, round: u64) -> Option<&Round> {
        self.rounds.get(usize::try_from(round.checked_sub(1)?).ok()?)
    }

    /// The feedback that the learner needs.
    fn feedback(&self) -> Feedback {
        self.settings.learner.entry().feedback
    }
}

impl Round {
    fn conditions(&self) -> RoundConditions<'_> {
        RoundConditions {
            budget: self.budget,
            available: self.available.as_deref(),
            scale: self.scale.as_deref(),
            volume: self.volume.as_deref(),
        }
    }

    fn has(&self, task: usize) -> bool {
        self.available.as_ref().is_none_or(|available| available[task])
    }

    /// The number of missing outcomes.
    fn waiting(&self) -> usize {
        if self.is_cancelled {
            return 0;
        }
        self.outcomes
            .iter()
            .enumerate()
            .filter(|(task, known)| known.is_none() && self.has(*task))
            .count()
    }
}
