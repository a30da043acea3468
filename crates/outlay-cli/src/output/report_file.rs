//! The file given by `--report`.

use std::path::Path;

use crate::failure::Failure;
use crate::input;
use crate::output::atomic_file::write_atomically;

/// A report path that was validated before the computation.
#[derive(Debug)]
pub(crate) struct ReportFile<'a>(&'a Path);

impl<'a> ReportFile<'a> {
    /// Validates the path; `inputs` are files that must not be overwritten.
    pub(crate) fn new(report: Option<&'a Path>, inputs: &[&Path]) -> Result<Option<Self>, Failure> {
        let Some(path) = report else { return Ok(None) };
        if input::is_stdin(path) {
            return Err(Failure(
                "--report: give the name of a file; standard output is used for results".to_owned(),
            ));
        }
        if path.is_dir() {
            return Err(Failure(format!("cannot write {}: it is a directory", path.display())));
        }
        let is_same = |input: &&&Path| match (path.canonicalize(), input.canonicalize()) {
            (Ok(report), Ok(input)) => report == input,
            _ => false,
        };
        match inputs.iter().find(is_same) {
            Some(input) => Err(Failure(format!(
                "--report: {} is an input of this command; give another file",
                input.display()
            ))),
            None => Ok(Some(Self(path))),
        }
    }

    /// Writes the page and returns a remark with its path.
    pub(crate) fn write(&self, html: &str) -> Result<String, Failure> {
        write_atomically(self.0, html.as_bytes())?;
        Ok(format!("report: {}", self.0.display()))
    }
}
