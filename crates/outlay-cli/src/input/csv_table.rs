//! CSV files with named columns. All errors of a file are collected with their line numbers.

use crate::failure::Failure;
use outlay::text::{listed, nearest};

/// A CSV file whose header has been read.
pub(crate) struct CsvTable<'a> {
    reader: csv::Reader<&'a [u8]>,
    header: csv::StringRecord,
    file_name: &'a str,
}

/// One row.
pub(crate) struct CsvRow<'a> {
    record: &'a csv::StringRecord,
    /// Line number; the header is line 1.
    pub(crate) line: u64,
}

impl<'a> CsvTable<'a> {
    /// Reads the header of `text`; `file_name` is the name of the file in messages.
    pub(crate) fn new(file_name: &'a str, text: &'a str) -> Result<Self, Failure> {
        let mut reader = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            .from_reader(text.trim_start_matches('\u{feff}').as_bytes());
        let header =
            reader.headers().map_err(|error| Failure::many(file_name, &[broken(&error)]))?.clone();
        Ok(Self { reader, header, file_name })
    }

    /// Position of a required column; `expected_columns` explains the error message.
    pub(crate) fn column(&self, name: &str, expected_columns: &str) -> Result<usize, Failure> {
        self.optional(name).ok_or_else(|| {
            let found: Vec<&str> = self.header.iter().collect();
            let hint = nearest(name, found.iter().copied())
                .map(|near| format!("; did you mean {near}?"))
                .unwrap_or_default();
            let error = format!(
                "line 1: no column {name} ({expected_columns}); the file has {}{hint}",
                listed(&found)
            );
            Failure::many(self.file_name, &[error])
        })
    }

    /// Position of an optional column.
    pub(crate) fn optional(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|column| column == name)
    }

    /// Passes every row to `take` and returns all errors with their line numbers.
    pub(crate) fn each(
        mut self,
        mut take: impl FnMut(&CsvRow<'_>) -> Result<(), String>,
    ) -> Vec<String> {
        let mut errors = Vec::new();
        let mut record = csv::StringRecord::new();
        loop {
            match self.reader.read_record(&mut record) {
                Ok(false) => break,
                Ok(true) => {
                    let row = CsvRow {
                        record: &record,
                        line: record.position().map_or(0, csv::Position::line),
                    };
                    if let Err(message) = take(&row) {
                        errors.push(format!("line {}: {message}", row.line));
                    }
                }
                Err(error) => errors.push(broken(&error)),
            }
        }
        errors
    }
}

impl CsvRow<'_> {
    pub(crate) fn text(&self, column: usize) -> &str {
        self.record.get(column).unwrap_or_default()
    }

    /// A finite, non-negative number; `what` is its name in messages.
    pub(crate) fn amount(&self, column: usize, what: &str) -> Result<f64, String> {
        let text = self.text(column);
        match text.parse::<f64>() {
            Ok(amount) if amount >= 0.0 && amount.is_finite() => Ok(amount),
            Ok(amount) => Err(format!("{what}: must be finite and not negative, not {amount}")),
            Err(_) if text.is_empty() => Err(format!("{what}: is empty; give a number")),
            Err(_) => Err(format!("{what}: must be a number, not \"{text}\"")),
        }
    }

    /// A positive whole number; `what` is its name in messages.
    pub(crate) fn count(&self, column: usize, what: &str) -> Result<u64, String> {
        let text = self.text(column);
        match text.parse::<u64>() {
            Ok(count) if count >= 1 => Ok(count),
            _ => Err(format!("{what}: must be a whole number of at least 1, not \"{text}\"")),
        }
    }

    /// A truth value; `what` is its name in messages.
    pub(crate) fn flag(&self, column: usize, what: &str) -> Result<bool, String> {
        match self.text(column).to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" => Ok(true),
            "0" | "false" | "no" => Ok(false),
            other => {
                Err(format!("{what}: must be 1 or 0 (or true, false, yes, no), not \"{other}\""))
            }
        }
    }
}

/// Message of a CSV error, shorter than the library's for the common kinds.
fn broken(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            format!("line {line}: {len} fields, but the header has {expected_len}")
        }
        csv::ErrorKind::Utf8 { pos, .. } => {
            format!("line {}: is not UTF-8 text", pos.as_ref().map_or(0, csv::Position::line))
        }
        _ => error.to_string(),
    }
}
