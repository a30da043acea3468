//! The daily loop: a campaign with a record of all rounds and outcomes.
//!
//! A [`Campaign`] keeps only what its learner needs. A ledger keeps everything: repeated outcomes
//! count once, contradictions are rejected, the last report can be undone, and the number of
//! completions can be compared with the curves.
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
//! let reported = ledger.report(&[Entry { round: 1, task: 0, completed: true, reward: Some(0.8) }])?;
//! assert_eq!((reported.new, reported.repeated), (1, 0));
//! let kept = ledger.to_json();
//! assert_eq!(Ledger::from_json(&kept)?.to_json(), kept);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod curve_misfit;
mod record;
mod replay;
mod report;
mod status;

pub use curve_misfit::CurveMisfit;
pub use report::{Entry, Reported};
pub use status::{LedgerStatus, TaskStatus};

use crate::campaign::{Campaign, CampaignError, CampaignOptions, GuardReport, Guards};
use crate::feedback::Feedback;
use crate::learner::LearnerSpec;
use crate::oracle::Allocation;
use crate::problem::{Problem, one_line};

/// A request that a ledger rejects.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The campaign refuses it.
    #[error(transparent)]
    Campaign(#[from] CampaignError),
    /// A record cannot be read, or does not fit together.
    #[error("{0}")]
    Record(String),
    /// A task that the problem does not have.
    #[error("no task is named {0}")]
    UnknownTask(String),
    /// Nobody would be left.
    #[error("every task is left out: nothing to split the budget over")]
    NobodyLeft,
    /// Entries that cannot be taken: the position of each, and why.
    #[error("{} of the outcomes cannot be taken; the first: {}", .0.len(), .0.first().map(|(_, why)| why.as_str()).unwrap_or_default())]
    Entries(Vec<(usize, String)>),
    /// Nothing was told that could be taken back.
    #[error("nothing to take back: nothing has been told")]
    NothingTold,
}

/// The settings of a ledger, beside its problem.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// The learner.
    pub learner: LearnerSpec,
    /// The number of rounds, for learners that need it; absent: the problem's.
    pub horizon: Option<u64>,
    /// The seed of the learner's own random draws.
    pub seed: u64,
    /// Limits on how the allocation may change from round to round.
    pub guards: Guards,
}

/// `kl-ucb-plus` without guards.
impl Default for Settings {
    fn default() -> Self {
        Self { learner: LearnerSpec::default(), horizon: None, seed: 1, guards: Guards::default() }
    }
}

/// An issued round and its reported outcomes.
#[derive(Debug, Clone, PartialEq)]
struct Round {
    budget: f64,
    /// Absent: everybody was there.
    available: Option<Vec<bool>>,
    spend: Vec<f64>,
    /// Each task's chance of success at its spend.
    success: Vec<f64>,
    told: Vec<Option<Known>>,
}

/// The reported outcome of a task in a round.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Known {
    completed: bool,
    reward: Option<f64>,
}

impl Known {
    fn in_words(self) -> String {
        match (self.completed, self.reward) {
            (true, Some(reward)) => format!("completed with reward {reward}"),
            (true, None) => "completed".to_owned(),
            (false, Some(reward)) => format!("failed, forgoing {reward}"),
            (false, None) => "failed".to_owned(),
        }
    }
}

/// The new outcomes of one call of [`Ledger::report`].
#[derive(Debug, Clone, PartialEq)]
struct Report {
    /// Rounds handed out by then.
    after: u64,
    entries: Vec<Entry>,
}

/// A round that was issued.
#[derive(Debug, Clone, PartialEq)]
pub struct IssuedRound {
    /// The round, counted from 1; outcomes are told with it.
    pub round: u64,
    /// What it may spend.
    pub budget: f64,
    /// Which tasks are in it.
    pub available: Vec<bool>,
    /// The split with its certificate, in shares of the largest reward; zeros but for the spends if
    /// the learner named it itself.
    pub allocation: Allocation,
    /// What the guards did, if there are any; costs in shares of the largest reward.
    pub guards: Option<GuardReport>,
}

/// A campaign with a record of its rounds and outcomes.
#[derive(Debug)]
pub struct Ledger {
    problem: Problem,
    settings: Settings,
    campaign: Campaign,
    rounds: Vec<Round>,
    reports: Vec<Report>,
}

impl Ledger {
    /// A ledger with nothing in it.
    ///
    /// # Errors
    /// If the learner or the guards do not fit the problem, or a curve is a function that no record
    /// can hold.
    pub fn new(problem: &Problem, settings: Settings) -> Result<Self, LedgerError> {
        serde_json::to_value(problem)
            .map_err(|error| LedgerError::Record(format!("problem: cannot be kept: {error}")))?;
        let Settings { learner, horizon, seed, guards } = settings;
        let learner = learner.into();
        let options =
            CampaignOptions { learner, horizon, seed, guards, ..CampaignOptions::default() };
        let campaign = Campaign::new(problem, options)?;
        Ok(Self {
            problem: problem.clone(),
            settings,
            campaign,
            rounds: Vec::new(),
            reports: Vec::new(),
        })
    }

    /// The problem it was opened for.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// What it was opened with.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Rounds handed out.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.rounds.len() as u64
    }

    /// Rounds of which something is still to be told.
    #[must_use]
    pub fn open_rounds(&self) -> usize {
        self.rounds.iter().filter(|round| round.waiting() > 0).count()
    }

    /// The spends of a round that was handed out.
    #[must_use]
    pub fn spend(&self, round: u64) -> Option<&[f64]> {
        self.round(round).map(|round| round.spend.as_slice())
    }

    /// Hands out the next round: `budget`, or else the problem's; `without` these tasks.
    ///
    /// # Errors
    /// If a task is not known or must be given something, or the budget does not cover the lower
    /// bounds. Nothing is handed out then.
    pub fn next(
        &mut self,
        budget: Option<f64>,
        without: &[&str],
    ) -> Result<IssuedRound, LedgerError> {
        let budget = budget.unwrap_or(self.problem.budget());
        let available = self.available(without)?;
        let issued = self.campaign.allocate(budget, available.as_deref())?;
        let (round, allocation, guards) =
            (issued.round, issued.allocation.clone(), issued.guards.copied());
        let tasks = self.problem.tasks().len();
        self.rounds.push(Round {
            budget,
            available: available.clone(),
            spend: allocation.spend.clone(),
            success: allocation.success.clone(),
            told: vec![None; tasks],
        });
        Ok(IssuedRound {
            round,
            budget,
            available: available.unwrap_or_else(|| vec![true; tasks]),
            allocation,
            guards,
        })
    }

    fn available(&self, without: &[&str]) -> Result<Option<Vec<bool>>, LedgerError> {
        if without.is_empty() {
            return Ok(None);
        }
        let mut available = vec![true; self.problem.tasks().len()];
        for name in without {
            let task = self.problem.tasks().iter().position(|task| task.name() == *name);
            let task = task.ok_or_else(|| LedgerError::UnknownTask(one_line(name)))?;
            available[task] = false;
        }
        if available.contains(&true) { Ok(Some(available)) } else { Err(LedgerError::NobodyLeft) }
    }

    fn round(&self, round: u64) -> Option<&Round> {
        self.rounds.get(usize::try_from(round.checked_sub(1)?).ok()?)
    }

    /// What the learner must be shown.
    fn feedback(&self) -> Feedback {
        self.settings.learner.entry().feedback
    }
}

impl Round {
    fn has(&self, task: usize) -> bool {
        self.available.as_ref().is_none_or(|available| available[task])
    }

    /// How many outcomes are still to come.
    fn waiting(&self) -> usize {
        self.told
            .iter()
            .enumerate()
            .filter(|(task, known)| known.is_none() && self.has(*task))
            .count()
    }
}
