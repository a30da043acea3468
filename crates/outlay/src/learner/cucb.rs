//! `cucb`: the combinatorial upper confidence bound of Chen, Wang and Yuan (ICML 2013).
//!
//! Index in round `t`: `m + sqrt(3 log t / 2N)`. Before the first completion it is 1 plus the width
//! of a single completion, which no tried task exceeds. Untried tasks thus come first, as in the
//! original, except for ties with a task whose only reward was the largest.
//!
//! With volumes, `t` is the round times the largest volume.
//!
//! Guarantee: O(log T) on semi-bandits, that is on M-sets (equal thresholds); none is known for
//! other curves.

use super::Learner;
use super::counts::Counts;
use super::index_policy::{Index, IndexPolicy};
use crate::numeric::dispatch::{Loop, vectorised};
use crate::numeric::exp_log::ln;

#[derive(Debug, Clone)]
pub(super) struct Cucb {
    widths: Widths,
    /// The largest volume, rounded up.
    volume: u64,
    /// 1 before the first completion.
    means: Vec<f64>,
    /// `1 / sqrt(N)`; 1 before the first completion.
    narrowings: Vec<f64>,
}

impl Cucb {
    pub(super) fn learner(tasks: usize, volume: u64) -> Box<dyn Learner> {
        let (widths, ones) = (Widths::new(), vec![1.0; tasks]);
        let index = Self { widths, volume, means: ones.clone(), narrowings: ones };
        Box::new(IndexPolicy::new(tasks, index))
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
        let width = self.widths.of(round.saturating_mul(self.volume));
        for ((index, mean), narrowing) in indices.iter_mut().zip(&self.means).zip(&self.narrowings)
        {
            *index = mean + width * narrowing;
        }
    }
}

/// The number of rounds whose widths are computed together.
const BLOCK: usize = 32;

/// The width of a single completion, `sqrt(3 log t / 2)`, for a block of rounds, which is much
/// cheaper than one by one.
///
/// A width depends on its round alone, not on where a campaign starts or resumes.
#[derive(Debug, Clone)]
struct Widths {
    /// A multiple of the block's length.
    first: u64,
    widths: [f64; BLOCK],
}

impl Widths {
    fn new() -> Self {
        let mut widths = Self { first: 0, widths: [0.0; BLOCK] };
        widths.fill();
        widths
    }

    fn of(&mut self, round: u64) -> f64 {
        let place = round % BLOCK as u64;
        if round - place != self.first {
            self.first = round - place;
            self.fill();
        }
        self.widths[place as usize]
    }

    #[cold]
    fn fill(&mut self) {
        vectorised(Fill { first: self.first as f64, widths: &mut self.widths });
    }
}

struct Fill<'a> {
    first: f64,
    widths: &'a mut [f64; BLOCK],
}

/// From this round on, the logarithms of a block are a short series around that of its first round.
const SERIES_FROM: f64 = 2048.0;

impl Loop for Fill<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { first, widths } = self;
        if first < SERIES_FROM {
            for (place, width) in widths.iter_mut().enumerate() {
                *width = (1.5 * ln(first + place as f64)).sqrt();
            }
            return;
        }
        let (log, inverse) = (ln(first), 1.0 / first);
        for (place, width) in widths.iter_mut().enumerate() {
            // log(1 + x) for x below 1/66: the remainder is below 1e-19.
            let x = place as f64 * inverse;
            let tail =
                1.0 / 5.0 - x * (1.0 / 6.0 - x * (1.0 / 7.0 - x * (1.0 / 8.0 - x * (1.0 / 9.0))));
            let rise = x * (1.0 - x * (1.0 / 2.0 - x * (1.0 / 3.0 - x * (1.0 / 4.0 - x * tail))));
            *width = (1.5 * (log + rise)).sqrt();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds_near_block_ends() -> impl Iterator<Item = u64> {
        let ends = (6..64).flat_map(|power| (1u64 << power) - 40..(1 << power) + 40);
        (1..5000).chain(ends).chain(u64::MAX - 100..=u64::MAX)
    }

    #[test]
    fn widths_match_their_definition() {
        let mut widths = Widths::new();
        for round in rounds_near_block_ends() {
            let definition = (1.5 * (round as f64).ln()).sqrt();
            let width = widths.of(round);
            assert!(
                (width - definition).abs() <= 4.0 * f64::EPSILON * definition,
                "{round}: {width} {definition}"
            );
        }
    }

    #[test]
    fn widths_do_not_depend_on_the_rounds_before() {
        let mut widths = Widths::new();
        for round in rounds_near_block_ends() {
            assert_eq!(widths.of(round).to_bits(), Widths::new().of(round).to_bits(), "{round}");
        }
    }
}
