//! `kl-ucb`: the classical KL-UCB level (Garivier and Cappé 2011; Cappé et al. 2013) in the
//! allocation rule of the paper.
//!
//! Index in round `t`: the largest `q` with `N kl(m, q) <= log t`; 1 before the first completion.
//! For a task with volume `V` it is `log(V t)`.
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
    log_volumes: Vec<f64>,
    levels: Vec<f64>,
}

impl KlUcb {
    pub(super) fn learner(volumes: &[f64]) -> Box<dyn Learner> {
        let zeros = vec![0.0; volumes.len()];
        let log_volumes = volumes.iter().map(|volume| volume.ln()).collect();
        Box::new(IndexPolicy::new(
            volumes.len(),
            Self { means: zeros.clone(), scales: zeros.clone(), log_volumes, levels: zeros },
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
        let tasks = self.levels.iter_mut().zip(&self.scales).zip(&self.log_volumes);
        for ((level, scale), log_volume) in tasks {
            // A small volume may expect less than one completion so far.
            *level = scale * (log_round + log_volume).max(0.0);
        }
        kl::upper_all(&self.means, &self.levels, indices);
    }
}
