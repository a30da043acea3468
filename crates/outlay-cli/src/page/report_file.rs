//! The file a report goes to.

use std::path::Path;

use crate::failure::Failure;
use crate::input;
use crate::whole_file::write_whole;

/// A place that was looked at before anything was computed.
#[derive(Debug)]
pub(crate) struct ReportFile<'arguments>(&'arguments Path);

impl<'arguments> ReportFile<'arguments> {
    /// Where `--report` says, if it says anything; `inputs` are files that must not be overwritten.
    pub(crate) fn new(
        report: Option<&'arguments Path>,
        inputs: &[&Path],
    ) -> Result<Option<Self>, Failure> {
        let Some(path) = report else { return Ok(None) };
        if input::is_stdin(path) {
            return Err(Failure(
                "--report: a report is a file, give its name; results go to standard output"
                    .to_owned(),
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
                "--report: {} is read by this command, give another file",
                input.display()
            ))),
            None => Ok(Some(Self(path))),
        }
    }

    /// Writes the page, and returns the remark on where it is.
    pub(crate) fn write(&self, html: &str) -> Result<String, Failure> {
        write_whole(self.0, html.as_bytes())?;
        Ok(format!("report: {}", self.0.display()))
    }
}
