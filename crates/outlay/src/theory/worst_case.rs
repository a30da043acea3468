//! Bounds for any curves.

use statrs::function::gamma::gamma;

use crate::learner::log_term;

/// Theorem 3 of the paper, corrected, at `δ = 1/(KT)²`: `1 + 4 sqrt(K L) sqrt(mass)`, for
/// `algorithm-1`, `kl-ucb-mixture`, `hoeffding` and `full`.
///
/// `mass` is the expected sum of the success probabilities over rounds and tasks; the bound is in
/// multiples of the largest reward.
///
/// ```
/// // K = 10, T = 1e5, a success mass of 1e6; the first term adds 1.
/// assert!((outlay::theory::worst_case_bound(10, 100_000, 1e6) - 1.0 - 67_319.14).abs() < 0.01);
/// ```
#[must_use]
pub fn worst_case_bound(tasks: usize, horizon: u64, mass: f64) -> f64 {
    1.0 + 4.0 * (tasks as f64 * log_term(tasks, horizon)).sqrt() * mass.max(0.0).sqrt()
}

/// The Corollary of Theorem 3, at `δ = 1/(KT)²`: for the same learners on thresholds of which
/// `plays` fit into a round (M-sets): `1 + 4 sqrt(K L M T)`.
///
/// ```
/// use outlay::theory::{m_set_bound, worst_case_bound};
/// assert_eq!(m_set_bound(10, 3, 10_000), worst_case_bound(10, 10_000, 30_000.0));
/// ```
#[must_use]
pub fn m_set_bound(tasks: usize, plays: usize, horizon: u64) -> f64 {
    worst_case_bound(tasks, horizon, plays as f64 * horizon as f64)
}

/// The worst-case bound of `kl-ucb-plus`: `(2b + 1/2 + sqrt(πc)) K sqrt(T) + K`, for every `T` at
/// once. Infinite unless `c > 1/2`.
///
/// ```
/// let per_root = (outlay::theory::kl_ucb_plus_bound(10, 10_000.0, 1.1) - 10.0) / 10.0 / 100.0;
/// assert!((per_root - 11.53).abs() < 0.01); // the docs round it to 11.6
/// ```
#[must_use]
pub fn kl_ucb_plus_bound(tasks: usize, rounds: f64, c: f64) -> f64 {
    let tasks = tasks as f64;
    kl_ucb_plus_root_factor(c) * tasks * rounds.sqrt() + tasks
}

/// The worst-case bound of `kl-ucb-plus` if a round has at most `completions` completions on
/// average: the smaller of [`kl_ucb_plus_bound`] and
///
/// `2 b M √T + K + √(K M T) (√(2c log(e²K/M)) + √(2 log(K/M)) + √(πM/(2K)))`,
///
/// with `M` for `completions`. Infinite unless `c > 1/2`.
///
/// ```
/// use outlay::theory::{kl_ucb_plus_bound, kl_ucb_plus_mass_bound};
///
/// let [few, many] = [1.0, 10.0].map(|mass| kl_ucb_plus_mass_bound(10, mass, 10_000.0, 1.1));
/// assert!(few < 0.4 * many && many == kl_ucb_plus_bound(10, 10_000.0, 1.1));
/// ```
#[must_use]
pub fn kl_ucb_plus_mass_bound(tasks: usize, completions: f64, rounds: f64, c: f64) -> f64 {
    let any_curves = kl_ucb_plus_bound(tasks, rounds, c);
    let tasks = tasks as f64;
    if !(completions > 0.0 && completions <= tasks) {
        return any_curves;
    }
    let scarcity = tasks / completions;
    let too_high = (2.0 * c * (2.0 + scarcity.ln())).sqrt()
        + (2.0 * scarcity.ln()).sqrt()
        + (std::f64::consts::FRAC_PI_2 / scarcity).sqrt();
    let too_low = 2.0 * underestimate_constant(c) * completions * rounds.sqrt();
    any_curves.min(too_low + tasks + (tasks * completions * rounds).sqrt() * too_high)
}

/// `2b + 1/2 + sqrt(πc)`.
pub(super) fn kl_ucb_plus_root_factor(c: f64) -> f64 {
    2.0 * underestimate_constant(c) + 0.5 + (std::f64::consts::PI * c).sqrt()
}

/// The `b` of the corollary to Lemma A (docs/explanation/proof-kl-ucb-plus.md): the expected
/// underestimate in round `t` is at most `b / sqrt(t)`. It is minimised over the width of the
/// proof's blocks.
fn underestimate_constant(c: f64) -> f64 {
    const STEPS: u32 = 2000;
    let bound = |eta: f64| {
        let a = c / eta;
        let factor =
            (eta / 2.0).powf(a) * (gamma(a) / eta.ln() + (a / std::f64::consts::E).powf(a));
        factor.powf(0.5 / a) * 2.0 * a / (2.0 * a - 1.0)
    };
    // The blocks must leave a = c/η above 1/2.
    let widest = 2.0 * c;
    (1..STEPS)
        .map(|step| bound(1.0 + (widest - 1.0) * f64::from(step) / f64::from(STEPS)))
        .filter(|bound| *bound > 0.0)
        .fold(f64::INFINITY, f64::min)
}
