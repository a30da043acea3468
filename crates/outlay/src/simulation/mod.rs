//! Simulation: environments, replications of a learner on a problem, experiments and summaries.

mod environment;
mod experiment;
mod replication;
mod reward;
mod summary;

pub use environment::{Environment, EnvironmentError};
pub(crate) use experiment::on_threads;
pub use experiment::{Case, Experiment, Job, Source};
pub use reward::RewardDraw;

pub use replication::{MOST_TRACED_TASKS, Play, Replication, trace_rounds};
pub use summary::{
    BoundCurve, CurvePoint, LearnerSummary, Optimum, ReplicationSummary, Statistics, Summary,
};

use crate::campaign::CampaignError;
use crate::instance::InstanceError;
use crate::learner::LearnerError;
use crate::oracle::AllocationError;

/// Why an experiment cannot be run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// A learner or its campaign.
    #[error(transparent)]
    Campaign(#[from] CampaignError),
    /// A problem that cannot be simulated.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// An instance that cannot be made.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// A learner that cannot be made.
    #[error(transparent)]
    Learner(#[from] LearnerError),
    /// A budget that cannot be split.
    #[error(transparent)]
    Allocation(#[from] AllocationError),
    /// The experiment has no problem, no learner or no replication.
    #[error("an experiment needs at least one problem, one learner and one replication")]
    Empty,
    /// A case has no rounds.
    #[error("horizon: must be at least 1, not 0")]
    NoRounds,
}
