//! Writes a problem as a TOML file.

use crate::problem::errors::{ErrorList, FieldPath, ProblemErrorKind};
use crate::problem::{Problem, ProblemErrors};

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
                let path = FieldPath::task(position);
                errors.add(FieldPath::Key(&path, "curve"), ProblemErrorKind::CustomFunction);
            }
        }
        errors.into_result(())?;
        toml::to_string(self).map_err(|error| {
            let mut errors = ErrorList::default();
            errors.add(FieldPath::Top, ProblemErrorKind::NotToml { message: error.to_string() });
            errors.into()
        })
    }
}
