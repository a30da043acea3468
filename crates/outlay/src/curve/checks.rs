//! Checks of curve parameters.

use super::CurveError;

/// The positive amounts of money that curves and problems may contain. Ratios of amounts in this
/// range, and their squares, are far from the ends of the range of floating-point numbers.
pub const AMOUNT_RANGE: std::ops::RangeInclusive<f64> = 1e-100..=1e100;

/// The message for a positive amount out of [`AMOUNT_RANGE`].
pub(crate) const OUT_OF_RANGE: &str =
    "must be between 1e-100 and 1e100 (in another unit of money if need be)";

/// Requires a positive, finite number.
pub(super) fn require_positive(field: &str, number: f64) -> Result<(), CurveError> {
    if number > 0.0 && number.is_finite() {
        return Ok(());
    }
    Err(CurveError::new(field, format!("must be positive and finite, not {number}")))
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
    let message = if number > 0.0 && number.is_finite() {
        format!("{OUT_OF_RANGE}, not {number}")
    } else {
        format!("must be finite and not negative, not {number}")
    };
    Err(CurveError::new(field(), message))
}

/// Requires two lists of equal positive length, increasing spends, and nondecreasing success in
/// `[0, 1]`.
pub(super) fn require_rising_points(
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
