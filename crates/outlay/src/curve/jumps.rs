//! Jumps of threshold, steps and empirical curves.

/// A jump at `at` counts as reached at spends of at least `at * JUMP_TOLERANCE`, with the factor
/// `1 - 2^-40`.
///
/// Forty-nine tasks with threshold `1/49` must share a budget of one although `49 * (1/49)` is not
/// one in floating point. The oracle spends the full amount of a jump. It spends less, within this
/// tolerance, only where rounding alone keeps the jumps from fitting the budget.
pub const JUMP_TOLERANCE: f64 = 1.0 - 1.0 / (1u64 << 40) as f64;

/// The number of jumps at the increasing spends `at` that `spend` reaches.
pub(crate) fn jumps_reached(at: &[f64], spend: f64) -> usize {
    at.partition_point(|&jump| jump * JUMP_TOLERANCE <= spend)
}

/// The success of a step curve: `success[i]` from `at[i]` on, zero before the first jump.
pub(crate) fn success_at(at: &[f64], success: &[f64], spend: f64) -> f64 {
    match jumps_reached(at, spend) {
        0 => 0.0,
        reached => success[reached - 1],
    }
}
