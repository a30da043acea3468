//! Errors of curve parameters.

use std::fmt;

use super::AMOUNT_RANGE;

/// An invalid parameter of a curve.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{field}: {kind}")]
pub struct CurveError {
    /// The parameter, as written in a problem file: `half_at`, `success[3]`.
    pub field: String,
    /// The kind of error.
    pub kind: CurveErrorKind,
}

impl CurveError {
    pub(crate) fn new(field: impl Into<String>, kind: CurveErrorKind) -> Self {
        Self { field: field.into(), kind }
    }

    /// A number outside its range.
    pub(crate) fn out_of_range(
        field: impl Into<String>,
        number: f64,
        expected: NumberRange,
    ) -> Self {
        Self::new(field, CurveErrorKind::OutOfRange { number, expected })
    }
}

/// The kind of a [`CurveError`], with its data. `Display` gives the message without the field.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CurveErrorKind {
    /// A number outside its range.
    #[error("must be {expected}, not {number}")]
    OutOfRange {
        /// The number.
        number: f64,
        /// The range.
        expected: NumberRange,
    },
    /// The exponent of a power curve is outside `(0, 1]`.
    #[error(
        "must be above 0 and at most 1, not {exponent} (for increasing returns use hill, logistic \
         or piecewise)"
    )]
    Exponent {
        /// The exponent.
        exponent: f64,
    },
    /// A list without numbers.
    #[error("must have at least one number")]
    Empty,
    /// Two lists of different lengths.
    #[error("must have as many numbers as {other}: {found} against {expected}")]
    LengthMismatch {
        /// The length of this list.
        found: usize,
        /// The other list.
        other: &'static str,
        /// The length of the other list.
        expected: usize,
    },
    /// A spend that is not above the one before.
    #[error("must increase: {number} follows {previous}")]
    NotIncreasing {
        /// The spend.
        number: f64,
        /// The spend before.
        previous: f64,
    },
    /// A success below the one before.
    #[error("must not decrease: {number} follows {previous}")]
    Decreasing {
        /// The success.
        number: f64,
        /// The success before.
        previous: f64,
    },
    /// The first point of a piecewise curve is not at spend 0.
    #[error("must be 0, not {spend}: the first point is the success at zero spend")]
    NonzeroStart {
        /// The spend of the first point.
        spend: f64,
    },
    /// A ceiling below the floor.
    #[error("must be at least the floor {floor}, not {ceiling}")]
    CeilingBelowFloor {
        /// The ceiling.
        ceiling: f64,
        /// The floor.
        floor: f64,
    },
    /// A floor that is negative, above the ceiling, or not a number.
    #[error("must be at least 0 and at most the ceiling {ceiling}, not {floor}")]
    Floor {
        /// The floor.
        floor: f64,
        /// The ceiling.
        ceiling: f64,
    },
}

/// A range that a number must be in. `Display` completes "must be …".
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum NumberRange {
    /// Positive and finite.
    Positive,
    /// Zero or positive, and finite.
    NonNegative,
    /// [`AMOUNT_RANGE`], the amounts of money that curves and problems may contain.
    Amount,
    /// `[0, 1]`.
    UnitInterval,
    /// `(0, 1]`.
    PositiveShare,
    /// 1, 2, 3, …
    AtLeastOne,
    /// From 0 to the largest reward of the problem.
    Reward {
        /// The largest reward.
        max: f64,
    },
    /// Above 1, and finite.
    AboveOne,
    /// A positive expected number of completions.
    Volume {
        /// The largest volume.
        max: f64,
    },
    /// [`SCALE_RANGE`](crate::problem::SCALE_RANGE), the scales of a round.
    Scale,
    /// From 0 to a number of completions.
    Completions {
        /// The largest number of completions.
        max: u64,
    },
    /// From 0 to a number of rounds.
    Rounds {
        /// The largest number of rounds.
        max: f64,
    },
}

impl fmt::Display for NumberRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Positive => write!(formatter, "positive and finite"),
            Self::NonNegative => write!(formatter, "finite and not negative"),
            Self::Amount => {
                let (least, most) = (AMOUNT_RANGE.start(), AMOUNT_RANGE.end());
                let hint = "in another unit of money if need be";
                write!(formatter, "between {least:e} and {most:e} ({hint})")
            }
            Self::UnitInterval => write!(formatter, "between 0 and 1"),
            Self::PositiveShare => write!(formatter, "above 0 and at most 1"),
            Self::AtLeastOne => write!(formatter, "at least 1"),
            Self::Reward { max } => write!(formatter, "between 0 and reward_max = {max}"),
            Self::AboveOne => write!(formatter, "above 1 and finite"),
            Self::Volume { max } => write!(formatter, "positive and at most {max:e}"),
            Self::Scale => write!(formatter, "between 1e-6 and 1e6"),
            Self::Completions { max } => write!(formatter, "between 0 and {max}"),
            Self::Rounds { max } => write!(formatter, "between 0 and {max:e} rounds"),
        }
    }
}
