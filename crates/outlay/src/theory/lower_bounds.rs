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
/// assert!(per_root > 1.0 / 7.35 && per_root < 1.0 / 7.34);
/// ```
#[must_use]
pub fn theorem_4_lower(pairs: usize, horizon: u64) -> Option<f64> {
    let rounds = horizon as f64;
    (horizon >= 16).then(|| {
        // The affinity of the two cases falls by the factor e^(-rate) per round.
        let share = 4.0 / rounds;
        let rate = -(-0.5 * share / (1.0 + (1.0 - share).sqrt())).ln_1p();
        // In each round, the probabilities of a wrong choice in the two cases add up to at least 1
        // minus the distance of the cases. This is the sum of the distances, from above.
        let last = (-(-2.0 * rate * rounds).exp_m1()).sqrt();
        let distances = (last.atanh() - last) / rate;
        0.5 * pairs as f64 * (rounds - distances) / rounds.sqrt()
    })
}

/// The mean regret of choosing one task of each pair at random on Theorem 4's instance. By the
/// theorem no learner is better by more than a constant factor; [`theorem_4_lower`] has such a
/// constant. From T = 16 on.
#[must_use]
pub fn theorem_4_random_choice(pairs: usize, horizon: u64) -> Option<f64> {
    // A wrong choice costs the gap 1/sqrt(T), and half of the choices are wrong.
    (horizon >= 16).then(|| 0.5 * pairs as f64 * (horizon as f64).sqrt())
}
