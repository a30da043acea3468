//! A problem back into a file.

use super::errors::Faults;
use super::{Problem, ProblemError, ProblemErrors};
use crate::curve::Family;

impl Problem {
    /// The problem as a TOML document that [`Problem::from_toml`] reads back to an equal one.
    ///
    /// Files that the problem was read from are not named again: their samples and tasks are
    /// written out.
    ///
    /// # Errors
    /// If a curve is a function of the user's own, or the horizon is beyond TOML's integers.
    pub fn to_toml(&self) -> Result<String, ProblemErrors> {
        let mut faults = Faults::default();
        for (position, task) in self.tasks.iter().enumerate() {
            if matches!(task.curve.family(), Family::Custom(_)) {
                let message =
                    "is a function of your own, which no file can hold: give its points instead";
                faults.add(format!("task[{position}].curve"), message);
            }
        }
        faults.settle(())?;
        toml::to_string(self).map_err(|error| {
            let message = format!("cannot be written as TOML: {error}");
            ProblemErrors(vec![ProblemError { path: "problem".to_owned(), message }])
        })
    }
}
