//! `kl-ucb-plus`, the default: the KL-UCB+ index (Garivier and Cappé 2011; Kaufmann 2016; Honda
//! 2019) in the allocation rule of the paper.
//!
//! Index in round `t`: the largest `q` with `N kl(m, q) <= c log⁺(t/N)`, `c = 1.1`; 1 before the
//! first completion. No horizon. For a task with volume `V` it is `log⁺(V t/N)`: `V t` is the
//! expected number of completions if every round had success 1.
//!
//! Guarantee: `11.6 K√T + K` for any curves and every `T` at once (exact oracle, `c = 1.1`), O(log
//! T) under strong diminishing returns. The proofs are ours and not peer reviewed:
//! docs/explanation/proof-kl-ucb-plus.md.

use super::Learner;
use super::counts::Counts;
use super::index_policy::{Index, IndexPolicy};
use super::kl;
use crate::numeric::dispatch::{Loop, vectorised};
use crate::numeric::exp_log::ln;

/// The factor `c` of the level, chosen by measurement.
pub(crate) const DEFAULT_FACTOR: f64 = 1.1;

/// The parts of each task's index that do not depend on the round.
#[derive(Debug, Clone)]
pub(super) struct KlUcbPlus {
    factor: f64,
    means: Vec<f64>,
    /// `1 / N`; zero before the first completion, when the mean is set to 1.
    shares: Vec<f64>,
    volumes: Vec<f64>,
    /// `V / N`.
    ratios: Vec<f64>,
    levels: Vec<f64>,
}

impl KlUcbPlus {
    pub(super) fn learner(volumes: Vec<f64>, factor: f64) -> Box<dyn Learner> {
        Box::new(IndexPolicy::new(volumes.len(), Self::new(volumes, factor)))
    }

    fn new(volumes: Vec<f64>, factor: f64) -> Self {
        let zeros = vec![0.0; volumes.len()];
        Self {
            factor,
            means: zeros.clone(),
            shares: zeros.clone(),
            volumes,
            ratios: zeros.clone(),
            levels: zeros,
        }
    }
}

impl Index for KlUcbPlus {
    fn update(&mut self, task: usize, counts: &Counts) {
        let completions = counts.completions(task) as f64;
        // A mean of 1 has the index 1 at every level.
        (self.means[task], self.shares[task]) =
            if completions > 0.0 { (counts.mean(task), 1.0 / completions) } else { (1.0, 0.0) };
        self.ratios[task] = self.volumes[task] * self.shares[task];
    }

    fn indices(&mut self, round: u64, _: &Counts, indices: &mut [f64]) {
        vectorised(Levels {
            factor: self.factor,
            round: round as f64,
            shares: &self.shares,
            ratios: &self.ratios,
            levels: &mut self.levels,
        });
        kl::upper_all(&self.means, &self.levels, indices);
    }
}

/// `c max(0, log(V t / N)) / N` for all tasks.
struct Levels<'a> {
    factor: f64,
    round: f64,
    shares: &'a [f64],
    ratios: &'a [f64],
    levels: &'a mut [f64],
}

impl Loop for Levels<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for ((level, &share), &ratio) in self.levels.iter_mut().zip(self.shares).zip(self.ratios) {
            // At share 0 the logarithm is -∞ or NaN, and its maximum with 0 is 0.
            *level = self.factor * share * ln(self.round * ratio).max(0.0);
        }
    }
}
