//! Output of a command and its formats.

use clap::ValueEnum;
use serde::{Serialize, Serializer};

use crate::failure::Failure;

/// Output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned columns with rounded numbers
    Table,
    /// One JSON object with all digits
    Json,
    /// Comma-separated values with all digits
    Csv,
}

/// Result for standard output and remarks for standard error.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) result: String,
    pub(crate) remarks: Vec<String>,
    /// Determines the exit code.
    pub(crate) ending: Ending,
}

/// How a command ended, if it did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Success,
    /// The command ran, but a check failed.
    CheckFailed,
    /// The user interrupted the command.
    Interrupted,
}

impl CommandOutput {
    pub(crate) fn new(result: String) -> Self {
        Self { result, remarks: Vec::new(), ending: Ending::Success }
    }

    pub(crate) fn with_remarks(mut self, remarks: Vec<String>) -> Self {
        self.remarks = remarks;
        self
    }
}

/// One indented JSON object with all digits.
pub(crate) fn json(record: &impl Serialize) -> Result<String, Failure> {
    let mut text = serde_json::to_string_pretty(record)?;
    text.push('\n');
    Ok(text)
}

/// A header and one line per row.
pub(crate) fn csv<R: Serialize>(rows: impl IntoIterator<Item = R>) -> Result<String, Failure> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row)?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

/// Serializes a number, with 0 for subnormal numbers: they are results of underflow.
pub(crate) fn without_underflow<S: Serializer>(
    number: &f64,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(if number.is_subnormal() { 0.0 } else { *number })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Record {
        #[serde(serialize_with = "without_underflow")]
        price: f64,
    }

    #[test]
    fn subnormal_numbers_are_written_as_zero() {
        let written =
            |price: f64| (json(&Record { price }).unwrap(), csv([Record { price }]).unwrap());
        let zero = ("{\n  \"price\": 0.0\n}\n".to_owned(), "price\n0.0\n".to_owned());
        assert_eq!(written(6.577e-319), zero);
        assert_eq!(written(f64::MIN_POSITIVE).1, "price\n2.2250738585072014e-308\n");
        assert_eq!(written(f64::INFINITY).0, "{\n  \"price\": null\n}\n");
    }
}
