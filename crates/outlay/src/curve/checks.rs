//! Checks of curve parameters.

use super::{CurveError, CurveErrorKind, NumberRange};

/// The positive amounts of money that curves and problems may contain. Ratios of amounts in this
/// range, and their squares, are far from the ends of the range of floating-point numbers.
pub const AMOUNT_RANGE: std::ops::RangeInclusive<f64> = 1e-100..=1e100;

/// Requires a positive, finite number.
pub(super) fn require_positive(field: &str, number: f64) -> Result<(), CurveError> {
    if number > 0.0 && number.is_finite() {
        return Ok(());
    }
    Err(CurveError::out_of_range(field, number, NumberRange::Positive))
}

/// Requires a positive amount of money.
pub(super) fn require_amount(field: &str, number: f64) -> Result<(), CurveError> {
    require_positive(field, number)?;
    require_nonnegative(|| field, number)
}

/// Requires zero or a positive amount of money. The name of the field is built only for an error,
/// because lists are long.
pub(super) fn require_nonnegative<S: Into<String>>(
    field: impl FnOnce() -> S,
    number: f64,
) -> Result<(), CurveError> {
    if number == 0.0 || AMOUNT_RANGE.contains(&number) {
        return Ok(());
    }
    let is_positive = number > 0.0 && number.is_finite();
    let expected = if is_positive { NumberRange::Amount } else { NumberRange::NonNegative };
    Err(CurveError::out_of_range(field(), number, expected))
}

/// Requires two lists of equal positive length, increasing spends, and nondecreasing success in
/// `[0, 1]`.
pub(super) fn require_rising_points(
    spend_field: &'static str,
    spend: &[f64],
    success: &[f64],
) -> Result<(), CurveError> {
    if spend.is_empty() {
        return Err(CurveError::new(spend_field, CurveErrorKind::Empty));
    }
    if spend.len() != success.len() {
        let (found, expected) = (success.len(), spend.len());
        let kind = CurveErrorKind::LengthMismatch { found, other: spend_field, expected };
        return Err(CurveError::new("success", kind));
    }
    for (position, &at) in spend.iter().enumerate() {
        require_nonnegative(|| format!("{spend_field}[{position}]"), at)?;
        if position > 0 && at <= spend[position - 1] {
            let previous = spend[position - 1];
            let kind = CurveErrorKind::NotIncreasing { number: at, previous };
            return Err(CurveError::new(format!("{spend_field}[{position}]"), kind));
        }
    }
    for (position, &height) in success.iter().enumerate() {
        let field = || format!("success[{position}]");
        if !(0.0..=1.0).contains(&height) {
            return Err(CurveError::out_of_range(field(), height, NumberRange::UnitInterval));
        }
        if position > 0 && height < success[position - 1] {
            let previous = success[position - 1];
            let kind = CurveErrorKind::Decreasing { number: height, previous };
            return Err(CurveError::new(field(), kind));
        }
    }
    Ok(())
}
