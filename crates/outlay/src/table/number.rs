//! Numbers and truth values in cells.

/// The sign between a number's whole part and its fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decimal {
    /// `12.5`
    Point,
    /// `12,5`
    Comma,
}

/// The truth value in a cell: `1`, `0`, `1.0`, `0.0`, `true` or `false`, in any case.
#[must_use]
pub fn parse_flag(cell: &str) -> Option<bool> {
    let cell = cell.trim();
    let is = |words: [&str; 4]| words.iter().any(|word| cell.eq_ignore_ascii_case(word));
    if is(["1", "1.0", "1,0", "true"]) {
        Some(true)
    } else {
        is(["0", "0.0", "0,0", "false"]).then_some(false)
    }
}

/// The reason why a cell is not a number. `Display` completes "must be a number, not …: ".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NumberError {
    /// The cell does not resemble a number.
    #[error("write digits with a decimal point")]
    NotANumber,
    /// The cell has thousands separators, as in `1,234.5` or `1 234`.
    #[error("write it without thousands separators")]
    Thousands,
    /// The cell has a decimal comma, but the table has decimal points.
    #[error("write it with a decimal point")]
    DecimalComma,
    /// The cell has a decimal point, but the table has decimal commas.
    #[error("the other numbers have decimal commas; write it with a comma")]
    DecimalPoint,
    /// A cell such as `1,234`, in a table that does not show whether commas are decimal.
    #[error("its comma can be a decimal comma or a thousands separator")]
    Ambiguous,
}

/// The number in a cell. Without a decimal sign, commas are undecided and rejected.
///
/// # Errors
/// If the cell is not a number in this form.
pub fn parse_number(cell: &str, decimal: Option<Decimal>) -> Result<f64, NumberError> {
    let cell = cell.trim();
    let parsed = match decimal {
        Some(Decimal::Comma) if cell.contains('.') => None,
        Some(Decimal::Comma) => cell.replacen(',', ".", 1).parse().ok(),
        Some(Decimal::Point) | None => cell.parse().ok(),
    };
    parsed.ok_or_else(|| reason(cell, decimal))
}

fn reason(cell: &str, decimal: Option<Decimal>) -> NumberError {
    match Form::of(cell) {
        // In a table with decimal commas this cell is 1,234 at most.
        Form::Groups { separator: ',', count: 1, has_fraction: false } if decimal.is_none() => {
            NumberError::Ambiguous
        }
        Form::Groups { .. } => NumberError::Thousands,
        Form::Fraction { sign: ',' } => NumberError::DecimalComma,
        Form::Fraction { .. } => NumberError::DecimalPoint,
        Form::Other => NumberError::NotANumber,
    }
}

/// The form of a cell that may be a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Digits in groups of three: `1,234`, `1.234.567,8`, `1 234`.
    Groups {
        separator: char,
        /// The number of separators between groups.
        count: usize,
        has_fraction: bool,
    },
    /// Digits with a decimal sign that cannot separate groups: `12,5`, `0.123`.
    Fraction {
        sign: char,
    },
    Other,
}

impl Form {
    pub(super) fn of(cell: &str) -> Self {
        let cell = cell.trim();
        let digits = cell.strip_prefix(['+', '-']).unwrap_or(cell).trim_start();
        let is_number = digits.starts_with(|first: char| first.is_ascii_digit())
            && digits.ends_with(|last: char| last.is_ascii_digit());
        let Some(separator) =
            digits.chars().find(|sign| !sign.is_ascii_digit()).filter(|_| is_number)
        else {
            return Self::Other;
        };
        if !matches!(separator, ',' | '.' | '\'' | '’' | '_') && !separator.is_whitespace() {
            return Self::Other;
        }
        // A fraction after groups has the other sign: 1,234.5 or 1.234,5.
        let (whole, fraction) = match digits.rsplit_once([',', '.']) {
            Some((whole, fraction)) if !digits.ends_with(&format!("{separator}{fraction}")) => {
                (whole, Some(fraction))
            }
            _ => (digits, None),
        };
        let are_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let mut groups = whole.split(separator);
        let first = groups.next().unwrap_or("");
        let groups: Vec<&str> = groups.collect();
        let is_grouped = (1..=3).contains(&first.len())
            && first != "0"
            && are_digits(first)
            && groups.iter().all(|group| group.len() == 3 && are_digits(group))
            && fraction.is_none_or(are_digits);
        if is_grouped {
            let (count, has_fraction) = (groups.len(), fraction.is_some());
            return Self::Groups { separator, count, has_fraction };
        }
        match groups.as_slice() {
            [rest] if matches!(separator, ',' | '.') && are_digits(first) && are_digits(rest) => {
                Self::Fraction { sign: separator }
            }
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_their_form_only() {
        let (point, comma) = (Some(Decimal::Point), Some(Decimal::Comma));
        for (cell, decimal, expected) in [
            ("12.5", point, Ok(12.5)),
            (" -3 ", point, Ok(-3.0)),
            ("1e3", point, Ok(1000.0)),
            ("12,5", comma, Ok(12.5)),
            ("1,234", comma, Ok(1.234)),
            ("12", comma, Ok(12.0)),
            ("1,5e2", comma, Ok(150.0)),
            ("12.5", None, Ok(12.5)),
            ("12,5", point, Err(NumberError::DecimalComma)),
            ("12,5", None, Err(NumberError::DecimalComma)),
            ("1,234", None, Err(NumberError::Ambiguous)),
            ("1,234", point, Err(NumberError::Thousands)),
            ("1,234.5", point, Err(NumberError::Thousands)),
            ("1,234,567", None, Err(NumberError::Thousands)),
            ("1 234", point, Err(NumberError::Thousands)),
            ("1\u{a0}234,5", comma, Err(NumberError::Thousands)),
            ("1'234.50", point, Err(NumberError::Thousands)),
            ("1.234,5", comma, Err(NumberError::Thousands)),
            ("1.234", comma, Err(NumberError::Thousands)),
            ("1.234.567", point, Err(NumberError::Thousands)),
            ("12.5", comma, Err(NumberError::DecimalPoint)),
            ("0.125", comma, Err(NumberError::DecimalPoint)),
            ("1,2,3", comma, Err(NumberError::NotANumber)),
            ("01.02.2026", point, Err(NumberError::NotANumber)),
            ("12 EUR", point, Err(NumberError::NotANumber)),
            ("", point, Err(NumberError::NotANumber)),
            (",", comma, Err(NumberError::NotANumber)),
            ("é,1", point, Err(NumberError::NotANumber)),
        ] {
            assert_eq!(parse_number(cell, decimal), expected, "{cell:?} {decimal:?}");
        }
    }
}
