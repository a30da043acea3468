//! From what was written to what can be solved.

use super::{Problem, ProblemErrors, ProblemSpec};

impl ProblemSpec {
    /// Checks everything and returns the problem, or every error at once.
    ///
    /// # Errors
    /// Every field that is wrong, with its path.
    pub fn check(self) -> Result<Problem, ProblemErrors> {
        unimplemented!()
    }
}
