//! What threshold, steps and empirical curves share: when a jump counts as reached.

/// A jump at `at` counts as reached from `at * REACH` on, `REACH = 1 - 2^-40`.
///
/// Forty-nine tasks with threshold `1/49` must share a budget of one although `49 * (1/49)` is not
/// one in floating point. The oracle pays the full spend of a jump, and less by no more than this
/// where only rounding keeps jumps from fitting the budget; what it counts as funded does succeed.
pub const REACH: f64 = 1.0 - 1.0 / (1u64 << 40) as f64;

/// How many of the jumps at the increasing spends `at` are reached with `spend`.
pub(crate) fn jumps_reached(at: &[f64], spend: f64) -> usize {
    at.partition_point(|&jump| jump * REACH <= spend)
}

/// Success after the jumps reached with `spend`: `success[i]` belongs to `at[i]`, zero before the
/// first.
pub(crate) fn success_at(at: &[f64], success: &[f64], spend: f64) -> f64 {
    match jumps_reached(at, spend) {
        0 => 0.0,
        reached => success[reached - 1],
    }
}
