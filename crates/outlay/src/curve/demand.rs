//! Demand of a curve: the spend at a slope, its sensitivity, and the best surplus at a multiplier.
//!
//! This is the only place where the solvers distinguish the families of curves.

use smallvec::{SmallVec, smallvec};

use super::custom::surplus_bound;
use super::{Curve, DeclaredShape, Exponential, Family, Hill, Logistic, Power};

/// The coordinates of points; those of a threshold or a line are stored in place.
pub(crate) type Coordinates = SmallVec<[f64; 2]>;

/// A curve of unit value, reduced to what the solvers distinguish.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Form {
    /// Points with increasing spend, the first at zero. The curve is linear between them, or
    /// constant up to the next.
    Points { spend: Coordinates, success: Coordinates, linear: bool },
    /// Convex up to the inflection, concave beyond it.
    Smooth(Smooth),
}

/// A family with a smooth concave branch.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Smooth {
    Power(Power),
    Exponential(Exponential),
    Hill(Hill),
    Logistic(Logistic),
}

impl Smooth {
    /// Success before floor and ceiling.
    pub(crate) fn success(&self, spend: f64) -> f64 {
        match self {
            Self::Power(curve) => curve.success(spend),
            Self::Exponential(curve) => curve.success(spend),
            Self::Hill(curve) => curve.success(spend),
            Self::Logistic(curve) => curve.success(spend),
        }
    }

    /// The spend on the concave branch with this slope, and its sensitivity `-dx/d ln(slope)`.
    pub(crate) fn at_slope(&self, slope: f64) -> (f64, f64) {
        match self {
            Self::Power(curve) => curve.at_slope(slope),
            Self::Exponential(curve) => curve.at_slope(slope),
            Self::Hill(curve) => curve.at_slope(slope),
            Self::Logistic(curve) => curve.at_slope(slope),
        }
    }

    /// The derivative before floor and ceiling.
    pub(crate) fn slope(&self, spend: f64) -> f64 {
        match self {
            Self::Power(curve) => curve.slope(spend),
            Self::Exponential(curve) => curve.slope(spend),
            Self::Hill(curve) => curve.slope(spend),
            Self::Logistic(curve) => curve.slope(spend),
        }
    }

    /// The curvature of the demand, `d²x/d ln(slope)²`, at a spend with the given sensitivity.
    pub(crate) fn curvature(&self, spend: f64, sensitivity: f64) -> f64 {
        match self {
            Self::Power(_) => sensitivity * sensitivity / spend,
            Self::Exponential(_) => 0.0,
            Self::Hill(curve) => {
                let per_steepness = 1.0 / curve.steepness();
                // The rate at which ln(slope) decreases with the log odds gives the success.
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

    /// The spend from which on the curve is concave.
    pub(crate) fn inflection(&self) -> f64 {
        match self {
            Self::Power(_) | Self::Exponential(_) => 0.0,
            Self::Hill(curve) => curve.inflection(),
            Self::Logistic(curve) => curve.inflection(),
        }
    }
}

/// A concave family that the oracle solves in bulk.
pub(crate) enum Concave<'a> {
    Power(&'a Power),
    Exponential(&'a Exponential),
    Linear {
        saturates_at: f64,
    },
    /// Steepness below one.
    Hill(&'a Hill),
    /// Steepness one.
    Hyperbolic(&'a Hill),
    /// The middle at zero.
    Logistic(&'a Logistic),
}

impl<'a> Concave<'a> {
    /// None if the curve is of another family, or S-shaped.
    pub(crate) fn of(curve: &'a Curve) -> Option<Self> {
        match curve.family() {
            Family::Power(power) if power.exponent() < 1.0 => Some(Self::Power(power)),
            Family::Power(power) => Some(Self::Linear { saturates_at: power.scale() }),
            Family::Saturating(line) => Some(Self::Linear { saturates_at: line.full_at() }),
            Family::Exponential(exponential) => Some(Self::Exponential(exponential)),
            Family::Hill(hill) if hill.steepness() < 1.0 => Some(Self::Hill(hill)),
            Family::Hill(hill) if hill.steepness() == 1.0 => Some(Self::Hyperbolic(hill)),
            Family::Logistic(logistic) if logistic.mid() == 0.0 => Some(Self::Logistic(logistic)),
            _ => None,
        }
    }
}

impl Curve {
    /// Whether the curve is a user's function.
    pub(crate) fn is_custom(&self) -> bool {
        matches!(self.family(), Family::Custom(_))
    }

    /// The spends at which the curve jumps.
    pub(crate) fn jumps(&self) -> &[f64] {
        match self.family() {
            Family::Threshold(threshold) => threshold.jumps(),
            Family::Steps(steps) => steps.at(),
            Family::Empirical(empirical) => empirical.at(),
            _ => &[],
        }
    }
}

impl Form {
    /// The form of a curve. A custom function is a single cell from zero on until it is refined.
    pub(crate) fn of(curve: &Curve) -> Self {
        match curve.family() {
            Family::Power(power) if power.exponent() < 1.0 => {
                Self::Smooth(Smooth::Power(power.clone()))
            }
            Family::Power(power) => Self::linear(power.scale()),
            Family::Saturating(saturating) => Self::linear(saturating.full_at()),
            Family::Exponential(exponential) => {
                Self::Smooth(Smooth::Exponential(exponential.clone()))
            }
            Family::Hill(hill) => Self::Smooth(Smooth::Hill(hill.clone())),
            Family::Logistic(logistic) => Self::Smooth(Smooth::Logistic(logistic.clone())),
            Family::Threshold(threshold) => Self::steps(&[threshold.at()], &[1.0]),
            Family::Steps(steps) => Self::steps(steps.at(), steps.heights()),
            Family::Empirical(empirical) => Self::steps(empirical.at(), empirical.heights()),
            Family::Piecewise(piecewise) => Self::Points {
                spend: piecewise.spend().into(),
                success: piecewise.heights().into(),
                linear: true,
            },
            Family::Custom(custom) => Self::Points {
                spend: smallvec![0.0],
                success: smallvec![1.0],
                linear: custom.shape() != DeclaredShape::Monotone,
            },
        }
    }

    fn linear(full_at: f64) -> Self {
        let (spend, success) = (smallvec![0.0, full_at], smallvec![0.0, 1.0]);
        Self::Points { spend, success, linear: true }
    }

    fn steps(at: &[f64], heights: &[f64]) -> Self {
        let mut spend = Coordinates::with_capacity(at.len() + 1);
        let mut success = Coordinates::with_capacity(at.len() + 1);
        spend.push(0.0);
        success.push(0.0);
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
    pub(crate) fn success(&self, at: f64) -> f64 {
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

    /// A step at `spend` to the success at `most`: a curve whose spend is zero or between the two.
    pub(crate) fn lot(&self, spend: f64, most: f64) -> Self {
        let success = smallvec![self.success(0.0), self.success(most)];
        Self::Points { spend: smallvec![0.0, spend], success, linear: false }
    }

    /// The right derivative before floor and ceiling.
    pub(crate) fn slope(&self, at: f64) -> f64 {
        match self {
            Self::Smooth(smooth) => smooth.slope(at),
            Self::Points { spend, success, linear } => {
                let after = spend.partition_point(|&point| point <= at);
                if !linear || after == 0 || after == spend.len() {
                    return 0.0;
                }
                (success[after] - success[after - 1]) / (spend[after] - spend[after - 1])
            }
        }
    }

    /// Whether the curve is constant except for jumps.
    pub(crate) fn is_steps(&self) -> bool {
        matches!(self, Self::Points { linear: false, .. })
    }
}

/// The allowed spends of a task: zero (if `min` is zero), or between `min` and `max` and at least
/// `at_least`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpendRange {
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) at_least: f64,
}

/// The largest surplus `value F(x) - multiplier (x - min)` over the allowed spends, and a spend
/// that attains it: an end of the range, a vertex or jump, or a point where the slope equals the
/// multiplier.
pub(crate) fn best_surplus(
    curve: &Curve,
    value: f64,
    multiplier: f64,
    range: SpendRange,
) -> (f64, f64) {
    let from = if range.min == 0.0 { range.at_least } else { range.min };
    let surplus = |spend: f64| value * curve.success(spend) - multiplier * (spend - range.min);
    let mut best = if range.min == 0.0 { (surplus(0.0), 0.0) } else { (f64::NEG_INFINITY, from) };
    if from > range.max {
        return best;
    }
    let mut consider = |spend: f64| {
        let spend = spend.clamp(from, range.max);
        let candidate = surplus(spend);
        if candidate > best.0 {
            best = (candidate, spend);
        }
    };
    consider(from);
    consider(range.max);
    let slope = multiplier / (value * curve.height());
    let smooth = |at_slope: &dyn Fn(f64) -> (f64, f64)| {
        if slope > 0.0 && slope.is_finite() { at_slope(slope).0 } else { from }
    };
    match curve.family() {
        Family::Power(power) => {
            consider(power.scale());
            if power.exponent() < 1.0 {
                consider(smooth(&|slope| power.at_slope(slope)));
            }
        }
        Family::Saturating(saturating) => consider(saturating.full_at()),
        Family::Exponential(exponential) => consider(smooth(&|slope| exponential.at_slope(slope))),
        Family::Hill(hill) => consider(smooth(&|slope| hill.at_slope(slope))),
        Family::Logistic(logistic) => consider(smooth(&|slope| logistic.at_slope(slope))),
        Family::Threshold(_) | Family::Steps(_) | Family::Empirical(_) => {
            curve.jumps().iter().copied().for_each(consider);
        }
        Family::Piecewise(piecewise) => piecewise.spend().iter().copied().for_each(consider),
        Family::Custom(_) => {
            let bound = surplus_bound(curve, value, multiplier, from, range.max);
            best.0 = best.0.max(bound + multiplier * range.min);
        }
    }
    best
}
