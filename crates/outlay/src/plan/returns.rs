//! Returns of larger changes of the spend of a task.
//!
//! A marginal return is a slope. On a step curve it is zero, and at a kink it differs to both
//! sides. These returns are over all allowed spends instead: the largest gain per unit of more
//! spend and the smallest loss per unit of less spend. Where a curve is smooth and concave they
//! equal the marginal return. At an optimal allocation without a gap the shadow price lies between
//! them, as far as the budget reaches.
//!
//! Both are ratios, which Dinkelbach's method maximises: the best spend at the multiplier `r` has a
//! better ratio than `r`, or `r` is the answer.

use crate::curve::demand::{SpendRange, best_surplus};
use crate::curve::{Curve, Shape};
use crate::problem::Bounds;

/// Spends this close, relative to each other, are the same: they differ by rounding.
const SAME: f64 = 1e-12;
/// Relative differences of success below this are rounding errors.
const NOISE: f64 = 1e-14;
/// More steps than any curve needs; the ratio improves in each.
const MAX_STEPS: usize = 100;

/// The returns of larger changes from one spend, per unit of spend.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Returns {
    /// The largest gain of more spend; `None` if no larger spend is allowed, or unknown.
    pub(super) up: Option<f64>,
    /// The smallest loss of less spend; `None` if no smaller spend is allowed, or unknown.
    pub(super) down: Option<f64>,
}

impl Returns {
    /// For a task whose completions are worth `weight` at success 1. Unknown for custom functions.
    pub(super) fn of(curve: &Curve, bounds: Bounds, spend: f64, weight: f64) -> Self {
        if matches!(curve.shape(), Shape::Declared(_)) {
            return Self::default();
        }
        let point = Point { curve, bounds, spend };
        // A worthless task gains nothing even from an infinite slope, and subnormal numbers are
        // results of underflow. Adding zero turns -0 into 0.
        let worth = |ratio: f64| match weight * ratio {
            worth if weight > 0.0 && !worth.is_subnormal() => worth + 0.0,
            _ => 0.0,
        };
        Self { up: point.up().map(worth), down: point.down().map(worth) }
    }
}

/// A spend on a curve.
struct Point<'c> {
    curve: &'c Curve,
    bounds: Bounds,
    spend: f64,
}

impl Point<'_> {
    fn up(&self) -> Option<f64> {
        let Bounds { min, max, at_least } = self.bounds;
        let first = if self.spend < at_least { at_least } else { self.spend.max(min) };
        if max <= self.spend * (1.0 + SAME) || first > max {
            return None;
        }
        // Below `at_least` there is no small change.
        let nearest = if first > self.spend * (1.0 + SAME) {
            self.ratio(first)
        } else {
            self.curve.slope(self.spend)
        };
        let start = match self.curve.shape() {
            Shape::SShaped { inflection } if first < inflection => {
                nearest.max(self.ratio(inflection.min(max)))
            }
            _ => nearest,
        };
        Some(self.improved(start, SpendRange { min: first, max, at_least: 0.0 }))
    }

    fn down(&self) -> Option<f64> {
        let Bounds { min, max, at_least } = self.bounds;
        if self.spend <= min * (1.0 + SAME) {
            return None;
        }
        let below = (self.spend * (1.0 - SAME)).min(max);
        let jumps = self.curve.jumps();
        let is_at_jump = jumps.iter().any(|&at| (at - self.spend).abs() <= SAME * self.spend);
        let (max, start) = match below < at_least {
            true => (min, self.ratio(min)),
            false if is_at_jump => (below, self.ratio(min)),
            false => (below, self.ratio(min).min(self.curve.slope(below))),
        };
        Some(self.improved(start, SpendRange { min, max, at_least }))
    }

    /// The slope of the chord to another spend.
    fn ratio(&self, other: f64) -> f64 {
        (self.curve.success(other) - self.curve.success(self.spend)) / (other - self.spend)
    }

    /// The best ratio over the range, from the ratio `start` on.
    fn improved(&self, start: f64, range: SpendRange) -> f64 {
        let success = self.curve.success(self.spend);
        let mut best = start;
        for _ in 0..MAX_STEPS {
            if !best.is_finite() {
                break;
            }
            let (_, other) = best_surplus(self.curve, 1.0, best, range);
            let found = self.curve.success(other);
            let surplus = found - success - best * (other - self.spend);
            if !(surplus > NOISE * found.max(success)) {
                break;
            }
            best = self.ratio(other);
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn returns(curve: &Curve, bounds: Bounds, spend: f64) -> (Option<f64>, Option<f64>) {
        let Returns { up, down } = Returns::of(curve, bounds, spend, 1.0);
        (up, down)
    }

    #[test]
    fn a_step_gains_and_loses_all_of_it() {
        let job = Curve::threshold(4.0).unwrap();
        assert_eq!(returns(&job, Bounds::NONE, 0.0), (Some(0.25), None));
        assert_eq!(returns(&job, Bounds::NONE, 4.0), (Some(0.0), Some(0.25)));
        // Half of the spend above the step is lost on nothing.
        assert_eq!(returns(&job, Bounds::NONE, 5.0), (Some(0.0), Some(0.0)));
        assert_eq!(returns(&job, Bounds { max: 3.0, ..Bounds::NONE }, 0.0), (Some(0.0), None));
        assert_eq!(returns(&job, Bounds { max: 4.0, ..Bounds::NONE }, 4.0), (None, Some(0.25)));
        assert_eq!(returns(&job, Bounds { min: 4.0, ..Bounds::NONE }, 4.0), (Some(0.0), None));
    }

    #[test]
    fn worthless_tasks_gain_nothing_from_infinite_slopes() {
        let steep = Curve::power(0.5, 1.0).unwrap();
        assert_eq!(Returns::of(&steep, Bounds::NONE, 0.0, 0.0).up, Some(0.0));
        assert_eq!(Returns::of(&steep, Bounds::NONE, 0.0, 2.0).up, Some(f64::INFINITY));
    }

    #[test]
    fn kinks_differ_to_both_sides() {
        let tiers = Curve::piecewise(vec![0.0, 1.0, 3.0], vec![0.0, 0.6, 1.0]).unwrap();
        let (up, down) = returns(&tiers, Bounds::NONE, 1.0);
        assert!((up.unwrap() - 0.2).abs() < 1e-9 && (down.unwrap() - 0.6).abs() < 1e-9);
    }
}
