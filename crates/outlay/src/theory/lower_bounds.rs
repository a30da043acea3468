//! Lower bounds on the regret of any learner.

/// Theorem 2: under bandit feedback every learner has at least this regret on some instance of two
/// square roots. From T = 4 on.
#[must_use]
pub fn theorem_2_lower(horizon: u64) -> Option<f64> {
    (horizon >= 4).then(|| (horizon as f64).sqrt() / 140.0)
}

/// Theorem 4 with its constant (docs/how-to/bound.md#theorem-4-with-a-constant): on `pairs` pairs
/// of thresholds, with the better task of each pair drawn at random, every learner's mean regret is
/// at least this, even under full feedback. From T = 16 on.
///
/// ```
/// let per_root = outlay::theory::theorem_4_lower(10, 1_000_000).unwrap() / 10.0 / 1000.0;
/// assert!(per_root > 1.0 / 12.01 && per_root < 1.0 / 12.0);
/// ```
#[must_use]
pub fn theorem_4_lower(pairs: usize, horizon: u64) -> Option<f64> {
    let root = (horizon as f64).sqrt();
    // The divergence between the two cases over T rounds of both tasks' rewards: between 4 and 4
    // log 3.
    let divergence = || 2.0 * root * (2.0 / root).atanh();
    (horizon >= 16).then(|| pairs as f64 * root / (3.0 * divergence()))
}

/// The mean regret of choosing one task of each pair at random on Theorem 4's instance. By the
/// theorem no learner is better by more than a constant factor; [`theorem_4_lower`] has such a
/// constant. From T = 16 on.
#[must_use]
pub fn theorem_4_random_choice(pairs: usize, horizon: u64) -> Option<f64> {
    // A wrong choice costs the gap 1/sqrt(T), and half of the choices are wrong.
    (horizon >= 16).then(|| 0.5 * pairs as f64 * (horizon as f64).sqrt())
}
