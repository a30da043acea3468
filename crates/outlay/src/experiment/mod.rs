//! Learners on problems, many times over: one replication, many replications, what they add up to.

mod replication;
pub(crate) mod run;
mod summary;

pub use replication::{MOST_TRACED_TASKS, Play, Replication, trace_rounds};
pub use run::{Case, Experiment, Job, Source};
pub use summary::{
    BoundCurve, CurvePoint, LearnerSummary, Optimum, ReplicationSummary, Statistics, Summary,
};

use crate::campaign::CampaignError;
use crate::environment::EnvironmentError;
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
    /// Nothing to do.
    #[error("{0}")]
    Empty(&'static str),
}
