//! Tolerances that several parts of the oracle share, named after the quantity that they bound.

use crate::curve::{Curve, Family};

/// Relative rounding error of a sum of products: every upper bound is raised by it.
pub(super) const BOUND_ROUNDING: f64 = 16.0 * f64::EPSILON;
/// Relative accuracy of the successes that the solvers of smooth curves compute.
pub(super) const SUCCESS_ACCURACY: f64 = 5e-14;

/// Relative rounding error of the success of steep curves: parameters multiply that of the spend.
pub(super) fn curve_rounding<'a>(curves: impl IntoIterator<Item = &'a Curve>) -> f64 {
    let amplified = |curve: &Curve| match curve.family() {
        Family::Hill(hill) => hill.steepness(),
        Family::Logistic(logistic) => (logistic.mid() / logistic.width()).min(MAX_EXPONENT),
        _ => 0.0,
    };
    f64::EPSILON * (64.0 + 2.0 * curves.into_iter().map(amplified).fold(0.0, f64::max))
}

/// The exponential function of less than minus this is zero.
const MAX_EXPONENT: f64 = 750.0;

/// Relative difference of two sums of the same terms in another order.
pub(super) const SUM_TOLERANCE: f64 = 1e-12;
/// Relative optimality gap that counts as rounding.
pub(super) const OPTIMAL_GAP: f64 = 1e-12;
/// Relative distance of total demand from the residual budget at which the budget counts as met:
/// the sums themselves are no more exact.
pub(super) const BUDGET_TOLERANCE: f64 = 2e-14;
/// Units in the last place of the budget by which the spends may miss it.
const BUDGET_ULPS: f64 = 4.0;

/// An amount that may stay unspent, or be overspent, without being reported.
pub(super) fn negligible(budget: f64) -> f64 {
    BUDGET_ULPS * f64::EPSILON * budget
}
