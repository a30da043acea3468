//! Separators and decimal signs, detected from the first rows of a table.

use super::number::{Decimal, Form};

/// The separators, most common first.
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];
/// The number of rows from which the separator is detected.
const SEPARATOR_ROWS: usize = 20;
/// The number of rows from which the decimal sign is detected.
const DECIMAL_ROWS: usize = 1000;

/// The separator that the first line declares as spreadsheets do (`sep=;`), and the length of that
/// line.
pub(super) fn declared_separator(text: &str) -> Option<(u8, usize)> {
    let line = text.split_inclusive('\n').next()?;
    match line.trim_end_matches(['\r', '\n']).strip_prefix("sep=")?.as_bytes() {
        [separator] if separator.is_ascii() && !separator.is_ascii_alphanumeric() => {
            Some((*separator, line.len()))
        }
        _ => None,
    }
}

/// The separator that divides the header into the most columns and most of the next rows into as
/// many; a comma if there is none.
pub(super) fn separator(text: &str) -> u8 {
    let columns = |separator: u8| {
        let mut lengths = rows(text, separator, SEPARATOR_ROWS).map(|row| row.len());
        let header = lengths.next().unwrap_or(0);
        let (count, equal) = lengths
            .fold((0, 0), |(count, equal), row| (count + 1, equal + usize::from(row == header)));
        if header > 1 && (count == 0 || 2 * equal > count) { header } else { 0 }
    };
    let mut best = (SEPARATORS[0], 0);
    for separator in SEPARATORS {
        let columns = columns(separator);
        if columns > best.1 {
            best = (separator, columns);
        }
    }
    best.0
}

/// The decimal sign of the numbers; `None` if a comma may be a decimal comma or separate
/// thousands.
pub(super) fn decimal(text: &str, separator: u8) -> Option<Decimal> {
    if separator == b',' || !text.contains(',') {
        return Some(Decimal::Point);
    }
    let (mut commas, mut undecided) = (false, false);
    for row in rows(text, separator, DECIMAL_ROWS).skip(1) {
        for cell in &row {
            match Form::of(cell) {
                Form::Fraction { sign: ',' } | Form::Groups { separator: '.', count: 2.., .. } => {
                    commas = true;
                }
                Form::Groups { separator: '.', has_fraction: true, .. } => commas = true,
                Form::Groups { separator: ',', count: 1, has_fraction: false } => undecided = true,
                Form::Fraction { .. } | Form::Groups { separator: ',', .. } => {
                    return Some(Decimal::Point);
                }
                Form::Groups { .. } | Form::Other => {}
            }
        }
    }
    match (commas, undecided) {
        (true, _) => Some(Decimal::Comma),
        (false, true) => None,
        (false, false) => Some(Decimal::Point),
    }
}

/// The first rows with content.
fn rows(text: &str, separator: u8, count: usize) -> impl Iterator<Item = csv::StringRecord> {
    let reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(separator)
        .from_reader(text.as_bytes());
    let rows = reader.into_records().map_while(Result::ok);
    rows.filter(|row| row.iter().any(|cell| !cell.trim().is_empty())).take(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_detected() {
        for (text, expected) in [
            ("a,b\n1,2\n", b','),
            ("a;b\n1,5;2,5\n", b';'),
            ("a\tb\n1,5\t2\n", b'\t'),
            ("name,at,success\nx,1;2;3,0.1;0.2;0.3\n", b','),
            ("a;\"b, c\"\n1;2\n", b';'),
            ("price; EUR\n1\n2\n", b','),
            ("a;b;c\n", b';'),
            ("a\n1\n", b','),
            ("", b','),
        ] {
            assert_eq!(separator(text), expected, "{text:?}");
        }
        assert_eq!(declared_separator("sep=;\r\na;b\r\n"), Some((b';', 7)));
        assert_eq!(declared_separator("sep=a\n"), None);
        assert_eq!(declared_separator("sep\n"), None);
    }

    #[test]
    fn decimal_signs_are_detected() {
        for (rows, expected) in [
            ("a;12,5", Some(Decimal::Comma)),
            ("a;1,234\nb;0,5", Some(Decimal::Comma)),
            ("a;1.234,5", Some(Decimal::Comma)),
            ("a;1.234.567\nb;1,234", Some(Decimal::Comma)),
            ("a;1,234", None),
            ("a;1,234\nb;1.5", Some(Decimal::Point)),
            ("a;1,234.5", Some(Decimal::Point)),
            ("a, b;1.5", Some(Decimal::Point)),
            ("a;1", Some(Decimal::Point)),
        ] {
            assert_eq!(decimal(&format!("x;y\n{rows}\n"), b';'), expected, "{rows:?}");
        }
    }
}
