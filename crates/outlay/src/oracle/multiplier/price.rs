//! The price of a relaxation: the smallest multiplier at which demand is within the budget.
//!
//! If the budget meets a kink of the total demand, an interval of multipliers proves the same bound,
//! and the multiplier search ends anywhere in it, depending on its start. The price is the lower end
//! of the interval. It is found by bisection over all floating-point numbers with demands that
//! depend on the multiplier alone, so it does not depend on the start.
//!
//! A task that could take more than the whole budget goes on along its curve, but not steeper than
//! its envelope before: a steeper price would prove less. Otherwise the price of every problem with
//! one task would be zero.

use super::{View, on_branch};
use crate::curve::Curve;
use crate::curve::demand::Concave;
use crate::numeric::compensated::Sum;
use crate::oracle::concave::ConcaveTasks;
use crate::oracle::tolerances::BUDGET_TOLERANCE;
use crate::problem::Bounds;

/// A multiplier is the price if demand exceeds the budget at this share below it.
const NEXT_BELOW: f64 = 1e-10;
/// Demand is smooth at a multiplier if one task has this share of the mean spend as its sensitivity.
const MIN_SENSITIVITY: f64 = 0.1;
/// The task must be this share of the budget away from its bounds: further than a search misses the
/// budget by.
const MIN_DISTANCE: f64 = 1e-10;
/// The same as a share of its sensitivity: the multiplier, and so its logarithm, is rounded.
const MIN_ELASTIC_DISTANCE: f64 = 1e-13;
/// The task must spend this share of the mean above its lower bound: one with a steepness close to
/// one may be elastic and yet take nothing.
const MIN_SPEND: f64 = 1e-5;

/// The residual budget, up to the accuracy of sums, that demand at the price stays within.
pub(super) fn price_budget(residual: f64) -> f64 {
    residual * (1.0 + BUDGET_TOLERANCE)
}

/// The task that a small residual disturbs least, at the multiplier found.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct ElasticTask {
    pub(in crate::oracle) sensitivity: f64,
    pub(in crate::oracle) spend: f64,
    /// The bounds of the spend.
    pub(in crate::oracle) low: f64,
    pub(in crate::oracle) high: f64,
}

impl ElasticTask {
    /// Whether the task alone shows that demand exceeds the budget at any multiplier noticeably
    /// below the one found. If it takes next to nothing, another task may take the whole budget.
    pub(in crate::oracle) fn is_smooth(&self, tasks: usize, residual: f64) -> bool {
        let distance = MIN_DISTANCE * residual + MIN_ELASTIC_DISTANCE * self.sensitivity;
        self.sensitivity * tasks as f64 >= MIN_SENSITIVITY * residual
            && self.high - self.spend > distance
            && self.spend - self.low > distance.max(MIN_SPEND * residual / tasks as f64)
    }
}

/// The smallest multiplier at which demand is within the budget; `found` is one that proves the
/// bound.
pub(in crate::oracle) fn smallest_price(view: View<'_>, found: f64) -> f64 {
    let fits = |multiplier: f64| is_within_budget(view, multiplier);
    if fits(0.0) {
        return 0.0;
    }
    if fits(found) && !fits(found * (1.0 - NEXT_BELOW)) {
        return found;
    }
    // Nonnegative floating-point numbers are in the order of their bits.
    let (mut below, mut above) = (0, f64::MAX.to_bits());
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        if fits(f64::from_bits(middle)) {
            above = middle;
        } else {
            below = middle;
        }
    }
    f64::from_bits(above)
}

/// Whether the smallest total demand at a multiplier is within the residual budget.
fn is_within_budget(view: View<'_>, multiplier: f64) -> bool {
    let (budget, more) = (price_budget(view.residual), 2.0 * view.residual);
    let mut demand = Sum::default();
    for domain in 0..view.domains.len() {
        demand.add(domain_demand(view, domain, multiplier).min(more));
    }
    for (task, curve) in view.curves.iter().enumerate() {
        let bounds = view.bounds.of(task);
        if ConcaveTasks::accepts(curve, bounds) {
            let value = view.values[task];
            demand.add(concave_demand(curve, value, bounds, multiplier).min(more));
        }
    }
    demand.value() <= budget
}

/// The smallest demand of a domain above its lower bound; infinite if the task would take more than
/// the budget.
fn domain_demand(view: View<'_>, domain: usize, multiplier: f64) -> f64 {
    let (envelope, weight) = (view.envelope(domain), view.weights[domain]);
    if !(weight > 0.0) {
        return 0.0;
    }
    if multiplier < weight * slope_at_end(view, domain) {
        return f64::INFINITY;
    }
    let position = envelope.vertices.partition_point(|vertex| weight * vertex.slope > multiplier);
    let spend = match envelope.vertices.get(position) {
        Some(vertex) => vertex.spend,
        None => on_branch(view, domain, multiplier).0,
    };
    spend - envelope.low
}

/// The slope, with weight one, of a domain beyond the end of its envelope, if only the budget ends
/// it there.
fn slope_at_end(view: View<'_>, domain: usize) -> f64 {
    let (envelope, domain) = (view.envelope(domain), &view.domains[domain]);
    if !(envelope.high < domain.max) {
        return 0.0;
    }
    let edge = match (envelope.branch, &envelope.vertices[..]) {
        (Some(_), [.., last]) => last.slope,
        (None, [.., before, _]) => before.slope,
        _ => return 0.0,
    };
    domain.form.slope(envelope.high).min(edge)
}

/// The smallest demand of a concave task above its lower bound.
fn concave_demand(curve: &Curve, value: f64, bounds: Bounds, multiplier: f64) -> f64 {
    let unit = value * curve.height();
    if !(unit > 0.0) {
        return 0.0;
    }
    let most = bounds.max.min(curve.saturates_at()).max(bounds.min);
    if multiplier == 0.0 {
        return most - bounds.min;
    }
    let slope = multiplier / unit;
    let spend = match Concave::of(curve) {
        Some(Concave::Power(power)) => power.at_slope(slope).0,
        Some(Concave::Exponential(exponential)) => exponential.at_slope(slope).0,
        Some(Concave::Hill(hill) | Concave::Hyperbolic(hill)) => hill.at_slope(slope).0,
        Some(Concave::Logistic(logistic)) => logistic.at_slope(slope).0,
        Some(Concave::Linear { saturates_at }) => {
            let threshold = value * (curve.height() / saturates_at);
            if threshold > multiplier { saturates_at } else { 0.0 }
        }
        None => 0.0,
    };
    spend.clamp(bounds.min, most) - bounds.min
}
