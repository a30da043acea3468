//! Budget-to-success curves: the probability of success as a function of the spend.
//!
//! A [`Curve`] is a [`Family`] with its parameters and two numbers that every family takes: `floor`
//! (success at zero spend) and `ceiling` (success that no spend exceeds):
//!
//! ```text
//! success(x) = floor + (ceiling - floor) * family(x)
//! ```
//!
//! With the default `floor = 0` the ceiling is a factor. Every curve is nondecreasing and
//! right-continuous, so an optimal allocation exists.
//!
//! `demand.rs` is the only place where the solvers distinguish families. To add a family, copy
//! `hill.rs` (smooth) or `steps.rs` (jumps), add it to [`Family`] and to `demand.rs`, and list it
//! in `tests/curve.rs`.

mod checks;
mod custom;
pub(crate) mod demand;
mod diminishing_returns;
mod empirical;
mod error;
mod exponential;
mod hill;
mod jumps;
mod logistic;
mod piecewise;
mod power;
mod saturating;
mod scaled;
mod shape;
mod steps;
mod threshold;

pub use checks::AMOUNT_RANGE;
pub use custom::{CUSTOM_ACCURACY, Custom, DeclaredShape, ResponseCurve};
pub use diminishing_returns::DiminishingReturnsFailure;
pub use empirical::Empirical;
pub use error::{CurveError, CurveErrorKind, NumberRange};
pub use exponential::Exponential;
pub use hill::Hill;
pub(crate) use jumps::jumps_reached;
pub use logistic::Logistic;
pub use piecewise::Piecewise;
pub use power::Power;
pub use saturating::Saturating;
pub use shape::Shape;
pub use steps::Steps;
pub use threshold::Threshold;

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use checks::{require_amount, require_nonnegative, require_positive, require_rising_points};

/// The family of a curve, with its parameters. Large families are boxed, because a problem may have
/// 10^6 curves of the small ones.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "family", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Family {
    /// `min(1, (x/scale)^exponent)`
    Power(Power),
    /// `min(1, x/full_at)`
    Saturating(Saturating),
    /// `1 - exp(-x/scale)`
    Exponential(Exponential),
    /// `x^s / (x^s + h^s)`
    Hill(Hill),
    /// a logistic curve shifted and scaled to start at zero
    Logistic(Logistic),
    /// one from a given spend on
    Threshold(Threshold),
    /// right-continuous steps
    Steps(Box<Steps>),
    /// linear between points
    Piecewise(Box<Piecewise>),
    /// the share of samples at most `x`
    Empirical(Box<Empirical>),
    /// a custom function
    Custom(Box<Custom>),
}

/// A known budget-to-success curve.
///
/// ```
/// use outlay::Curve;
/// let curve = Curve::hill(120.0, 2.5)?.with_ceiling(0.8)?;
/// assert_eq!(curve.success(0.0), 0.0);
/// assert!((curve.success(120.0) - 0.4).abs() < 1e-15);
/// # Ok::<(), outlay::curve::CurveError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curve {
    #[serde(flatten)]
    family: Family,
    #[serde(skip_serializing_if = "is_zero")]
    floor: f64,
    #[serde(skip_serializing_if = "is_one")]
    ceiling: f64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_one(number: &f64) -> bool {
    *number == 1.0
}

impl From<Family> for Curve {
    fn from(family: Family) -> Self {
        Self { family, floor: 0.0, ceiling: 1.0 }
    }
}

/// Constructors, one per family. Spends may be in any unit.
impl Curve {
    /// `min(1, (x/scale)^exponent)`.
    ///
    /// # Errors
    /// If `exponent` is outside `(0, 1]` or `scale` is not positive and finite.
    pub fn power(exponent: f64, scale: f64) -> Result<Self, CurveError> {
        Power::new(exponent, scale).map(|family| Family::Power(family).into())
    }

    /// `min(1, x/full_at)`.
    ///
    /// # Errors
    /// If `full_at` is not positive and finite.
    pub fn saturating(full_at: f64) -> Result<Self, CurveError> {
        Saturating::new(full_at).map(|family| Family::Saturating(family).into())
    }

    /// `1 - exp(-x/scale)`.
    ///
    /// # Errors
    /// If `scale` is not positive and finite.
    pub fn exponential(scale: f64) -> Result<Self, CurveError> {
        Exponential::new(scale).map(|family| Family::Exponential(family).into())
    }

    /// `x^s / (x^s + h^s)` with `h = half_at`, `s = steepness`.
    ///
    /// # Errors
    /// If a parameter is not positive and finite.
    pub fn hill(half_at: f64, steepness: f64) -> Result<Self, CurveError> {
        Hill::new(half_at, steepness).map(|family| Family::Hill(family).into())
    }

    /// A logistic curve with middle `mid` and width `width`, shifted and scaled to run from 0 to 1.
    ///
    /// # Errors
    /// If `mid` is negative, `width` is not positive, or one is not finite.
    pub fn logistic(mid: f64, width: f64) -> Result<Self, CurveError> {
        Logistic::new(mid, width).map(|family| Family::Logistic(family).into())
    }

    /// 1 from spend `at` on, 0 below.
    ///
    /// # Errors
    /// If `at` is negative or not finite.
    pub fn threshold(at: f64) -> Result<Self, CurveError> {
        Threshold::new(at).map(|family| Family::Threshold(family).into())
    }

    /// `success[i]` from spend `at[i]` on, 0 before the first.
    ///
    /// # Errors
    /// If the lists are empty or of different lengths, `at` does not increase, or `success`
    /// decreases or leaves `[0, 1]`.
    pub fn steps(at: Vec<f64>, success: Vec<f64>) -> Result<Self, CurveError> {
        Steps::new(at, success).map(|family| Family::Steps(Box::new(family)).into())
    }

    /// Linear between the points `(spend[i], success[i])`, constant after the last; the first is at
    /// spend 0.
    ///
    /// # Errors
    /// If the lists are empty or of different lengths, `spend` does not start at 0 and increase, or
    /// `success` decreases or leaves `[0, 1]`.
    pub fn piecewise(spend: Vec<f64>, success: Vec<f64>) -> Result<Self, CurveError> {
        Piecewise::new(spend, success).map(|family| Family::Piecewise(Box::new(family)).into())
    }

    /// The share of `samples` that are at most the spend.
    ///
    /// # Errors
    /// If there is no sample, or one is negative or not finite.
    pub fn empirical(samples: Vec<f64>) -> Result<Self, CurveError> {
        Empirical::new(samples).map(|family| Family::Empirical(Box::new(family)).into())
    }

    /// A custom function with its declared shape.
    ///
    /// # Errors
    /// If a declared Lipschitz constant is not positive and finite.
    pub fn custom(
        function: Arc<dyn ResponseCurve>,
        shape: DeclaredShape,
    ) -> Result<Self, CurveError> {
        Custom::new(function, shape).map(|family| Family::Custom(Box::new(family)).into())
    }

    /// The same curve with success no higher than `ceiling`.
    ///
    /// # Errors
    /// If `ceiling` is outside `(0, 1]` or below the floor.
    pub fn with_ceiling(mut self, ceiling: f64) -> Result<Self, CurveError> {
        if !(ceiling > 0.0 && ceiling <= 1.0) {
            return Err(CurveError::out_of_range("ceiling", ceiling, NumberRange::PositiveShare));
        }
        if ceiling < self.floor {
            let kind = CurveErrorKind::CeilingBelowFloor { ceiling, floor: self.floor };
            return Err(CurveError::new("ceiling", kind));
        }
        self.ceiling = ceiling;
        Ok(self)
    }

    /// The same curve with success `floor` at zero spend.
    ///
    /// # Errors
    /// If `floor` is outside `[0, 1]` or above the ceiling.
    pub fn with_floor(mut self, floor: f64) -> Result<Self, CurveError> {
        if !(floor >= 0.0 && floor <= self.ceiling) {
            let kind = CurveErrorKind::Floor { floor, ceiling: self.ceiling };
            return Err(CurveError::new("floor", kind));
        }
        self.floor = floor;
        Ok(self)
    }
}

impl Curve {
    /// The family with its parameters.
    #[must_use]
    pub fn family(&self) -> &Family {
        &self.family
    }

    /// The success at zero spend.
    #[must_use]
    pub fn floor(&self) -> f64 {
        self.floor
    }

    /// The success that no spend exceeds.
    #[must_use]
    pub fn ceiling(&self) -> f64 {
        self.ceiling
    }

    /// The distance from the floor to the ceiling.
    pub(crate) fn height(&self) -> f64 {
        self.ceiling - self.floor
    }

    /// The probability of success at `spend`. A negative or NaN spend counts as zero.
    #[must_use]
    pub fn success(&self, spend: f64) -> f64 {
        self.floor + self.height() * self.family.success(spend.max(0.0))
    }

    /// The right derivative at `spend`. It is zero between the jumps of a step curve.
    #[must_use]
    pub fn slope(&self, spend: f64) -> f64 {
        self.height() * self.family.slope(spend.max(0.0))
    }

    /// The shape of the curve.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.family.shape()
    }

    /// The spend beyond which success no longer increases; infinite if there is none.
    #[must_use]
    pub fn saturates_at(&self) -> f64 {
        match &self.family {
            Family::Power(power) => power.scale(),
            Family::Saturating(saturating) => saturating.full_at(),
            Family::Exponential(_) | Family::Hill(_) | Family::Logistic(_) | Family::Custom(_) => {
                f64::INFINITY
            }
            Family::Threshold(threshold) => threshold.at(),
            Family::Steps(steps) => steps.at().last().copied().unwrap_or(0.0),
            Family::Piecewise(piecewise) => piecewise.saturates_at(),
            Family::Empirical(empirical) => empirical.at().last().copied().unwrap_or(0.0),
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Family {
    /// The name in problem files.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Power(_) => "power",
            Self::Saturating(_) => "saturating",
            Self::Exponential(_) => "exponential",
            Self::Hill(_) => "hill",
            Self::Logistic(_) => "logistic",
            Self::Threshold(_) => "threshold",
            Self::Steps(_) => "steps",
            Self::Piecewise(_) => "piecewise",
            Self::Empirical(_) => "empirical",
            Self::Custom(_) => "custom",
        }
    }

    /// Success before floor and ceiling.
    pub(crate) fn success(&self, spend: f64) -> f64 {
        match self {
            Self::Power(family) => family.success(spend),
            Self::Saturating(family) => family.success(spend),
            Self::Exponential(family) => family.success(spend),
            Self::Hill(family) => family.success(spend),
            Self::Logistic(family) => family.success(spend),
            Self::Threshold(family) => family.success(spend),
            Self::Steps(family) => family.success(spend),
            Self::Piecewise(family) => family.success(spend),
            Self::Empirical(family) => family.success(spend),
            Self::Custom(family) => family.success(spend),
        }
    }

    fn slope(&self, spend: f64) -> f64 {
        match self {
            Self::Power(family) => family.slope(spend),
            Self::Saturating(family) => family.slope(spend),
            Self::Exponential(family) => family.slope(spend),
            Self::Hill(family) => family.slope(spend),
            Self::Logistic(family) => family.slope(spend),
            Self::Threshold(_) | Self::Steps(_) | Self::Empirical(_) => 0.0,
            Self::Piecewise(family) => family.slope(spend),
            Self::Custom(family) => family.slope(spend),
        }
    }
}
