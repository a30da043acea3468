//! What a command has to say, before anything is written.

use clap::ValueEnum;
use serde::Serialize;

use crate::failure::Failure;

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people: aligned columns, few digits
    Table,
    /// For programs: one object, all digits
    Json,
    /// For spreadsheets: one row a line, all digits
    Csv,
}

/// The result for standard output and remarks for standard error.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) result: String,
    pub(crate) remarks: Vec<String>,
    /// How it ended; decides the exit code.
    pub(crate) ending: Ending,
}

/// How a command that ran has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Done,
    /// What was to be checked does not hold.
    CheckFailed,
    /// Somebody stopped it.
    Stopped,
}

impl Report {
    pub(crate) fn new(result: String) -> Self {
        Self { result, remarks: Vec::new(), ending: Ending::Done }
    }

    pub(crate) fn with_remarks(mut self, remarks: Vec<String>) -> Self {
        self.remarks = remarks;
        self
    }
}

/// One JSON object, indented, with all digits.
pub(crate) fn json(record: &impl Serialize) -> Result<String, Failure> {
    let mut text = serde_json::to_string_pretty(record)?;
    text.push('\n');
    Ok(text)
}

/// A header and one line a row.
pub(crate) fn csv<R: Serialize>(rows: impl IntoIterator<Item = R>) -> Result<String, Failure> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row)?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}
