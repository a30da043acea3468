//! Jumps of threshold, steps and empirical curves.

/// The number of jumps at the increasing spends `at` that `spend` reaches.
pub(crate) fn jumps_reached(at: &[f64], spend: f64) -> usize {
    at.partition_point(|&jump| jump <= spend)
}

/// The success of a step curve: `success[i]` from `at[i]` on, zero before the first jump.
pub(crate) fn success_at(at: &[f64], success: &[f64], spend: f64) -> f64 {
    match jumps_reached(at, spend) {
        0 => 0.0,
        reached => success[reached - 1],
    }
}
