//! Learners on problems, many times over: one replication, many replications, what they add up to.

mod summary;

pub use summary::{BoundCurve, CurvePoint, LearnerSummary, Optimum, ReplicationSummary, Statistics, Summary};
