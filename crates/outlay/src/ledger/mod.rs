//! The daily loop: rounds handed out, outcomes told, all of it on record.
//!
//! A [`Campaign`] forgets what it was told once it has learnt from it. A ledger remembers: what is
//! told twice is taken once, what contradicts is refused, what was told last can be taken back, and
//! what happened can be held against the curves.
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
//! let told = ledger.tell(&[Entry { round: 1, task: 0, completed: true, reward: Some(0.8) }])?;
//! assert_eq!((told.new, told.repeated), (1, 0));
//! let kept = ledger.to_json();
//! assert_eq!(Ledger::from_json(&kept)?.to_json(), kept);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod doubt;
mod record;
mod replay;
mod standing;
mod tell;

pub use doubt::Doubt;
pub use standing::{Standing, TaskStanding};
pub use tell::{Entry, Told};

use crate::campaign::{Campaign, CampaignError, GuardReport, Guards};
use crate::feedback::Feedback;
use crate::learner::LearnerSpec;
use crate::oracle::Allocation;
use crate::problem::{Problem, one_line};

/// Something a ledger refuses.
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

/// What a ledger is opened with, beside the problem.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Who decides.
    pub learner: LearnerSpec,
    /// Rounds planned, for learners that must know; absent: the problem's.
    pub horizon: Option<u64>,
    /// For the learner's own draws.
    pub seed: u64,
    /// What every split is held within.
    pub guards: Guards,
}

/// `kl-ucb-plus` without guards.
impl Default for Settings {
    fn default() -> Self {
        Self { learner: LearnerSpec::default(), horizon: None, seed: 1, guards: Guards::default() }
    }
}

/// A round that was handed out, and what has been told of it.
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

/// What was told of a task in a round, as it was told.
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

/// One call of [`Ledger::tell`]: what was new in it.
#[derive(Debug, Clone, PartialEq)]
struct Tell {
    /// Rounds handed out by then.
    after: u64,
    entries: Vec<Entry>,
}

/// What is handed out.
#[derive(Debug, Clone, PartialEq)]
pub struct HandedOut {
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

/// A campaign with a memory.
#[derive(Debug)]
pub struct Ledger {
    problem: Problem,
    settings: Settings,
    campaign: Campaign,
    rounds: Vec<Round>,
    tells: Vec<Tell>,
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
        let feedback = settings.learner.entry().feedback;
        let mut campaign =
            Campaign::new(problem, &settings.learner, settings.horizon, feedback, settings.seed)?;
        campaign.guard(problem, settings.guards)?;
        Ok(Self {
            problem: problem.clone(),
            settings,
            campaign,
            rounds: Vec::new(),
            tells: Vec::new(),
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
    ) -> Result<HandedOut, LedgerError> {
        let budget = budget.unwrap_or(self.problem.budget());
        let available = self.available(without)?;
        let ticket = self.campaign.allocate(budget, available.as_deref())?;
        let (round, allocation, guards) =
            (ticket.round, ticket.allocation.clone(), ticket.guards.copied());
        let tasks = self.problem.tasks().len();
        self.rounds.push(Round {
            budget,
            available: available.clone(),
            spend: allocation.spend.clone(),
            success: allocation.success.clone(),
            told: vec![None; tasks],
        });
        Ok(HandedOut {
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
