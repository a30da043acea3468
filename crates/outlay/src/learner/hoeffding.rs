//! `hoeffding`: Algorithm 1 with exactly the width of Hoeffding's inequality, clipped at 1.
//!
//! Index: `min(1, m + sqrt(L / 2N))`, 1 before the first completion, `L = log(2/δ)`, `δ = 1/(KT)²`.
//!
//! Guarantee: the paper's Theorems 1 and 3 with the same constants: `1/(2N) <= 1/(1+N)`, and the
//! mean is at most 1.

use super::Learner;
use super::algorithm_1::log_term;
use super::index_policy::{CachedIndex, CountIndex, IndexPolicy};

#[derive(Debug, Clone)]
pub(super) struct Hoeffding {
    half_log_term: f64,
}

impl Hoeffding {
    pub(super) fn learner(tasks: usize, horizon: u64) -> Box<dyn Learner> {
        let index = Self { half_log_term: 0.5 * log_term(tasks, horizon) };
        Box::new(IndexPolicy::new(tasks, CachedIndex::new(tasks, index)))
    }
}

impl CountIndex for Hoeffding {
    #[inline(always)]
    fn index(&self, completions: f64, mean: f64) -> f64 {
        let index = (mean + (self.half_log_term / completions).sqrt()).min(1.0);
        if completions == 0.0 { 1.0 } else { index }
    }
}
