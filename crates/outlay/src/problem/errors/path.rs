//! The path of a field, for messages.

use std::fmt;

use crate::text::one_line;

/// The path of a field. It is formatted only for an error.
#[derive(Debug, Clone, Copy)]
pub(in crate::problem) enum FieldPath<'a> {
    /// The top level of the document.
    Top,
    /// A key of a table.
    Key(&'a FieldPath<'a>, &'a str),
    /// An item of a list, counted from zero.
    Item(&'a FieldPath<'a>, usize),
    /// A line of a file.
    Line { file: &'a str, line: u64 },
    /// The origin of a task in the words of the caller.
    Origin(&'a str),
}

impl FieldPath<'static> {
    /// The path of a task in the list of a document.
    pub(in crate::problem) fn task(position: usize) -> Self {
        Self::Item(&Self::Key(&Self::Top, "task"), position)
    }
}

impl fmt::Display for FieldPath<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Top => write!(formatter, "problem"),
            Self::Key(Self::Top, key) => write!(formatter, "{}", one_line(key)),
            Self::Key(row @ Self::Line { .. }, key) => {
                write!(formatter, "{row}, {}", one_line(key))
            }
            Self::Key(Self::Origin(origin), key) if !origin.ends_with(']') => {
                write!(formatter, "{}, {}", one_line(origin), one_line(key))
            }
            Self::Key(table, key) => write!(formatter, "{table}.{}", one_line(key)),
            Self::Item(list, position) => write!(formatter, "{list}[{position}]"),
            Self::Line { file, line } => write!(formatter, "{} line {line}", one_line(file)),
            Self::Origin(origin) => write!(formatter, "{}", one_line(origin)),
        }
    }
}
