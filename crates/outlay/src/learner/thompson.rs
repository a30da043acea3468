//! `thompson`: Thompson sampling (Thompson 1933; Agrawal and Goyal 2012) in the allocation rule of
//! the paper.
//!
//! Weight: a draw from Beta(1 + S, 1 + N - S). The draws come from the learner's own random stream,
//! by round and task.
//!
//! Guarantee: the bound of the paper's Theorem 3 on the *Bayesian* regret under its uniform prior,
//! for Bernoulli rewards: given the past, its split and the best one have the same distribution, so
//! both can be compared with any valid index. For a fixed problem no bound is known here.

use super::Learner;
use super::beta_draw::draw_beta;
use super::counts::Counts;
use super::index_policy::{Index, IndexPolicy};
use crate::random::{Draws, Purpose};

#[derive(Debug, Clone)]
pub(super) struct Thompson {
    draws: Draws,
}

impl Thompson {
    pub(super) fn learner(tasks: usize, seed: u64) -> Box<dyn Learner> {
        Box::new(IndexPolicy::new(tasks, Self { draws: Draws::new(seed, Purpose::Learner) }))
    }
}

impl Index for Thompson {
    fn update(&mut self, _: usize, _: &Counts) {}

    fn indices(&mut self, round: u64, counts: &Counts, indices: &mut [f64]) {
        let draws = self.draws.round(round);
        for (task, index) in indices.iter_mut().enumerate() {
            let successes = counts.reward_sum(task);
            let failures = (counts.completions(task) as f64 - successes).max(0.0);
            *index = draw_beta(1.0 + successes, 1.0 + failures, &mut draws.many(task));
        }
    }
}
