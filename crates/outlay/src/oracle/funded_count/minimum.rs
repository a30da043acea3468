//! The multiplier at which the dual function of a case is smallest.
//!
//! The dual function is convex in the multiplier and smooth while the funded tasks stay the same.
//! Newton's method finds the minimum of such a piece. Where the funded tasks change, the function
//! has a kink; the next trial is then the point at which the second-order models of both sides meet.

use super::bound::{Case, DualFunction, Point};
use crate::oracle::prepared::PreparedProblem;

/// The minimum of the dual function of a case.
#[derive(Debug, Clone, Copy)]
pub(super) struct Minimum {
    pub(super) bound: f64,
    pub(super) multiplier: f64,
    /// The last points with too much and with too little demand.
    pub(super) below: Option<Point>,
    pub(super) above: Option<Point>,
}

/// Trials of the multiplier for one case; five are usual.
const MAX_TRIALS: usize = 24;
/// A Newton step beyond this share of the bracket ends at a kink.
const TRUSTED_SHARE: f64 = 0.9;
/// Enough for every digit of a multiplier within its bracket.
const KINK_BISECTIONS: usize = 60;

impl Point {
    /// The bound at another multiplier if the funded tasks stay the same, to second order.
    fn model(&self, multiplier: f64) -> f64 {
        let step = multiplier - self.multiplier;
        self.bound - self.excess * step + 0.5 * self.sensitivity / self.multiplier * step * step
    }

    /// The amount by which the minimum of the model is lower.
    pub(super) fn model_decrease(&self) -> f64 {
        if self.excess == 0.0 {
            return 0.0;
        }
        0.5 * self.excess * self.excess * self.multiplier / self.sensitivity
    }
}

impl DualFunction {
    /// Minimises the dual function of a case from a multiplier on, up to `accuracy` or until it is
    /// at most `cut`. None if the case is impossible.
    pub(super) fn minimise(
        &mut self,
        prepared: &PreparedProblem,
        case: Case,
        start: f64,
        cut: f64,
        accuracy: f64,
    ) -> Option<Minimum> {
        let mut found =
            Minimum { bound: f64::INFINITY, multiplier: start, below: None, above: None };
        let (mut multiplier, mut expected) = (start, f64::NEG_INFINITY);
        for _ in 0..MAX_TRIALS {
            let point = self.at(prepared, case, multiplier)?;
            if point.bound < found.bound {
                (found.bound, found.multiplier) = (point.bound, multiplier);
            }
            if point.excess > 0.0 {
                std::mem::swap(&mut self.is_funded, &mut self.is_funded_below);
                found.below = Some(point);
            } else {
                std::mem::swap(&mut self.is_funded, &mut self.is_funded_above);
                found.above = Some(point);
            }
            let is_close =
                point.model_decrease() <= accuracy || (point.bound - expected).abs() <= accuracy;
            if is_close || found.bound <= cut {
                break;
            }
            (multiplier, expected) = next_multiplier(point, found);
            let is_inside = multiplier > found.below.map_or(0.0, |below| below.multiplier)
                && multiplier < found.above.map_or(f64::INFINITY, |above| above.multiplier);
            if !is_inside {
                break;
            }
        }
        Some(found)
    }
}

/// The next trial, and the bound expected there if it is at a kink.
fn next_multiplier(point: Point, found: Minimum) -> (f64, f64) {
    let newton = point.multiplier * (point.excess / point.sensitivity).clamp(-1.0, 1.0).exp();
    let (Some(below), Some(above)) = (found.below, found.above) else {
        return (newton, f64::NEG_INFINITY);
    };
    let width = above.multiplier - below.multiplier;
    if (newton - point.multiplier).abs() < TRUSTED_SHARE * width {
        return (newton, f64::NEG_INFINITY);
    }
    // The bound is the larger one of both models, which meet at the kink.
    let (mut low, mut high) = (below.multiplier, above.multiplier);
    for _ in 0..KINK_BISECTIONS {
        let middle = 0.5 * (low + high);
        if below.model(middle) > above.model(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    let kink = 0.5 * (low + high);
    (kink, below.model(kink))
}
