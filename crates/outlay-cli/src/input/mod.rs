//! Input of the commands: problem files, CSV tables, state files and stores.

pub(crate) mod csv_table;
pub(crate) mod date;
pub(crate) mod limits;
mod problem_file;
pub(crate) mod problem_source;
#[cfg(feature = "serve")]
pub(crate) mod service;
pub(crate) mod spend_plan;
pub(crate) mod state_file;
#[cfg(feature = "serve")]
pub(crate) mod store;
pub(crate) mod task_names;
pub(crate) mod values;

pub(crate) use problem_file::{ProblemFile, check_problem_text, problem};

use std::io::Read;
use std::path::Path;

use crate::failure::Failure;

/// Reads a text file, or standard input if the path is `-`.
pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    String::from_utf8(bytes(path)?)
        .map_err(|_| cannot_read(path, &std::io::ErrorKind::InvalidData.into()))
}

/// Reads a file, or standard input if the path is `-`.
fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    let read = if is_stdin(path) {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    read.map_err(|error| cannot_read(path, &error))
}

/// Name of a file in messages.
pub(crate) fn display_name(path: &Path) -> String {
    if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// True if the path stands for standard input (or output).
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// The error that a file cannot be read.
pub(crate) fn cannot_read(path: &Path, error: &std::io::Error) -> Failure {
    Failure(format!("cannot read {}: {}", display_name(path), reason(error)))
}

/// Text of an I/O error, the same on every operating system for the common kinds.
pub(crate) fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        std::io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
        std::io::ErrorKind::InvalidData => "it is not UTF-8 text".to_owned(),
        _ => error.to_string(),
    }
}
