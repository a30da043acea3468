//! Simulation: environments, replications of a learner on a problem, experiments and summaries.

mod completions;
mod environment;
mod experiment;
mod replication;
mod reward;
mod round_numbers;
mod summary;
mod varying_curves;

pub use environment::{DrawOutcomes, Environment, EnvironmentError};
pub(crate) use experiment::on_threads;
pub use experiment::{Case, Experiment, Job, Source};
pub use reward::RewardDraw;

pub use replication::{MAX_TRACED_TASKS, Play, Replication, trace_rounds};
pub use summary::{
    BoundCurve, CurvePoint, DecadePoint, LearnerSummary, Optimum, ReplicationSummary, Statistics,
    Summary,
};

use crate::campaign::CampaignError;
use crate::instance::InstanceError;
use crate::learner::LearnerError;
use crate::oracle::AllocationError;

/// An experiment that cannot be run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// The campaign rejects a request.
    #[error(transparent)]
    Campaign(#[from] CampaignError),
    /// A problem cannot be simulated.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// An instance cannot be built.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// A learner cannot be built.
    #[error(transparent)]
    Learner(#[from] LearnerError),
    /// The oracle rejects a budget.
    #[error(transparent)]
    Allocation(#[from] AllocationError),
    /// The experiment has no problem, no learner or no replication.
    #[error("an experiment needs at least one problem, one learner and one replication")]
    Empty,
    /// A case has no rounds.
    #[error("horizon: must be at least 1, not 0")]
    NoRounds,
}
