//! A task as the search sees it: points, or a smooth curve with one concave branch, on a domain
//! that splits can narrow.

use crate::curve::Curve;
pub(super) use crate::curve::demand::{Form, Smooth};
use crate::problem::Bounds;

/// A task that is not simply concave and smooth.
#[derive(Debug, Clone)]
pub(super) struct Coordinate {
    /// Position of the task in the problem.
    pub(super) task: usize,
    pub(super) form: Form,
    /// Nothing or at least this.
    pub(super) at_least: f64,
    pub(super) min: f64,
    /// Where more spend is forbidden or useless.
    pub(super) max: f64,
    /// Coordinates of one class have equal forms and bounds.
    pub(super) class: u32,
}

/// A cut closer to an end of the convex stretch than this share of it is no progress.
const NO_PROGRESS: f64 = 0.1;

impl Coordinate {
    pub(super) fn new(task: usize, curve: &Curve, bounds: Bounds) -> Self {
        // Beyond saturation nothing is gained, but a bound may ask for it.
        let max = bounds.max.min(curve.saturates_at().max(bounds.at_least)).max(bounds.min);
        Self {
            task,
            form: Form::of(curve),
            at_least: bounds.at_least,
            min: bounds.min,
            max,
            class: 0,
        }
    }

    /// The least allowed spend with the same success, if the curve is a staircase.
    pub(super) fn trimmed(&self, spend: f64) -> f64 {
        let Form::Points { spend: points, linear: false, .. } = &self.form else { return spend };
        let reached = points.partition_point(|&point| point <= spend);
        let needed = if reached == 0 { 0.0 } else { points[reached - 1] };
        let lowest = if spend > 0.0 && needed > 0.0 { self.at_least.min(spend) } else { 0.0 };
        needed.max(lowest).max(self.min)
    }

    /// Where to cut the domain `[low, high]` so that the relaxation tightens at `spend`:
    /// the largest spend of the left part and the smallest of the right part.
    pub(super) fn split(&self, low: f64, high: f64, spend: f64) -> Option<(f64, f64)> {
        if self.at_least > 0.0 && low == 0.0 {
            return (high >= self.at_least).then_some((0.0, self.at_least));
        }
        match &self.form {
            Form::Points { spend: points, linear: false, .. } => {
                let after = points.partition_point(|&point| point <= spend);
                let right = *points.get(after)?;
                (right <= high)
                    .then(|| (if after == 0 { low } else { points[after - 1].max(low) }, right))
            }
            Form::Points { spend: points, .. } => {
                let from = points.partition_point(|&point| point <= low);
                let to = points.partition_point(|&point| point < high);
                let nearest = points
                    .get(from..to)?
                    .iter()
                    .copied()
                    .min_by(|a, b| (a - spend).abs().total_cmp(&(b - spend).abs()))?;
                Some((nearest, nearest))
            }
            Form::Smooth(smooth) => {
                let inflection = smooth.inflection();
                if low >= inflection {
                    return None;
                }
                // Beyond the inflection the curve is its own envelope. Before it: at the point
                // itself, where the envelope then meets the curve on both sides, but never so close
                // to an end that the cut is no progress.
                let end = high.min(inflection);
                let margin = NO_PROGRESS * (end - low);
                let last = if high > inflection { inflection } else { end - margin };
                let cut = spend.max(low + margin).min(last);
                (cut > low && cut < high).then_some((cut, cut))
            }
        }
    }
}
