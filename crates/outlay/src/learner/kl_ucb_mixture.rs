//! `kl-ucb-mixture`: Algorithm 1 with the confidence set of a mixture martingale instead of
//! Hoeffding's inequality.
//!
//! Index: the largest `q` with `N kl(m, q) <= log(K²T) - log B(S+1, N-S+1) + S log m + (N-S)
//! log(1-m)`; 1 before the first completion.
//!
//! Guarantee: the paper's Theorems 1 and 3 with their constants; with probability 1 - 1/(KT) every
//! index of every round is above its mean. The proof is in
//! docs/explanation/proof-kl-ucb-mixture.md.

use super::Learner;
use super::counts::Counts;
use super::index_policy::{Index, IndexPolicy};
use super::kl;
use crate::numeric::exp_log::ln;

#[derive(Debug, Clone)]
pub(super) struct KlUcbMixture {
    /// `log(K²T)`.
    base: f64,
    indices: Vec<f64>,
    /// Tasks with new outcomes since the last round; their bounds are computed together.
    changed: Vec<usize>,
    is_changed: Vec<bool>,
    /// One entry per changed task.
    means: Vec<f64>,
    levels: Vec<f64>,
    uppers: Vec<f64>,
}

impl KlUcbMixture {
    pub(super) fn learner(tasks: usize, horizon: u64) -> Box<dyn Learner> {
        Box::new(IndexPolicy::new(tasks, Self::new(base(tasks, horizon as f64), tasks)))
    }

    fn new(base: f64, tasks: usize) -> Self {
        Self {
            base,
            // Before the first completion.
            indices: vec![1.0; tasks],
            changed: Vec::with_capacity(tasks),
            is_changed: vec![false; tasks],
            means: vec![0.0; tasks],
            levels: vec![0.0; tasks],
            uppers: vec![0.0; tasks],
        }
    }

    fn refresh(&mut self, counts: &Counts) {
        let count = self.changed.len();
        for (place, &task) in self.changed.iter().enumerate() {
            let (completions, reward_sum) =
                (counts.completions(task) as f64, counts.reward_sum(task));
            self.means[place] = counts.mean(task);
            self.levels[place] = (self.base + mixture_cost(completions, reward_sum)) / completions;
        }
        kl::upper_all(&self.means[..count], &self.levels[..count], &mut self.uppers[..count]);
        for (&task, &upper) in self.changed.iter().zip(&self.uppers) {
            self.indices[task] = upper;
            self.is_changed[task] = false;
        }
        self.changed.clear();
    }
}

impl Index for KlUcbMixture {
    fn update(&mut self, task: usize, counts: &Counts) {
        if counts.completions(task) == 0 {
            self.indices[task] = 1.0;
        } else if !self.is_changed[task] {
            self.is_changed[task] = true;
            self.changed.push(task);
        }
    }

    fn indices(&mut self, _: u64, counts: &Counts, indices: &mut [f64]) {
        if !self.changed.is_empty() {
            self.refresh(counts);
        }
        indices.copy_from_slice(&self.indices);
    }
}

/// `log(K²T)`.
fn base(tasks: usize, horizon: f64) -> f64 {
    2.0 * (tasks as f64).ln() + horizon.ln()
}

/// The bound on `N kl(m, q)` after at least one completion.
pub(super) fn level(tasks: usize, horizon: f64, completions: f64, reward_sum: f64) -> f64 {
    base(tasks, horizon) + mixture_cost(completions, reward_sum)
}

/// `- log B(S+1, N-S+1) + S log m + (N-S) log(1-m)`, the cost of the mixture over all means: at
/// most `log(N+1)`.
fn mixture_cost(completions: f64, reward_sum: f64) -> f64 {
    let failures = (completions - reward_sum).max(0.0);
    if !is_series_accurate(completions, reward_sum) {
        return ln(completions + 1.0) + excess_over_power(completions)
            - excess_over_power(reward_sum)
            - excess_over_power(failures);
    }
    series_cost(completions, reward_sum)
}

/// Whether there are enough completions with and without reward for [`series_cost`].
fn is_series_accurate(completions: f64, reward_sum: f64) -> bool {
    reward_sum.min((completions - reward_sum).max(0.0)) >= SERIES_FROM
}

/// The same with one logarithm instead of four; nearly every round takes this path.
#[inline(always)]
fn series_cost(completions: f64, reward_sum: f64) -> f64 {
    let failures = (completions - reward_sum).max(0.0);
    let more = completions + 1.0;
    let ratio = more * more * completions / (std::f64::consts::TAU * reward_sum * failures);
    0.5 * ln(ratio) + stirling(completions) - stirling(reward_sum) - stirling(failures)
}

/// From here on Stirling's series is accurate to the last digit.
const SERIES_FROM: f64 = 16.0;

/// `log Γ(x+1) - x log x + x`: the excess of the factorial over the power, kept small so that
/// differences keep their digits.
fn excess_over_power(x: f64) -> f64 {
    if x < SERIES_FROM {
        let power = if x > 0.0 { x * ln(x) } else { 0.0 };
        return statrs::function::gamma::ln_gamma(x + 1.0) - power + x;
    }
    0.5 * ln(std::f64::consts::TAU * x) + stirling(x)
}

/// The correction of Stirling's series to `log √(2πx)`.
#[inline(always)]
fn stirling(x: f64) -> f64 {
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    inverse
        * (1.0 / 12.0
            - square
                * (1.0 / 360.0
                    - square * (1.0 / 1260.0 - square * (1.0 / 1680.0 - square * (1.0 / 1188.0)))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::function::gamma::ln_gamma;

    #[test]
    fn the_cost_matches_its_definition() {
        for completions in [1.0f64, 2.0, 7.0, 15.0, 16.0, 40.0, 1000.0, 1e6] {
            for share in [0.0, 1e-3, 0.25, 0.5, 0.7, 0.999, 1.0] {
                let sum = share * completions;
                let rest = completions - sum;
                let power = |x: f64| if x > 0.0 { x * (x / completions).ln() } else { 0.0 };
                let log_beta =
                    ln_gamma(sum + 1.0) + ln_gamma(rest + 1.0) - ln_gamma(completions + 2.0);
                let definition = -log_beta + power(sum) + power(rest);
                let cost = mixture_cost(completions, sum);
                // The definition itself loses digits to its large terms.
                assert!(
                    (cost - definition).abs() <= 1e-14 * (10.0 + completions),
                    "{completions} {share}: {cost} {definition}"
                );
                assert!(
                    cost <= (completions + 1.0).ln() + 1e-12 && cost >= 0.0,
                    "{completions} {share}: {cost}"
                );
            }
        }
    }

    #[test]
    fn the_series_meets_the_function() {
        let below = statrs::function::gamma::ln_gamma(SERIES_FROM + 1.0)
            - SERIES_FROM * SERIES_FROM.ln()
            + SERIES_FROM;
        assert!((excess_over_power(SERIES_FROM) - below).abs() < 1e-13);
    }
}
