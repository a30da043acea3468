//! Errors of a ledger, of the entries of a report and of a saved record.

use std::fmt;

use super::{MAX_KEY_BYTES, ReportedOutcome};
use crate::JsonError;
use crate::campaign::CampaignError;
use crate::learner::LearnerSpec;
use crate::plan::RoundingError;
use crate::problem::{AmendError, ProblemErrors};
use crate::text::one_line;

/// A request that a ledger rejects.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The campaign rejects the request.
    #[error(transparent)]
    Campaign(#[from] CampaignError),
    /// A record cannot be read or is inconsistent.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The problem cannot be recorded, because a curve is a function.
    #[error("problem: cannot be kept: {0}")]
    Problem(JsonError),
    /// The problem has no such task.
    #[error("no task is named {0}")]
    UnknownTask(String),
    /// A task has two scales or two volumes.
    #[error("{what}: task {task} is given twice")]
    NamedTwice {
        /// `scale` or `volume`.
        what: &'static str,
        /// The task.
        task: String,
    },
    /// No task is left.
    #[error("every task is left out: nothing to split the budget over")]
    NoTaskLeft,
    /// No multiples of the unit satisfy the bounds.
    #[error(transparent)]
    Rounding(#[from] RoundingError),
    /// The key of a round is empty, too long or has control characters.
    #[error("key: must have 1 to {MAX_KEY_BYTES} bytes and no control characters")]
    BadKey,
    /// The round of a key has another budget, other tasks, or other scales or volumes.
    #[error(
        "key {}: round {round} was issued for it with another budget, other tasks, or other scales \
         or volumes; use another key, or cancel the round",
        one_line(.key)
    )]
    KeyOfAnotherRound {
        /// The key.
        key: String,
        /// Its round.
        round: u64,
    },
    /// The round was not issued.
    #[error("round {round} was never issued: {}", issued(*.last))]
    UnknownRound {
        /// The round.
        round: u64,
        /// The last issued round; 0 if there is none.
        last: u64,
    },
    /// The round was already cancelled.
    #[error("round {0} is already cancelled")]
    AlreadyCancelled(u64),
    /// The round has outcomes, so it was played.
    #[error("round {round} has reported outcomes ({outcomes}), so it cannot be cancelled")]
    HasOutcomes {
        /// The round.
        round: u64,
        /// Their number.
        outcomes: usize,
    },
    /// Invalid entries of a report.
    #[error("{} of the outcomes cannot be taken; the first: {}", .0.len(), First(.0))]
    Entries(Vec<InvalidEntry>),
    /// The problem cannot be amended.
    #[error(transparent)]
    Amend(#[from] AmendError),
    /// There is no report and no amendment to undo.
    #[error("nothing to undo: no outcomes have been reported")]
    NothingTold,
}

/// An entry of [`Ledger::report`](super::Ledger::report) that is rejected.
#[derive(Debug, Clone, PartialEq)]
pub struct InvalidEntry {
    /// The position of the entry in the report, counted from 0.
    pub position: usize,
    /// The reason.
    pub reason: EntryError,
}

/// Writes the reason of the first entry.
struct First<'a>(&'a [InvalidEntry]);

impl fmt::Display for First<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.first().map_or(Ok(()), |entry| entry.reason.fmt(formatter))
    }
}

fn times(completions: u64) -> String {
    if completions == 1 { String::new() } else { format!("{completions} times ") }
}

fn volume_hint(most: u64) -> &'static str {
    if most == 1 { "; tasks that complete more often need a volume in the problem" } else { "" }
}

fn issued(last: u64) -> String {
    match last {
        0 => "no round has been issued yet".to_owned(),
        last => format!("rounds go from 1 to {last}"),
    }
}

/// Why [`Ledger::report`](super::Ledger::report) rejects an entry.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryError {
    /// The round was not issued.
    #[error("round {round} was never issued: {}", issued(*.last))]
    UnknownRound {
        /// The round of the entry.
        round: u64,
        /// The last issued round; 0 if there is none.
        last: u64,
    },
    /// The round was cancelled.
    #[error("round {0} was cancelled, so it has no outcomes")]
    Cancelled(u64),
    /// The problem has no such task, counted from 0.
    #[error("task {0} does not exist")]
    UnknownTask(usize),
    /// The task was not available in the round.
    #[error("task {task} was left out of round {round}, so it has no outcome")]
    LeftOut {
        /// The task.
        task: String,
        /// The round.
        round: u64,
    },
    /// The task completed and has no reward.
    #[error("task {0} completed, but its reward is missing: give its reward, or 0")]
    NoReward(String),
    /// The learner has full feedback, and the task failed and has no reward.
    #[error("task {task}: its reward is missing; {learner} is shown every reward")]
    NoForgoneReward {
        /// The task.
        task: String,
        /// The learner.
        learner: LearnerSpec,
    },
    /// The number of completions is too large.
    #[error("completions of {task}: must be at most {most}, not {completions}{}", volume_hint(*.most))]
    TooManyCompletions {
        /// The task.
        task: String,
        /// The completions of the entry.
        completions: u64,
        /// The largest number: 1 for learners with full feedback, and if no task of the problem
        /// has a volume.
        most: u64,
    },
    /// The spend is negative or not finite.
    #[error("spend of {task}: must be finite and not negative, not {spend}")]
    SpendRange {
        /// The task.
        task: String,
        /// The spend of the entry.
        spend: f64,
    },
    /// The reward is out of range.
    #[error(
        "reward of {task}: must be between 0 and {}reward_max {reward_max}, not {reward}",
        times(*.completions)
    )]
    RewardRange {
        /// The task.
        task: String,
        /// The reward of the entry.
        reward: f64,
        /// The completions of the entry, at least 1.
        completions: u64,
        /// The largest reward.
        reward_max: f64,
    },
    /// The task failed and has a reward, which the learner would not see.
    #[error("task {task} failed, but has the reward {reward}: only a success shows its reward")]
    RewardOfFailure {
        /// The task.
        task: String,
        /// The reward of the entry.
        reward: f64,
    },
    /// A different outcome was reported before.
    #[error("round {round}, task {task}: {now} now, but {before} before")]
    Contradiction {
        /// The round.
        round: u64,
        /// The task.
        task: String,
        /// The outcome of the entry.
        now: ReportedOutcome,
        /// The outcome on record.
        before: ReportedOutcome,
    },
}

/// Why [`Ledger::from_json`](super::Ledger::from_json) rejects a record.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The text is not JSON.
    #[error("is not JSON: {0}")]
    Json(JsonError),
    /// The document is not the record of a ledger.
    #[error(transparent)]
    Document(JsonError),
    /// The document has no version.
    #[error("has no version, so it is not the record of a ledger")]
    NoVersion,
    /// A newer version wrote the document.
    #[error("version {found} is unsupported, expected {known}: a newer outlay wrote it")]
    Version {
        /// The version of the document.
        found: u64,
        /// The version that this library reads.
        known: u64,
    },
    /// The problem is invalid.
    #[error(transparent)]
    Problem(ProblemErrors),
    /// A round has too few or too many numbers.
    #[error("round {0}: needs one spend and one success per task")]
    RoundLength(usize),
    /// A number of a round is out of range.
    #[error("round {0}: a number is out of range")]
    RoundRange(usize),
    /// An outcome has both `completed` and `completions`, or neither.
    #[error("tells: an outcome of round {0} needs either completed or completions")]
    Completions(u64),
    /// An outcome names an unknown task.
    #[error("tells: no task is named {0}")]
    UnknownTask(String),
    /// A report was made after a number of rounds that the record does not have.
    #[error("tells: after {0} does not fit the rounds")]
    ReportOrder(u64),
    /// An amendment does not fit the rounds and reports, counted from 1.
    #[error("amendments: number {0} does not fit the rounds and tells")]
    AmendmentOrder(usize),
    /// An outcome is on record twice.
    #[error("tells: an outcome is on record twice")]
    Repeated,
}
