//! Parsers of numeric flags.

/// Parses a finite, non-negative number.
pub(super) fn non_negative(text: &str) -> Result<f64, String> {
    number(text, "must be finite and not negative", |number| number >= 0.0)
}

/// Parses a number in (0, 1].
pub(super) fn share(text: &str) -> Result<f64, String> {
    number(text, "must be above 0 and at most 1", |number| number > 0.0 && number <= 1.0)
}

/// Parses a percentage such as `30%`, as a share.
pub(super) fn percentage(text: &str) -> Result<f64, String> {
    const RULE: &str = "must be a percentage, such as 30%, and not negative";
    let number = text.trim().strip_suffix('%').ok_or(RULE)?;
    non_negative(number).map(|percent| percent / 100.0).map_err(|_| RULE.to_owned())
}

/// Parses a finite, positive number.
pub(super) fn positive(text: &str) -> Result<f64, String> {
    number(text, "must be positive and finite", |number| number > 0.0)
}

/// Parses a finite number for which `is_valid` holds; otherwise `rule` is the error message.
pub(super) fn number(
    text: &str,
    rule: &str,
    is_valid: impl Fn(f64) -> bool,
) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && is_valid(number) => Ok(number),
        Ok(_) => Err(rule.to_owned()),
        Err(_) => Err("not a number".to_owned()),
    }
}

/// Parses `TASK=NUMBER`; the number is positive. A task's name may contain `=`.
pub(super) fn task_number(text: &str) -> Result<(String, f64), String> {
    let (task, number) = text.rsplit_once('=').ok_or("must be TASK=NUMBER")?;
    if task.trim().is_empty() {
        return Err("must be TASK=NUMBER".to_owned());
    }
    Ok((task.trim().to_owned(), positive(number)?))
}
