//! `algorithm-1`: Algorithm 1 of *Online Budget Allocation with Censored Semi-Bandit Feedback*
//! (COLT 2026).
//!
//! Index: `m + sqrt(L / (1 + N))` with `L = log(2/δ)`, `δ = 1/(KT)²`; `sqrt(L)` before the first
//! completion, and not clipped at 1: clipping would lose the order of rarely tried tasks.
//!
//! Guarantee: the paper's Theorem 1, O(log² T) under strong diminishing returns, and Theorem 3,
//! Õ(K√T) for any curves.

use super::Learner;
use super::index_policy::{CachedIndex, CountIndex, IndexPolicy};

/// `L = log(2/δ)` for `δ = 1/(KT)²`, without forming the square.
#[must_use]
pub fn log_term(tasks: usize, horizon: u64) -> f64 {
    std::f64::consts::LN_2 + 2.0 * (tasks as f64).ln() + 2.0 * (horizon as f64).ln()
}

#[derive(Debug, Clone)]
pub(super) struct Algorithm1 {
    log_term: f64,
}

impl Algorithm1 {
    pub(super) fn new(tasks: usize, horizon: u64) -> Self {
        Self { log_term: log_term(tasks, horizon) }
    }

    pub(super) fn learner(tasks: usize, horizon: u64) -> Box<dyn Learner> {
        Box::new(IndexPolicy::new(tasks, CachedIndex::new(tasks, Self::new(tasks, horizon))))
    }
}

impl CountIndex for Algorithm1 {
    #[inline(always)]
    fn index(&self, completions: f64, mean: f64) -> f64 {
        mean + (self.log_term / (1.0 + completions)).sqrt()
    }
}
