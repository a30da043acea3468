//! Errors of learners and of their saved states.

use super::LearnerSpec;
use super::grid_ucb::MAX_ARMS;
use crate::feedback::Feedback;
use crate::text::one_line;
use crate::{JsonError, ParameterError};

/// A learner that cannot be built.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LearnerError {
    /// The text does not name a learner or has invalid parameters.
    #[error("learner `{text}`: {error}")]
    Invalid {
        /// The text, on one line.
        text: String,
        /// The reason.
        error: ParameterError,
    },
    /// The learner needs more feedback than it would receive.
    #[error("learner `{learner}`: needs {needed} feedback, but would get only {given} feedback")]
    Feedback {
        /// The learner.
        learner: String,
        /// The feedback that it needs.
        needed: Feedback,
        /// The feedback that it would receive.
        given: Feedback,
    },
    /// The learner needs a horizon, and neither the caller nor the problem gives one.
    #[error(
        "learner `{0}`: must know the horizon: give the number of rounds, or take `kl-ucb-plus`, \
         which needs none"
    )]
    NoHorizon(LearnerSpec),
    /// The learner needs tasks that complete at most once in a round.
    #[error(
        "learner `{learner}`: needs tasks that complete at most once in a round, but task {task} \
         has volume {volume}: take `kl-ucb-plus`"
    )]
    Volume {
        /// The learner.
        learner: LearnerSpec,
        /// The first task with another volume than 1.
        task: String,
        /// Its volume.
        volume: f64,
    },
    /// The grid of `grid-ucb` is too fine.
    #[error(
        "grid-ucb: {units} units over {tasks} tasks make more than {MAX_ARMS} splits: \
         take fewer units"
    )]
    GridTooFine {
        /// The number of parts into which the budget is divided.
        units: u32,
        /// The number of tasks of the problem.
        tasks: usize,
    },
    /// No point of the grid of `grid-ucb` is feasible.
    #[error("grid-ucb: no split of the grid meets the tasks' bounds: take more units")]
    GridInfeasible,
}

/// A saved state that cannot be loaded.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The document is not the state of a campaign.
    #[error("state: {0}")]
    Document(JsonError),
    /// The document has no version.
    #[error("state: has no version, so it is not the state of a campaign")]
    NoVersion,
    /// A newer version wrote the document.
    #[error("state: unsupported version {found}, expected {known}: a newer outlay wrote it")]
    Version {
        /// The version of the document.
        found: u64,
        /// The version that this library reads.
        known: u32,
    },
    /// The state belongs to a problem with other tasks.
    #[error("state: its tasks are {}, those of the problem {}", list(.found), list(.expected))]
    Tasks {
        /// The tasks of the state.
        found: Vec<String>,
        /// The tasks of the problem.
        expected: Vec<String>,
    },
    /// An open round is inconsistent.
    #[error(
        "state: open round {round} is invalid: rounds must increase up to {last}, with one entry per task"
    )]
    OpenRound {
        /// The round.
        round: u64,
        /// The last round that was issued.
        last: u64,
    },
    /// The reference allocation of the guards is invalid.
    #[error("state: the reference allocation of the guards is invalid")]
    Guards,
    /// The state of the learner cannot be read.
    #[error("learner: {0}")]
    Learner(JsonError),
    /// The means of `explore-then-commit` are not as many as the tasks, or out of range.
    #[error("learner: `committed` must be {0} means between 0 and 1")]
    Means(usize),
    /// The state of `grid-ucb` does not fit the grid, which has this number of splits.
    #[error("learner: must hold plays and gains of {0} splits")]
    Grid(usize),
    /// The state of `oful` does not fit the number of tasks.
    #[error("learner: must hold the regression of {0} tasks")]
    Regression(usize),
    /// The state of `lattimore` does not fit the number of tasks.
    #[error(
        "learner: must hold bounds, sums and pending outcomes of {0} tasks, none of them negative"
    )]
    SlopeBounds(usize),
    /// A list of the learner's state has the wrong length.
    #[error("learner.{field}: {found} numbers for {tasks} tasks")]
    Length {
        /// The list.
        field: &'static str,
        /// Its length.
        found: usize,
        /// The number of tasks of the problem.
        tasks: usize,
    },
    /// A sum of rewards is larger than the completions allow.
    #[error(
        "learner.reward_sum[{task}]: {sum} billionths is more than its completions can have \
         brought ({completions})"
    )]
    RewardSum {
        /// The task, counted from 0.
        task: usize,
        /// The sum in billionths of the largest reward.
        sum: u64,
        /// The number of completions of the task.
        completions: u64,
    },
    /// The learner's state consists of more than counts.
    #[error("{0} learns from more than counts")]
    NotCountBased(String),
    /// The learner does not implement [`Learner::load`](super::Learner::load).
    #[error("learner: it has no saved state; implement `save` and `load` to continue a campaign")]
    Unsupported,
}

/// The first few names.
fn list(names: &[String]) -> String {
    const NAMED: usize = 5;
    let shown: Vec<String> = names.iter().take(NAMED).map(|name| one_line(name)).collect();
    let rest = names.len().saturating_sub(NAMED);
    if rest > 0 { format!("{} and {rest} more", shown.join(", ")) } else { shown.join(", ") }
}
