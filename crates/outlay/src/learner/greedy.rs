//! `greedy`: the best split for the observed means; a task without completions has mean 1.
//!
//! Guarantee: none. On thresholds its regret is linear: a task whose first reward was 0 is never
//! tried again.

use super::Learner;
use super::index_policy::{CachedIndex, CountIndex, IndexPolicy};

#[derive(Debug, Clone)]
pub(super) struct Greedy;

impl Greedy {
    pub(super) fn learner(places: usize) -> Box<dyn Learner> {
        Box::new(IndexPolicy::new(places, CachedIndex::new(places, Self)))
    }
}

impl CountIndex for Greedy {
    #[inline(always)]
    fn index(&self, completions: f64, mean: f64) -> f64 {
        if completions == 0.0 { 1.0 } else { mean }
    }
}
