//! `cucb`: the combinatorial upper confidence bound of Chen, Wang and Yuan (ICML 2013).
//!
//! Index in round `t`: `m + sqrt(3 log t / 2N)`. Before the first completion 1 plus the width of a single one, which no tried task
//! exceeds: untried tasks come first, as there.
//!
//! Guarantee: O(log T) on semi-bandits, that is on M-sets (equal thresholds); none is known for other curves.

use super::Learner;
use super::counting::{Counting, Index};
use super::counts::Counts;

#[derive(Debug)]
pub(super) struct Cucb;

impl Cucb {
    pub(super) fn learner(tasks: usize) -> Box<dyn Learner> {
        Box::new(Counting::new(tasks, Self))
    }
}

impl Index for Cucb {
    fn update(&mut self, _: usize, _: &Counts) {}

    fn indices(&mut self, round: u64, counts: &Counts, indices: &mut [f64]) {
        let width = 1.5 * (round as f64).ln();
        for (task, index) in indices.iter_mut().enumerate() {
            *index = match counts.completions(task) {
                0 => 1.0 + width.sqrt(),
                completions => counts.mean(task) + (width / completions as f64).sqrt(),
            };
        }
    }
}
