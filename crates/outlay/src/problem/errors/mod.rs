//! Errors of a problem: all of them at once, each with the path of its field.

mod kind;
mod path;
mod value;

pub use kind::{LowerBoundKeys, ProblemErrorKind};
pub(super) use path::FieldPath;
pub use value::{ExpectedType, FoundValue};

use std::fmt;

use crate::curve::{CurveError, NumberRange};
use crate::text::{nearest, one_line};

/// One error of a problem.
///
/// ```
/// use outlay::Problem;
/// use outlay::problem::{ExpectedType, NoFiles, ProblemErrorKind};
/// let errors = Problem::from_json(r#"{ "budget": true }"#, &NoFiles).unwrap_err();
/// let budget = &errors.0[0];
/// assert_eq!(budget.path, "budget");
/// assert!(matches!(
///     budget.kind,
///     ProblemErrorKind::WrongType { expected: ExpectedType::Number, .. }
/// ));
/// assert_eq!(budget.to_string(), "budget: must be a number, not true");
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{path}: {kind}")]
pub struct ProblemError {
    /// The path: `budget`, `task[2].curve.half_at` (counted from zero), `tasks.csv line 7, max`,
    /// `line 3, column 7`.
    pub path: String,
    /// The kind of error. Its `Display` is one line.
    pub kind: ProblemErrorKind,
}

/// All errors of a problem, at least one.
///
/// `Display` writes one error per line: the first [`ProblemErrors::SHOWN`], then the number of the
/// others.
#[derive(Debug, Clone, PartialEq)]
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
    fn from(CurveError { field, kind }: CurveError) -> Self {
        Self(vec![ProblemError { path: field, kind: kind.into() }])
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
    pub(super) fn add(&mut self, path: impl fmt::Display, kind: impl Into<ProblemErrorKind>) {
        self.0.push(ProblemError { path: path.to_string(), kind: kind.into() });
    }

    /// Adds the error of a number outside its range.
    pub(super) fn out_of_range(
        &mut self,
        path: impl fmt::Display,
        number: f64,
        expected: NumberRange,
    ) {
        self.add(path, ProblemErrorKind::OutOfRange { number, expected });
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
