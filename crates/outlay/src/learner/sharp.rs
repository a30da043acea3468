//! `sharp`, the default: the KL-UCB+ index (Garivier and Cappé 2011; Kaufmann 2016; Honda 2019) in the allocation rule of the paper.
//!
//! Index in round `t`: the largest `q` with `N kl(m, q) <= c log⁺(t/N)`, `c = 1.1`; 1 before the first completion. No horizon.
//!
//! Guarantee: `11.6 K√T + K` for any curves and every `T` at once (exact oracle, `c = 1.1`), O(log T) under strong diminishing
//! returns. The proofs are ours and not peer reviewed: docs/proof-sharp.md.

use super::Learner;
use super::counting::{Counting, Index};
use super::counts::Counts;
use super::elementary::ln;
use super::kl;

/// The factor `c` of the level, picked by measurement.
pub(crate) const DEFAULT_FACTOR: f64 = 1.1;

/// What can be said before the round is known, task by task.
#[derive(Debug)]
pub(super) struct Sharp {
    factor: f64,
    means: Vec<f64>,
    entropies: Vec<f64>,
    /// `log N`; zero before the first completion.
    log_completions: Vec<f64>,
    /// `c / N`; zero before the first completion, when the mean stands at 1.
    scales: Vec<f64>,
    levels: Vec<f64>,
}

impl Sharp {
    pub(super) fn learner(tasks: usize, factor: f64) -> Box<dyn Learner> {
        Box::new(Counting::new(tasks, Self::new(tasks, factor)))
    }

    fn new(tasks: usize, factor: f64) -> Self {
        let zeros = vec![0.0; tasks];
        Self {
            factor,
            means: zeros.clone(),
            entropies: zeros.clone(),
            log_completions: zeros.clone(),
            scales: zeros.clone(),
            levels: zeros,
        }
    }
}

impl Index for Sharp {
    fn update(&mut self, task: usize, counts: &Counts) {
        let completions = counts.completions(task) as f64;
        if completions == 0.0 {
            // A mean of 1 has the index 1 at every level.
            (self.means[task], self.entropies[task]) = (1.0, 0.0);
            (self.log_completions[task], self.scales[task]) = (0.0, 0.0);
            return;
        }
        let mean = counts.mean(task);
        (self.means[task], self.entropies[task]) = (mean, kl::entropy(mean));
        (self.log_completions[task], self.scales[task]) = (ln(completions), self.factor / completions);
    }

    fn indices(&mut self, round: u64, _: &Counts, indices: &mut [f64]) {
        let log_round = ln(round as f64);
        for ((level, log_completions), scale) in self.levels.iter_mut().zip(&self.log_completions).zip(&self.scales) {
            *level = scale * (log_round - log_completions).max(0.0);
        }
        kl::upper_all(&self.means, &self.entropies, &self.levels, indices);
    }
}
