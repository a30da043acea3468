//! Budget-to-success curves: how the chance of success rises with what is spent.
//!
//! A [`Curve`] is data: a [`Family`] with its parameters, and two numbers every family takes,
//! `floor` (success at zero spend) and `ceiling` (success that no spend exceeds):
//!
//! ```text
//! success(x) = floor + (ceiling - floor) * family(x)
//! ```
//!
//! With the default `floor = 0` the ceiling simply multiplies. Every curve is nondecreasing and
//! right-continuous, so the best allocation exists.
//!
//! To add a family: copy `hill.rs` (smooth) or `steps.rs` (jumps), add it to [`Family`], and list
//! it in `tests/curve.rs`.

mod custom;
mod empirical;
mod exponential;
mod hill;
mod logistic;
mod piecewise;
mod power;
mod saturating;
mod staircase;
mod steps;
mod threshold;

pub use custom::{Custom, DeclaredShape, ResponseCurve};
pub use empirical::Empirical;
pub use exponential::Exponential;
pub use hill::Hill;
pub use logistic::Logistic;
pub use piecewise::Piecewise;
pub use power::Power;
pub use saturating::Saturating;
pub use staircase::REACH;
pub(crate) use staircase::jumps_reached;
pub use steps::Steps;
pub use threshold::Threshold;

use std::sync::Arc;

use serde::Serialize;

/// Why a curve could not be made: the parameter at fault and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct CurveError {
    /// The parameter, as written in a problem file: `half_at`, `success[3]`.
    pub field: String,
    /// What is wrong and what would be right.
    pub message: String,
}

impl CurveError {
    pub(crate) fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into() }
    }
}

/// The family of a curve, with its parameters.
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
    /// a logistic curve shifted and stretched to start at zero
    Logistic(Logistic),
    /// one from a given spend on
    Threshold(Threshold),
    /// right-continuous steps
    Steps(Steps),
    /// linear between points
    Piecewise(Piecewise),
    /// the share of samples at most `x`
    Empirical(Empirical),
    /// a user's own function
    Custom(Custom),
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

/// What kind of curve it is, as far as the oracle is concerned.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Shape {
    /// Diminishing returns everywhere.
    Concave,
    /// Rising returns up to the inflection, diminishing ones beyond it.
    SShaped {
        /// The spend where the slope is largest.
        inflection: f64,
    },
    /// Constant but for jumps.
    Steps {
        /// How many.
        jumps: usize,
    },
    /// Linear pieces whose slopes rise somewhere.
    PiecewiseMixed,
    /// A user's own function with what was declared of it.
    Declared(DeclaredShape),
}

impl std::fmt::Display for Shape {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Concave => write!(formatter, "concave"),
            Self::SShaped { inflection } => write!(formatter, "S-shaped, steepest at {inflection}"),
            Self::Steps { jumps: 1 } => write!(formatter, "1 step"),
            Self::Steps { jumps } => write!(formatter, "{jumps} steps"),
            Self::PiecewiseMixed => write!(formatter, "piecewise linear, not concave"),
            Self::Declared(declared) => write!(formatter, "own function, {declared}"),
        }
    }
}

impl From<Family> for Curve {
    fn from(family: Family) -> Self {
        Self { family, floor: 0.0, ceiling: 1.0 }
    }
}

/// Constructors, one a family. Spends are in the user's own unit.
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

    /// A logistic curve with middle `mid` and width `width`, shifted and stretched to run from 0 to
    /// 1.
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
        Steps::new(at, success).map(|family| Family::Steps(family).into())
    }

    /// Linear between the points `(spend[i], success[i])`, constant after the last; the first is at
    /// spend 0.
    ///
    /// # Errors
    /// If the lists are empty or of different lengths, `spend` does not start at 0 and increase, or
    /// `success` decreases or leaves `[0, 1]`.
    pub fn piecewise(spend: Vec<f64>, success: Vec<f64>) -> Result<Self, CurveError> {
        Piecewise::new(spend, success).map(|family| Family::Piecewise(family).into())
    }

    /// The share of `samples` that are at most the spend.
    ///
    /// # Errors
    /// If there is no sample, or one is negative or not finite.
    pub fn empirical(samples: Vec<f64>) -> Result<Self, CurveError> {
        Empirical::new(samples).map(|family| Family::Empirical(family).into())
    }

    /// A function of your own, with what you know of its shape.
    ///
    /// # Errors
    /// If a declared Lipschitz constant is not positive and finite.
    pub fn custom(
        function: Arc<dyn ResponseCurve>,
        shape: DeclaredShape,
    ) -> Result<Self, CurveError> {
        Custom::new(function, shape).map(|family| Family::Custom(family).into())
    }

    /// The same curve with success no higher than `ceiling`.
    ///
    /// # Errors
    /// If `ceiling` is outside `(0, 1]` or below the floor.
    pub fn with_ceiling(mut self, ceiling: f64) -> Result<Self, CurveError> {
        if !(ceiling > 0.0 && ceiling <= 1.0) {
            return Err(CurveError::new(
                "ceiling",
                format!("must be above 0 and at most 1, not {ceiling}"),
            ));
        }
        if ceiling < self.floor {
            return Err(CurveError::new(
                "ceiling",
                format!("must be at least the floor {}, not {ceiling}", self.floor),
            ));
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
            return Err(CurveError::new(
                "floor",
                format!("must be at least 0 and at most the ceiling {}, not {floor}", self.ceiling),
            ));
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

    /// Success at zero spend that the floor grants.
    #[must_use]
    pub fn floor(&self) -> f64 {
        self.floor
    }

    /// The success that no spend exceeds.
    #[must_use]
    pub fn ceiling(&self) -> f64 {
        self.ceiling
    }

    /// What the ceiling and the floor leave of the family's own range.
    pub(crate) fn height(&self) -> f64 {
        self.ceiling - self.floor
    }

    /// The chance of success when `spend` is spent; a negative or NaN spend counts as zero.
    #[must_use]
    pub fn success(&self, spend: f64) -> f64 {
        self.floor + self.height() * self.family.success(spend.max(0.0))
    }

    /// The slope to the right of `spend`: what the next small unit adds. Zero on the flat of a
    /// step.
    #[must_use]
    pub fn slope(&self, spend: f64) -> f64 {
        self.height() * self.family.slope(spend.max(0.0))
    }

    /// Its shape.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.family.shape()
    }

    /// The spend beyond which success no longer rises; infinite if it always does.
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

    /// Which parts of the paper's strong diminishing returns (Assumption 2, spends up to `budget`)
    /// fail; empty if it holds.
    ///
    /// Part 1 asks for a continuous slope on `(0, budget]` that is infinite at zero, part 2 for
    /// strong concavity away from zero.
    #[must_use]
    pub fn diminishing_returns_failures(&self, budget: f64) -> Vec<DiminishingReturnsFailure> {
        use DiminishingReturnsFailure as Failure;
        if self.height() == 0.0 {
            return vec![Failure::FiniteSlopeAtZero, Failure::NotStronglyConcave];
        }
        match &self.family {
            Family::Power(power) if power.exponent() < 1.0 && power.scale() >= budget => vec![],
            Family::Power(power) if power.exponent() < 1.0 => {
                vec![Failure::KinkOrJump, Failure::NotStronglyConcave]
            }
            Family::Hill(hill) if hill.steepness() < 1.0 => vec![],
            Family::Exponential(_) => vec![Failure::FiniteSlopeAtZero],
            Family::Hill(hill) if hill.steepness() == 1.0 => vec![Failure::FiniteSlopeAtZero],
            Family::Logistic(logistic) if logistic.mid() == 0.0 => {
                vec![Failure::FiniteSlopeAtZero]
            }
            Family::Hill(_) | Family::Logistic(_) => {
                vec![Failure::FiniteSlopeAtZero, Failure::NotStronglyConcave]
            }
            Family::Custom(custom) => match custom.shape() {
                DeclaredShape::Concave => vec![Failure::NotDeclared],
                DeclaredShape::Lipschitz(_) => {
                    vec![Failure::FiniteSlopeAtZero, Failure::NotDeclared]
                }
                DeclaredShape::Monotone => vec![Failure::NotDeclared],
            },
            Family::Power(power) if power.scale() >= budget => {
                vec![Failure::FiniteSlopeAtZero, Failure::NotStronglyConcave]
            }
            Family::Saturating(saturating) if saturating.full_at() >= budget => {
                vec![Failure::FiniteSlopeAtZero, Failure::NotStronglyConcave]
            }
            Family::Power(_)
            | Family::Saturating(_)
            | Family::Threshold(_)
            | Family::Steps(_)
            | Family::Piecewise(_)
            | Family::Empirical(_) => {
                vec![Failure::FiniteSlopeAtZero, Failure::KinkOrJump, Failure::NotStronglyConcave]
            }
        }
    }
}

/// A part of the paper's strong diminishing returns that a curve lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DiminishingReturnsFailure {
    /// Part 1: the slope at zero spend is finite.
    FiniteSlopeAtZero,
    /// Part 1: the slope jumps somewhere in the budget's range.
    KinkOrJump,
    /// Part 2: some stretch is not strongly concave.
    NotStronglyConcave,
    /// Nothing declared of a user's function settles it.
    NotDeclared,
}

impl std::fmt::Display for DiminishingReturnsFailure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::FiniteSlopeAtZero => "finite slope at zero",
            Self::KinkOrJump => "kink or jump",
            Self::NotStronglyConcave => "not strongly concave",
            Self::NotDeclared => "not declared",
        })
    }
}

impl Family {
    /// The word that names it in problem files.
    #[must_use]
    pub fn name(&self) -> &'static str {
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

    fn shape(&self) -> Shape {
        match self {
            Self::Power(_) | Self::Saturating(_) | Self::Exponential(_) => Shape::Concave,
            Self::Hill(hill) if hill.steepness() <= 1.0 => Shape::Concave,
            Self::Logistic(logistic) if logistic.mid() == 0.0 => Shape::Concave,
            Self::Hill(hill) => Shape::SShaped { inflection: hill.inflection() },
            Self::Logistic(logistic) => Shape::SShaped { inflection: logistic.inflection() },
            Self::Threshold(_) => Shape::Steps { jumps: 1 },
            Self::Steps(steps) => Shape::Steps { jumps: steps.at().len() },
            Self::Empirical(empirical) => Shape::Steps { jumps: empirical.at().len() },
            Self::Piecewise(piecewise) if piecewise.is_concave() => Shape::Concave,
            Self::Piecewise(_) => Shape::PiecewiseMixed,
            Self::Custom(custom) => Shape::Declared(custom.shape()),
        }
    }
}

/// Refuses what is not positive and finite.
fn require_positive(field: &str, number: f64) -> Result<(), CurveError> {
    if number > 0.0 && number.is_finite() {
        return Ok(());
    }
    Err(CurveError::new(field, format!("must be positive and finite, not {number}")))
}

/// Refuses what is negative, infinite or NaN. The field is named only if it is at fault: lists are
/// long.
fn require_nonnegative<S: Into<String>>(
    field: impl FnOnce() -> S,
    number: f64,
) -> Result<(), CurveError> {
    if number >= 0.0 && number.is_finite() {
        return Ok(());
    }
    Err(CurveError::new(field(), format!("must be finite and not negative, not {number}")))
}

/// Refuses two lists that are empty or do not pair up, spends that do not increase, success that
/// falls or leaves `[0, 1]`.
fn require_rising_points(
    spend_field: &str,
    spend: &[f64],
    success: &[f64],
) -> Result<(), CurveError> {
    if spend.is_empty() {
        return Err(CurveError::new(spend_field, "must have at least one number"));
    }
    if spend.len() != success.len() {
        let message = format!(
            "must have as many numbers as {spend_field}: {} against {}",
            success.len(),
            spend.len()
        );
        return Err(CurveError::new("success", message));
    }
    for (position, &at) in spend.iter().enumerate() {
        require_nonnegative(|| format!("{spend_field}[{position}]"), at)?;
        if position > 0 && at <= spend[position - 1] {
            let message = format!("must increase: {at} follows {}", spend[position - 1]);
            return Err(CurveError::new(format!("{spend_field}[{position}]"), message));
        }
    }
    for (position, &height) in success.iter().enumerate() {
        let field = || format!("success[{position}]");
        if !(0.0..=1.0).contains(&height) {
            return Err(CurveError::new(field(), format!("must be between 0 and 1, not {height}")));
        }
        if position > 0 && height < success[position - 1] {
            return Err(CurveError::new(
                field(),
                format!("must not decrease: {height} follows {}", success[position - 1]),
            ));
        }
    }
    Ok(())
}
