//! Learners on recorded outcomes: what really happened to each task, with the dependence that the
//! model does not know.
//!
//! In the model a task's success and its reward are independent, and nothing changes from round to
//! round. A [`Record`] holds rows of what was: a round replays a row of each task ([`record`]), so
//! that whatever ties thresholds to rewards stays. [`Replay`] lets learners play a record many
//! times over; [`Splits`] has the fixed splits that they are compared with, the best in hindsight
//! among them; [`assumptions`] says how far the record is from what the model takes for granted.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//! use outlay::replay::{Order, Record, Replay, TaskRows, ThresholdRow};
//! use outlay::{Curve, ProblemSpec, TaskSpec};
//!
//! let row = |threshold, reward| ThresholdRow { threshold, reward };
//! let tasks = vec![TaskSpec::new("a", Curve::empirical(vec![1.0, 3.0])?), TaskSpec::new("b", Curve::empirical(vec![2.0])?)];
//! let problem = ProblemSpec { budget: 3.0, tasks, ..ProblemSpec::default() }.check()?;
//! let rows = vec![TaskRows::Thresholds(vec![row(1.0, 0.1), row(3.0, 0.9)]), TaskRows::Thresholds(vec![row(2.0, 0.25)])];
//! let record = Record::new(&problem, rows)?;
//! let replay = Replay {
//!     problem: &problem,
//!     record: &record,
//!     learners: &["uniform".parse()?],
//!     order: Order::Shuffled,
//!     rounds: 10,
//!     replications: 2,
//!     seed: 1,
//! };
//! let splits = replay.splits()?;
//! // All on a: 0.1 half of the time, 0.9 the other half. In the model, 1 on a and 2 on b would be as good.
//! assert_eq!(splits.best.spend, [3.0, 0.0]);
//! assert!((splits.best.gain - 0.5).abs() < 1e-9);
//! let run = replay.play(replay.jobs()[0], &AtomicBool::new(false))?.unwrap();
//! assert!((run.gain - 0.05).abs() < 1e-9); // 1.5 each
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod assumptions;
mod chance;
mod play;
pub mod rank;
pub mod record;
mod splits;
mod staircase;
mod summary;

pub use chance::Chance;
pub use play::{Replay, ReplayJob, ReplayRun};
pub use record::{OutcomeRow, Record, RecordError, TaskRecord, TaskRows, ThresholdRow};
pub use splits::{FixedSplit, Splits};
pub use staircase::Staircase;
pub use summary::{LearnerReplay, ReplaySummary};

use serde::Serialize;

use crate::simulation::ExperimentError;

/// Which row of a task a round replays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// One after the other as recorded, from the first again after the last.
    Recorded,
    /// One drawn anew each round, with replacement.
    Shuffled,
}

/// Why a record cannot be replayed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The replay has no learner, no round or no replication.
    #[error("a replay needs at least one learner, one round and one replication")]
    Empty,
    /// A learner, its campaign or the oracle.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// The rows.
    #[error(transparent)]
    Record(#[from] RecordError),
}
