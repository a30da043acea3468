//! What no learner can beat.

/// Theorem 2: under bandit feedback every learner has at least this regret on some instance of two square roots. From T = 4 on.
#[must_use]
pub fn theorem_2_lower(horizon: u64) -> Option<f64> {
    (horizon >= 4).then(|| (horizon as f64).sqrt() / 140.0)
}

/// Theorem 4's instance with so many pairs: the mean regret of choosing one task of each pair at random. The theorem says that nobody
/// is better by more than a constant factor, without giving the factor. From T = 16 on.
#[must_use]
pub fn theorem_4_random_choice(pairs: usize, horizon: u64) -> Option<f64> {
    // A wrong choice costs the gap 1/sqrt(T), and half of the choices are wrong.
    (horizon >= 16).then(|| 0.5 * pairs as f64 * (horizon as f64).sqrt())
}
