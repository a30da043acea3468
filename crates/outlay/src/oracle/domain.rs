//! A curve on an interval, and where to branch: points, or a smooth curve with one concave branch.

use crate::curve::{Curve, DeclaredShape, Exponential, Family, Hill, Logistic, Power};
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

/// The form of a curve before its weight is known.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Form {
    /// Points with increasing spend, the first at zero: a polyline if `linear`, otherwise a step
    /// function.
    Points { spend: Vec<f64>, success: Vec<f64>, linear: bool },
    /// Convex up to the inflection, concave beyond it.
    Smooth(Smooth),
}

/// The families with a smooth concave branch.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Smooth {
    Power(Power),
    Exponential(Exponential),
    Hill(Hill),
    Logistic(Logistic),
}

impl Smooth {
    pub(super) fn success(&self, spend: f64) -> f64 {
        match self {
            Self::Power(curve) => curve.success(spend),
            Self::Exponential(curve) => curve.success(spend),
            Self::Hill(curve) => curve.success(spend),
            Self::Logistic(curve) => curve.success(spend),
        }
    }

    /// The spend on the concave branch with this slope, and its sensitivity: the decrease per unit
    /// of the slope's logarithm.
    pub(super) fn at_slope(&self, slope: f64) -> (f64, f64) {
        match self {
            Self::Power(curve) => curve.at_slope(slope),
            Self::Exponential(curve) => curve.at_slope(slope),
            Self::Hill(curve) => curve.at_slope(slope),
            Self::Logistic(curve) => curve.at_slope(slope),
        }
    }

    /// The curvature: the decrease of the sensitivity per unit of the slope's logarithm.
    pub(super) fn curvature(&self, spend: f64, sensitivity: f64) -> f64 {
        match self {
            Self::Power(_) => sensitivity * sensitivity / spend,
            Self::Exponential(_) => 0.0,
            Self::Hill(curve) => {
                let per_steepness = 1.0 / curve.steepness();
                // The rate at which the slope's logarithm decreases with the log-odds gives the
                // probability of success.
                let rate = spend * per_steepness / sensitivity;
                let success = 0.5 * (rate + 1.0 - per_steepness);
                sensitivity / rate * (per_steepness - 2.0 * success * (1.0 - success) / rate)
            }
            Self::Logistic(curve) => {
                let root = curve.width() / sensitivity;
                0.5 * sensitivity * (1.0 - 1.0 / (root * root))
            }
        }
    }

    pub(super) fn inflection(&self) -> f64 {
        match self {
            Self::Power(_) | Self::Exponential(_) => 0.0,
            Self::Hill(curve) => curve.inflection(),
            Self::Logistic(curve) => curve.inflection(),
        }
    }
}

impl Form {
    /// The form of a curve. A user's function is one cell from zero on until it is refined.
    pub(super) fn of(curve: &Curve) -> Self {
        match curve.family() {
            Family::Power(power) if power.exponent() < 1.0 => {
                Self::Smooth(Smooth::Power(power.clone()))
            }
            Family::Power(power) => Self::ramp(power.scale()),
            Family::Saturating(saturating) => Self::ramp(saturating.full_at()),
            Family::Exponential(exponential) => {
                Self::Smooth(Smooth::Exponential(exponential.clone()))
            }
            Family::Hill(hill) => Self::Smooth(Smooth::Hill(hill.clone())),
            Family::Logistic(logistic) => Self::Smooth(Smooth::Logistic(logistic.clone())),
            Family::Threshold(threshold) => Self::steps(&[threshold.at()], &[1.0]),
            Family::Steps(steps) => Self::steps(steps.at(), steps.heights()),
            Family::Empirical(empirical) => Self::steps(empirical.at(), empirical.heights()),
            Family::Piecewise(piecewise) => Self::Points {
                spend: piecewise.spend().to_vec(),
                success: piecewise.heights().to_vec(),
                linear: true,
            },
            Family::Custom(custom) => Self::Points {
                spend: vec![0.0],
                success: vec![1.0],
                linear: custom.shape() != DeclaredShape::Monotone,
            },
        }
    }

    fn ramp(full_at: f64) -> Self {
        Self::Points { spend: vec![0.0, full_at], success: vec![0.0, 1.0], linear: true }
    }

    fn steps(at: &[f64], heights: &[f64]) -> Self {
        let mut spend = vec![0.0];
        let mut success = vec![0.0];
        for (&at, &height) in at.iter().zip(heights) {
            if at == 0.0 {
                success[0] = height;
            } else if height > success[success.len() - 1] {
                spend.push(at);
                success.push(height);
            }
        }
        Self::Points { spend, success, linear: false }
    }

    /// Success before floor and ceiling.
    pub(super) fn success(&self, at: f64) -> f64 {
        match self {
            Self::Smooth(smooth) => smooth.success(at),
            Self::Points { spend, success, linear } => {
                let after = spend.partition_point(|&point| point <= at);
                if after == 0 {
                    return success[0];
                }
                if !linear || after == spend.len() {
                    return success[after - 1];
                }
                let along = (at - spend[after - 1]) / (spend[after] - spend[after - 1]);
                success[after - 1] + (success[after] - success[after - 1]) * along
            }
        }
    }

    /// Whether it is a step function.
    pub(super) fn is_steps(&self) -> bool {
        matches!(self, Self::Points { linear: false, .. })
    }
}

/// A cut closer than this share to an end of the convex part makes no progress.
const MIN_CUT_SHARE: f64 = 0.1;

impl Domain {
    pub(super) fn new(task: usize, curve: &Curve, bounds: Bounds) -> Self {
        // Beyond saturation nothing is gained, but a bound may require it.
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
