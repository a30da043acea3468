//! Error of a command: one message, exit code 2.

use outlay::problem::ProblemErrors;

/// The error message, without the prefix "error: ".
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) String);

impl Failure {
    /// All errors of one file, one indented line each. Only the first ones are listed, because a
    /// table can have an error in every row.
    pub(crate) fn many(file: &str, errors: &[String]) -> Self {
        let count = if errors.len() == 1 {
            "1 error".to_owned()
        } else {
            format!("{} errors", errors.len())
        };
        let mut text = format!("{file} has {count}");
        for error in errors.iter().take(ProblemErrors::SHOWN) {
            text.push_str("\n  ");
            text.push_str(&error.replace('\n', "\n    "));
        }
        if errors.len() > ProblemErrors::SHOWN {
            text.push_str(&format!("\n  and {} more", errors.len() - ProblemErrors::SHOWN));
        }
        Self(text)
    }

    /// All errors of a problem file.
    pub(crate) fn problem(file: &str, errors: &ProblemErrors) -> Self {
        Self::many(file, &errors.0.iter().map(ToString::to_string).collect::<Vec<_>>())
    }
}

/// Errors of the library are complete sentences; nothing is added.
impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}
