//! Bad usage or input: one clear message, exit code 2.

use outlay::problem::ProblemErrors;

/// What to tell whoever called, without the word "error".
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) String);

impl Failure {
    /// Everything wrong with one file at once, an indented line each; a table of 10^5 rows can be
    /// wrong in every one, so only the first are written out.
    pub(crate) fn many(place: &str, errors: &[String]) -> Self {
        let count = if errors.len() == 1 {
            "1 error".to_owned()
        } else {
            format!("{} errors", errors.len())
        };
        let mut text = format!("{place} has {count}");
        for error in errors.iter().take(ProblemErrors::SHOWN) {
            text.push_str("\n  ");
            text.push_str(&error.replace('\n', "\n    "));
        }
        if errors.len() > ProblemErrors::SHOWN {
            text.push_str(&format!("\n  and {} more", errors.len() - ProblemErrors::SHOWN));
        }
        Self(text)
    }

    pub(crate) fn problem(place: &str, errors: &ProblemErrors) -> Self {
        Self::many(place, &errors.0.iter().map(ToString::to_string).collect::<Vec<_>>())
    }
}

/// The library's own errors say what and where; nothing is to be added.
impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}
