//! What is wrong with a problem: every error at once, each with the path of its field.

use std::fmt;

/// One thing wrong with a problem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct ProblemError {
    /// Where: `budget`, `task[2].curve.half_at` (counted from zero), `tasks.csv line 7, max`, `line
    /// 3, column 7`.
    pub path: String,
    /// What is wrong and what would be right, in one line.
    pub message: String,
}

/// Everything wrong with a problem, at least one thing.
///
/// Displayed one error a line: the first [`ProblemErrors::SHOWN`], then how many more there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProblemErrors(pub Vec<ProblemError>);

impl ProblemErrors {
    /// How many errors are displayed: a table of 10^5 rows can be wrong in every one.
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

/// The errors found so far.
#[derive(Debug, Default)]
pub(super) struct Faults(Vec<ProblemError>);

impl Faults {
    pub(super) fn add(&mut self, place: impl fmt::Display, message: impl Into<String>) {
        self.0.push(ProblemError { path: place.to_string(), message: message.into() });
    }

    /// Whether the field at `path` is known to be wrong: then nothing that follows from it is
    /// judged.
    pub(super) fn has(&self, path: &str) -> bool {
        self.0.iter().any(|error| error.path == path)
    }

    /// The value if nothing was wrong.
    pub(super) fn settle<T>(self, value: T) -> Result<T, ProblemErrors> {
        if self.0.is_empty() { Ok(value) } else { Err(ProblemErrors(self.0)) }
    }
}

/// Where something was written. Spelled out only when something is wrong there.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place<'a> {
    /// The document itself.
    Top,
    /// A key of a table.
    Key(&'a Place<'a>, &'a str),
    /// An item of a list, counted from zero.
    Item(&'a Place<'a>, usize),
    /// A line of a file.
    Line { file: &'a str, line: u64 },
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Top => write!(formatter, "problem"),
            Self::Key(Self::Top, key) => write!(formatter, "{}", one_line(key)),
            Self::Key(row @ Self::Line { .. }, key) => {
                write!(formatter, "{row}, {}", one_line(key))
            }
            Self::Key(table, key) => write!(formatter, "{table}.{}", one_line(key)),
            Self::Item(list, position) => write!(formatter, "{list}[{position}]"),
            Self::Line { file, line } => write!(formatter, "{} line {line}", one_line(file)),
        }
    }
}

/// Somebody's text, fit for a message of one line: control characters become spaces.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect()
}
