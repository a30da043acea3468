//! `full`: Algorithm 1 with every reward, including those of failed tasks. Needs full feedback.
//!
//! It is a benchmark: its advantage over `algorithm-1` is the cost of censoring.
//!
//! Guarantee: that of `algorithm-1`; every task has one observation per round, whatever is played.

use super::Learner;
use super::algorithm_1::Algorithm1;
use super::index_policy::{CachedIndex, IndexPolicy};

pub(super) fn learner(tasks: usize, horizon: u64) -> Box<dyn Learner> {
    Box::new(IndexPolicy::with_full_feedback(
        tasks,
        CachedIndex::new(tasks, Algorithm1::new(tasks, horizon)),
    ))
}
