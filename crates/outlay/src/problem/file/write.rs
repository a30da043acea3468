//! Writes a problem as a TOML file.

use crate::problem::errors::ErrorList;
use crate::problem::{Problem, ProblemError, ProblemErrors};

impl Problem {
    /// The problem as a TOML document that [`Problem::from_toml`] reads back to an equal one.
    ///
    /// Files that the problem was read from are not named again: their samples and tasks are
    /// written out.
    ///
    /// # Errors
    /// If a curve is a custom function, or the horizon exceeds TOML's integers.
    pub fn to_toml(&self) -> Result<String, ProblemErrors> {
        let mut errors = ErrorList::default();
        for (position, task) in self.tasks.iter().enumerate() {
            if task.curve.is_custom() {
                let message =
                    "is a custom function, which a file cannot hold; give its points instead";
                errors.add(format!("task[{position}].curve"), message);
            }
        }
        errors.into_result(())?;
        toml::to_string(self).map_err(|error| {
            let message = format!("cannot be written as TOML: {error}");
            ProblemErrors(vec![ProblemError { path: "problem".to_owned(), message }])
        })
    }
}
