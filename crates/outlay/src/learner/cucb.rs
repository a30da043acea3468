//! `cucb`: the combinatorial upper confidence bound of Chen, Wang and Yuan (ICML 2013).
//!
//! Index in round `t`: `m + sqrt(3 log t / 2N)`. Before the first completion 1 plus the width of a single one, which no tried task
//! exceeds: untried tasks come first, as there (but for ties with a task whose only reward was the largest).
//!
//! Guarantee: O(log T) on semi-bandits, that is on M-sets (equal thresholds); none is known for other curves.

use super::Learner;
use super::counting::{Counting, Index};
use super::counts::Counts;
use super::elementary::ln;

#[derive(Debug)]
pub(super) struct Cucb {
    /// 1 before the first completion.
    means: Vec<f64>,
    /// `1 / sqrt(N)`; 1 before the first completion.
    narrowings: Vec<f64>,
}

impl Cucb {
    pub(super) fn learner(tasks: usize) -> Box<dyn Learner> {
        Box::new(Counting::new(tasks, Self { means: vec![1.0; tasks], narrowings: vec![1.0; tasks] }))
    }
}

impl Index for Cucb {
    fn update(&mut self, task: usize, counts: &Counts) {
        let completions = counts.completions(task) as f64;
        let is_tried = completions > 0.0;
        self.means[task] = if is_tried { counts.mean(task) } else { 1.0 };
        self.narrowings[task] = if is_tried { 1.0 / completions.sqrt() } else { 1.0 };
    }

    fn indices(&mut self, round: u64, _: &Counts, indices: &mut [f64]) {
        let width = (1.5 * ln(round as f64)).sqrt();
        for ((index, mean), narrowing) in indices.iter_mut().zip(&self.means).zip(&self.narrowings) {
            *index = mean + width * narrowing;
        }
    }
}
