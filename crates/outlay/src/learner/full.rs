//! `full`: Algorithm 1 fed with every reward, also of tasks that failed. Needs full feedback.
//!
//! Not for use but for comparison: its distance from `algorithm-1` is the price of censoring.
//!
//! Guarantee: that of `algorithm-1`; its confidence intervals are those of the round's number,
//! whatever is played.

use super::Learner;
use super::algorithm_1::Algorithm1;
use super::index_policy::{CachedIndex, IndexPolicy};

pub(super) fn learner(tasks: usize, horizon: u64) -> Box<dyn Learner> {
    Box::new(IndexPolicy::with_full_feedback(
        tasks,
        CachedIndex::new(tasks, Algorithm1::new(tasks, horizon)),
    ))
}
