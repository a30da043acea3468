//! A curve on an interval, and where to branch: points, or a smooth curve with one concave branch.

use crate::curve::Curve;
pub(super) use crate::curve::demand::{Form, Smooth};
use crate::problem::Bounds;

/// A task that is not concave and smooth, with its interval of spends.
#[derive(Debug, Clone)]
pub(super) struct Domain {
    /// Position of the task in the problem.
    pub(super) task: usize,
    pub(super) form: Form,
    /// The spend is zero or at least this.
    pub(super) at_least: f64,
    pub(super) min: f64,
    /// The spend from which on more is forbidden or useless.
    pub(super) max: f64,
    /// Domains of one symmetry class have equal forms and bounds.
    pub(super) class: u32,
}

/// A cut closer than this share to an end of the convex part makes no progress.
const MIN_CUT_SHARE: f64 = 0.1;
/// The relative change of success within the tolerance of a lot that counts as rounding.
const LOT_ROUNDING: f64 = 1e-14;

impl Domain {
    /// A task with its relaxed bounds. `is_lot`: its spend is zero or one amount, up to the
    /// tolerance. It is then a step with the smallest such spend and the largest success, unless the
    /// tolerance is worth more than rounding.
    pub(super) fn new(task: usize, curve: &Curve, bounds: Bounds, is_lot: bool) -> Self {
        // Beyond saturation nothing is gained, but a bound may require it.
        let max = bounds.max.min(curve.saturates_at().max(bounds.at_least)).max(bounds.min);
        let form = Form::of(curve);
        let is_level = form.success(bounds.at_least) >= (1.0 - LOT_ROUNDING) * form.success(max);
        let is_step = is_lot && is_level && !curve.is_custom() && !form.is_steps();
        Self {
            task,
            form: if is_step { form.lot(bounds.at_least, max) } else { form },
            at_least: bounds.at_least,
            min: bounds.min,
            max,
            class: 0,
        }
    }

    /// The smallest allowed spend with the same success, if the curve is a step function.
    pub(super) fn trimmed(&self, spend: f64) -> f64 {
        let Form::Points { spend: points, linear: false, .. } = &self.form else { return spend };
        let reached = points.partition_point(|&point| point <= spend);
        let needed = if reached == 0 { 0.0 } else { points[reached - 1] };
        let lowest = if spend > 0.0 && needed > 0.0 { self.at_least.min(spend) } else { 0.0 };
        needed.max(lowest).max(self.min)
    }

    /// Where to branch on the interval `[low, high]` if the relaxation is at `spend`: the largest
    /// spend of the left part and the smallest of the right part.
    pub(super) fn branch_point(&self, low: f64, high: f64, spend: f64) -> Option<(f64, f64)> {
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
                // Beyond the inflection the curve is its own envelope. Before it the cut is at the
                // spend itself, where both new envelopes meet the curve, but not too close to an
                // end.
                let end = high.min(inflection);
                let margin = MIN_CUT_SHARE * (end - low);
                let last = if high > inflection { inflection } else { end - margin };
                let cut = spend.max(low + margin).min(last);
                (cut > low && cut < high).then_some((cut, cut))
            }
        }
    }
}
