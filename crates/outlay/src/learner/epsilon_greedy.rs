//! `epsilon-greedy`: `greedy`, but each round explores with probability `epsilon`: it plays the
//! best split for random weights.
//!
//! The weights are random because an even split reaches no threshold above B/K.
//!
//! Guarantee: none; exploring a constant share of the rounds costs a constant share of the optimum.

use super::Learner;
use super::counts::Counts;
use super::index_policy::{Index, IndexPolicy};
use crate::random::{Draws, Purpose};

pub(super) const DEFAULT_EPSILON: f64 = 0.05;

#[derive(Debug, Clone)]
pub(super) struct EpsilonGreedy {
    epsilon: f64,
    draws: Draws,
}

impl EpsilonGreedy {
    pub(super) fn learner(tasks: usize, epsilon: f64, seed: u64) -> Box<dyn Learner> {
        Box::new(IndexPolicy::new(
            tasks,
            Self { epsilon, draws: Draws::new(seed, Purpose::Learner) },
        ))
    }
}

impl Index for EpsilonGreedy {
    fn update(&mut self, _: usize, _: &Counts) {}

    fn indices(&mut self, round: u64, counts: &Counts, indices: &mut [f64]) {
        let draws = self.draws.round(round);
        // The draw after those of the tasks decides whether to explore.
        let explores = draws.uniform(indices.len()) < self.epsilon;
        for (task, index) in indices.iter_mut().enumerate() {
            *index = match (explores, counts.completions(task)) {
                (true, _) => draws.uniform(task),
                (false, 0) => 1.0,
                (false, _) => counts.mean(task),
            };
        }
    }
}
