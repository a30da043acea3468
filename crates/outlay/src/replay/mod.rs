//! Replays learners on recorded outcomes.
//!
//! The model assumes that success and reward of a task are independent and that nothing changes
//! from round to round. A [`Record`] holds recorded rows. A round replays one row of each task
//! ([`record`]), which preserves the dependence between thresholds and rewards. [`Replay`] runs
//! learners on a record; [`Splits`] has the fixed allocations to compare with, including the best
//! in hindsight; [`assumptions`] tests the assumptions of the model on the record.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//! use outlay::replay::{Order, Record, Replay, TaskRows, ThresholdRow};
//! use outlay::{Curve, ProblemSpec, TaskSpec};
//!
//! let row = |threshold, reward| ThresholdRow { threshold, reward };
//! let tasks = vec![
//!     TaskSpec::new("a", Curve::empirical(vec![1.0, 3.0])?),
//!     TaskSpec::new("b", Curve::empirical(vec![2.0])?),
//! ];
//! let problem = ProblemSpec { budget: 3.0, tasks, ..ProblemSpec::default() }.check()?;
//! let rows = vec![
//!     TaskRows::Thresholds(vec![row(1.0, 0.1), row(3.0, 0.9)]),
//!     TaskRows::Thresholds(vec![row(2.0, 0.25)]),
//! ];
//! let record = Record::new(&problem, rows)?;
//! let replay = Replay {
//!     problem: &problem,
//!     record: &record,
//!     learners: &["uniform".parse()?],
//!     order: Order::Shuffled,
//!     rounds: 10,
//!     replications: 2,
//!     starts_from_seen: false,
//!     seed: 1,
//! };
//! let splits = replay.splits()?;
//! // All on a gains 0.1 or 0.9 with equal probability. In the model, 1 on a and 2 on b is as good.
//! assert_eq!(splits.best.spend, [3.0, 0.0]);
//! assert!((splits.best.gain - 0.5).abs() < 1e-9);
//! let run = replay.play(replay.jobs()[0], &AtomicBool::new(false))?.unwrap();
//! assert!((run.gain - 0.05).abs() < 1e-9); // 1.5 each
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod assumptions;
mod conditions;
mod curve_distance;
mod fit_rows;
mod permutation_baseline;
pub mod rank_tests;
pub mod record;
mod replication;
mod rows;
mod splits;
mod step_function;
mod summary;

pub use conditions::RowConditions;
pub use fit_rows::{FittedProblem, fit_rows};
pub use permutation_baseline::PermutationBaseline;
pub use record::{Record, TaskRecord};
pub use replication::{Replay, ReplayJob, ReplayRun};
pub use rows::{CensoredRow, CountRow, OutcomeRow, RecordError, TaskRows, ThresholdRow};
pub use splits::{FixedSplit, Splits};
pub use step_function::StepFunction;
pub use summary::{LearnerReplay, ReplaySummary};

use serde::Serialize;

use crate::simulation::ExperimentError;

/// The order in which rows are replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// In recorded order, starting again after the last row.
    Recorded,
    /// Drawn in each round with replacement.
    Shuffled,
}

/// An error of a replay.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The replay has no learner, no round or no replication.
    #[error("a replay needs at least one learner, one round and one replication")]
    Empty,
    /// An error of a learner, its campaign or the oracle.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// An error of the record.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The rows of a task cannot be fitted.
    #[error("task {task}: {error}")]
    Fit {
        /// The name of the task.
        task: String,
        /// The reason.
        error: crate::fit::FitError,
    },
    /// No row of a task succeeded, so that its mean reward is unknown.
    #[error("task {task}: none of the rows to fit has a success: its value is unknown")]
    NoSuccess {
        /// The name of the task.
        task: String,
    },
    /// The fitted problem is invalid.
    #[error("the fitted problem: {0}")]
    Problem(crate::problem::ProblemErrors),
}
