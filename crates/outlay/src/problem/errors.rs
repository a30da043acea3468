//! Errors of a problem: all of them at once, each with the path of its field.

use std::fmt;

use crate::curve::CurveError;
use crate::text::{nearest, one_line};

/// One error of a problem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct ProblemError {
    /// The path: `budget`, `task[2].curve.half_at` (counted from zero), `tasks.csv line 7, max`,
    /// `line 3, column 7`.
    pub path: String,
    /// The error and the expected form, in one line.
    pub message: String,
}

/// All errors of a problem, at least one.
///
/// `Display` writes one error per line: the first [`ProblemErrors::SHOWN`], then the number of the
/// others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProblemErrors(pub Vec<ProblemError>);

impl ProblemErrors {
    /// The number of errors displayed. A table of 10^5 rows can be wrong in every row.
    pub const SHOWN: usize = 20;
}

impl fmt::Display for ProblemErrors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, error) in self.0.iter().take(Self::SHOWN).enumerate() {
            if position > 0 {
                writeln!(formatter)?;
            }
            write!(formatter, "{error}")?;
        }
        match self.0.len().saturating_sub(Self::SHOWN) {
            0 => Ok(()),
            more => write!(formatter, "\nand {more} more"),
        }
    }
}

impl std::error::Error for ProblemErrors {}

impl From<CurveError> for ProblemErrors {
    fn from(CurveError { field, message }: CurveError) -> Self {
        Self(vec![ProblemError { path: field, message }])
    }
}

/// A name that no task of the problem has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownTask {
    /// The unknown name.
    pub name: String,
    /// The task that was probably meant.
    pub nearest: Option<String>,
}

impl UnknownTask {
    pub(super) fn of<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Self {
        let nearest = nearest(name, known).map(str::to_owned);
        Self { name: name.to_owned(), nearest }
    }
}

impl fmt::Display for UnknownTask {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "no task is named {}", one_line(&self.name))?;
        match &self.nearest {
            Some(nearest) => write!(formatter, "; did you mean {}?", one_line(nearest)),
            None => Ok(()),
        }
    }
}

impl std::error::Error for UnknownTask {}

/// The errors found so far.
#[derive(Debug, Default)]
pub(super) struct ErrorList(Vec<ProblemError>);

impl ErrorList {
    pub(super) fn add(&mut self, path: impl fmt::Display, message: impl Into<String>) {
        self.0.push(ProblemError { path: path.to_string(), message: message.into() });
    }

    /// Whether the field at `path` has an error, so that its consequences are not checked.
    pub(super) fn has(&self, path: &str) -> bool {
        self.0.iter().any(|error| error.path == path)
    }

    /// Adds the errors of another list.
    pub(super) fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }

    /// The value, or the errors if there are any.
    pub(super) fn into_result<T>(self, value: T) -> Result<T, ProblemErrors> {
        if self.0.is_empty() { Ok(value) } else { Err(ProblemErrors(self.0)) }
    }
}

impl From<ErrorList> for ProblemErrors {
    fn from(errors: ErrorList) -> Self {
        Self(errors.0)
    }
}

/// The path of a field. It is formatted only for an error.
#[derive(Debug, Clone, Copy)]
pub(super) enum FieldPath<'a> {
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
    pub(super) fn task(position: usize) -> Self {
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
