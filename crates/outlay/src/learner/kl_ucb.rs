//! `kl-ucb`: the classical KL-UCB level (Garivier and Cappé 2011; Cappé et al. 2013) in the
//! allocation rule of the paper.
//!
//! Index in round `t`: the largest `q` with `N kl(m, q) <= log t`; 1 before the first completion.
//!
//! Guarantee: none is known in this model.

use super::Learner;
use super::counts::Counts;
use super::index_policy::{Index, IndexPolicy};
use super::kl;
use crate::numeric::exp_log::ln;

#[derive(Debug, Clone)]
pub(super) struct KlUcb {
    means: Vec<f64>,
    /// `1 / N`; zero before the first completion, when the mean is set to 1.
    scales: Vec<f64>,
    levels: Vec<f64>,
}

impl KlUcb {
    pub(super) fn learner(places: usize) -> Box<dyn Learner> {
        let zeros = vec![0.0; places];
        Box::new(IndexPolicy::new(
            places,
            Self { means: zeros.clone(), scales: zeros.clone(), levels: zeros },
        ))
    }
}

impl Index for KlUcb {
    fn update(&mut self, task: usize, counts: &Counts) {
        let completions = counts.completions(task) as f64;
        self.means[task] = if completions > 0.0 { counts.mean(task) } else { 1.0 };
        self.scales[task] = if completions > 0.0 { 1.0 / completions } else { 0.0 };
    }

    fn indices(&mut self, round: u64, _: &Counts, indices: &mut [f64]) {
        let log_round = ln(round as f64);
        for (level, scale) in self.levels.iter_mut().zip(&self.scales) {
            *level = scale * log_round;
        }
        kl::upper_all(&self.means, &self.levels, indices);
    }
}
