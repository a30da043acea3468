//! Expected types and the values found instead.

use std::fmt;

use crate::text::one_line;

/// The number of characters of a text that a message quotes.
const MAX_QUOTED: usize = 40;

/// The type that a field of a problem file must have. `Display` completes "must be …".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExpectedType {
    /// A number.
    Number,
    /// A whole number, which may be zero.
    WholeNumber,
    /// A whole number of at least 1.
    PositiveWholeNumber,
    /// Text.
    Text,
    /// Text or a number.
    TextOrNumber,
    /// A boolean.
    Bool,
    /// A list of numbers.
    Numbers,
    /// A list.
    List,
    /// A table.
    Table,
}

impl ExpectedType {
    /// Whether it is one number.
    pub(in crate::problem) fn is_numeric(self) -> bool {
        matches!(self, Self::Number | Self::WholeNumber | Self::PositiveWholeNumber)
    }
}

impl fmt::Display for ExpectedType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Number => "a number",
            Self::WholeNumber => "a whole number",
            Self::PositiveWholeNumber => "a whole number of at least 1",
            Self::Text => "text",
            Self::TextOrNumber => "text or a number",
            Self::Bool => "true or false",
            Self::Numbers => "a list of numbers",
            Self::List => "a list",
            Self::Table => "a table",
        })
    }
}

/// A value of a problem file that was rejected. `Display` completes "must be …, not …".
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum FoundValue {
    /// JSON's null.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Integer(i128),
    /// A floating-point number.
    Float(f64),
    /// Text, or a cell of a CSV file.
    Text(String),
    /// A date of TOML.
    Date,
    /// A list.
    List,
    /// A table.
    Table,
}

impl fmt::Display for FoundValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => write!(formatter, "null"),
            Self::Bool(flag) => write!(formatter, "{flag}"),
            Self::Integer(number) => write!(formatter, "the number {number}"),
            Self::Float(number) => write!(formatter, "the number {number}"),
            Self::Text(text) => write!(formatter, "{}", quoted(text)),
            Self::Date => write!(formatter, "a date"),
            Self::List => write!(formatter, "a list"),
            Self::Table => write!(formatter, "a table"),
        }
    }
}

/// `the text "abc"`, shortened if long.
fn quoted(text: &str) -> String {
    if text.is_empty() {
        return "empty text".to_owned();
    }
    let text = one_line(text);
    match text.char_indices().nth(MAX_QUOTED).and_then(|(end, _)| text.get(..end)) {
        Some(beginning) => format!("the text \"{beginning}…\""),
        None => format!("the text \"{text}\""),
    }
}
