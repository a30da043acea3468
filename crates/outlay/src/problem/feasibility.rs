//! Feasibility: which spends a task may be given, and which totals a budget covers.
//!
//! Curves are exact: a threshold at `t` succeeds if and only if the spend is at least `t`. The only
//! tolerance is here, because sums of decimals are inexact: forty-nine thresholds at `1/49` share a
//! budget of one, and a task with `max = 0.3` reaches a threshold at `0.1 + 0.2`. The oracle, its
//! certificates, `evaluate`, campaigns and rounding use these functions and no other tolerance, so
//! a plan that one of them accepts is feasible for all of them, and none is worth more than
//! `upper_bound`.

use super::{Bounds, Problem};
use crate::numeric::compensated::Sum;

/// The relative tolerance of the budget and of all bounds, `2^-50`.
pub const FEASIBILITY_TOLERANCE: f64 = 4.0 * f64::EPSILON;

/// The largest total spend that a budget covers: `budget * (1 + 2^-50)`.
#[must_use]
pub fn max_total(budget: f64) -> f64 {
    raised(budget)
}

/// Whether a budget covers the sum of these spends.
#[must_use]
pub fn covers(budget: f64, spends: impl IntoIterator<Item = f64>) -> bool {
    !spends.into_iter().collect::<Sum>().exceeds(max_total(budget))
}

/// Whether every spend is within its task's bounds and the budget covers all of them.
#[must_use]
pub fn is_feasible(problem: &Problem, budget: f64, spend: &[f64]) -> bool {
    let tasks = problem.tasks();
    tasks.len() == spend.len()
        && tasks.iter().zip(spend).all(|(task, &spend)| task.bounds().allows(spend))
        && covers(budget, spend.iter().copied())
}

/// The number of spends of this size whose exact sum is at most `limit`.
pub(crate) fn affordable(limit: f64, spend: f64) -> usize {
    // The quotient is rounded, the comparison is exact.
    let fits = |count: usize| !exceeds(count, spend, limit);
    let count = (limit / spend) as usize;
    if fits(count.saturating_add(1)) {
        count.saturating_add(1)
    } else if fits(count) {
        count
    } else {
        count.saturating_sub(1)
    }
}

/// Whether `count * spend` is larger than `limit`, without rounding.
fn exceeds(count: usize, spend: f64, limit: f64) -> bool {
    let product = count as f64 * spend;
    (product - limit) + (count as f64).mul_add(spend, -product) > 0.0
}

fn raised(bound: f64) -> f64 {
    bound + FEASIBILITY_TOLERANCE * bound
}

fn lowered(bound: f64) -> f64 {
    bound - FEASIBILITY_TOLERANCE * bound
}

impl Bounds {
    /// The bounds up to the tolerance: the set of spends that [`Bounds::allows`].
    #[must_use]
    pub fn relaxed(self) -> Self {
        Self { min: lowered(self.min), max: raised(self.max), at_least: lowered(self.at_least) }
    }

    /// Whether a task may be given `spend`.
    #[must_use]
    pub fn allows(self, spend: f64) -> bool {
        let relaxed = self.relaxed();
        spend >= relaxed.min
            && spend <= relaxed.max
            && spend.is_finite()
            && (spend == 0.0 || spend >= relaxed.at_least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_decimals_fit_and_no_more() {
        for count in 1..2000 {
            let share = 1.0 / f64::from(count);
            assert!(covers(1.0, vec![share; count as usize]), "{count}");
        }
        assert!(covers(1.0, [0.5, 0.5 * (1.0 + 8.0 * f64::EPSILON)]));
        assert!(!covers(1.0, [0.5, 0.5 * (1.0 + 9.0 * f64::EPSILON)]));
        // Below the last digit of the total.
        assert!(!covers(1.0, [0.5, 0.5 * (1.0 + 8.0 * f64::EPSILON), 1e-30]));
        assert!(covers(0.0, [0.0]) && !covers(0.0, [1e-300]));
    }

    #[test]
    fn bounds_are_met_up_to_the_tolerance() {
        let bounds = Bounds { min: 0.3, max: 0.3, at_least: 0.0 };
        assert!(bounds.allows(0.1 + 0.2) && bounds.allows(0.3));
        assert!(!bounds.allows(0.3 * (1.0 + 1e-14)) && !bounds.allows(0.3 * (1.0 - 1e-14)));
        let or_nothing = Bounds { at_least: 5.0, ..Bounds::NONE };
        assert!(or_nothing.allows(0.0) && or_nothing.allows(5.0 * (1.0 - 2.0 * f64::EPSILON)));
        assert!(!or_nothing.allows(1e-300) && !or_nothing.allows(4.99));
        assert!(!Bounds::NONE.allows(f64::INFINITY) && !Bounds::NONE.allows(f64::NAN));
        assert!(!Bounds { max: 0.0, ..Bounds::NONE }.allows(1e-300));
    }
}
