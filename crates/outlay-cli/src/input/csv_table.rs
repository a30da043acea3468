//! CSV files with named columns. All errors of a file are collected with their line numbers.

use std::cell::RefCell;
use std::path::Path;

use outlay::table::{
    Decimal, Encoding, NumberError, Row, TableError, TableReader, decode, parse_flag,
};
use outlay::text::{listed, nearest};

use super::{bytes, display_name};
use crate::failure::Failure;

/// Up to here all whole numbers are exact in floating point.
const MAX_WHOLE: f64 = 9_007_199_254_740_992.0;

/// A CSV file as text.
pub(crate) struct CsvFile {
    /// Name of the file in messages.
    pub(crate) name: String,
    text: String,
    /// Remark on the encoding.
    pub(crate) remark: Option<String>,
}

impl CsvFile {
    /// Reads a file, or standard input if the path is `-`.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let name = display_name(path);
        let decoded = decode(bytes(path)?)
            .map_err(|error| Failure(format!("cannot read {name}: {error}")))?;
        let remark = (decoded.encoding == Encoding::Windows1252).then(|| {
            format!(
                "{name} is not UTF-8 and was read as Windows-1252 (Latin-1); if letters are \
                 wrong, save it as UTF-8"
            )
        });
        Ok(Self { name, text: decoded.text, remark })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// The form of a CSV file, as far as flags set it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CsvForm<'a> {
    pub(crate) decimal: Option<Decimal>,
    /// Word for true, besides 1 and true.
    pub(crate) true_word: Option<&'a str>,
}

/// A CSV file whose header has been read.
pub(crate) struct CsvTable<'a> {
    reader: TableReader<'a>,
    file_name: &'a str,
    true_word: Option<&'a str>,
}

/// One row.
pub(crate) struct CsvRow<'a> {
    row: Row<'a>,
    words: &'a Words<'a>,
    /// Line number; the first line of the file is 1.
    pub(crate) line: u64,
}

/// The words for true and false.
struct Words<'a> {
    true_word: Option<&'a str>,
    /// The first other word of the column. It means false if there is a word for true.
    false_word: RefCell<Option<String>>,
}

impl<'a> CsvTable<'a> {
    /// Reads the header.
    pub(crate) fn new(file: &'a CsvFile, form: CsvForm<'a>) -> Result<Self, Failure> {
        let file_name = &file.name;
        let reader = TableReader::new(&file.text, form.decimal).map_err(|error| match error {
            TableError::RepeatedColumn { .. } => {
                Failure::many(file_name, &[format!("line 1: {error}")])
            }
            error => Failure(format!("cannot read {file_name}: {error}")),
        })?;
        Ok(Self { reader, file_name, true_word: form.true_word })
    }

    /// The names of the columns.
    pub(crate) fn columns(&self) -> &[String] {
        self.reader.columns()
    }

    /// Position of a required column; `expected_columns` explains the error message.
    pub(crate) fn column(&self, name: &str, expected_columns: &str) -> Result<usize, Failure> {
        self.optional(name).ok_or_else(|| {
            let found: Vec<&str> = self.columns().iter().map(String::as_str).collect();
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
        self.reader.column(name)
    }

    /// Passes every row to `take` and returns all errors with their line numbers.
    pub(crate) fn each(
        mut self,
        mut take: impl FnMut(&CsvRow<'_>) -> Result<(), String>,
    ) -> Vec<String> {
        let mut errors = Vec::new();
        let columns = self.columns().len();
        let words = Words { true_word: self.true_word, false_word: RefCell::default() };
        loop {
            match self.reader.next_row() {
                Ok(None) => break,
                Ok(Some(row)) => {
                    let row = CsvRow { row, words: &words, line: row.line() };
                    if let Err(message) = row.check_length(columns).and_then(|()| take(&row)) {
                        errors.push(format!("line {}: {message}", row.line));
                    }
                }
                Err(error) => {
                    errors.push(error.to_string());
                    break;
                }
            }
        }
        errors
    }
}

impl CsvRow<'_> {
    fn check_length(&self, columns: usize) -> Result<(), String> {
        match self.row.cell_count(columns) {
            count if count == columns => Ok(()),
            1 => Err(format!("1 field, but the header has {columns}")),
            count => Err(format!("{count} fields, but the header has {columns}")),
        }
    }

    pub(crate) fn text(&self, column: usize) -> &str {
        self.row.cell(column)
    }

    /// A finite, non-negative number; `what` is its name in messages.
    pub(crate) fn amount(&self, column: usize, what: &str) -> Result<f64, String> {
        let text = self.text(column);
        match self.row.number(column) {
            Ok(amount) if amount >= 0.0 && amount.is_finite() => Ok(amount),
            Ok(_) => Err(format!("{what}: must be finite and not negative, not \"{text}\"")),
            Err(_) if text.is_empty() => Err(format!("{what}: is empty; give a number")),
            Err(error) => Err(format!("{what}: must be a number, not \"{text}\"{}", hint(error))),
        }
    }

    /// A positive whole number; `what` is its name in messages.
    pub(crate) fn count(&self, column: usize, what: &str) -> Result<u64, String> {
        self.whole(column, what, 1)
    }

    /// A whole number, which may be zero; `what` is its name in messages.
    pub(crate) fn count_or_zero(&self, column: usize, what: &str) -> Result<u64, String> {
        self.whole(column, what, 0)
    }

    /// A whole number of at least `least`. Some programs write it as 3.0.
    fn whole(&self, column: usize, what: &str, least: u64) -> Result<u64, String> {
        let text = self.text(column);
        let number = self.row.number(column);
        let whole = number
            .ok()
            .filter(|number| number.fract() == 0.0 && (least as f64..=MAX_WHOLE).contains(number));
        whole.map(|number| number as u64).ok_or_else(|| {
            let hint = number.err().map(hint).unwrap_or_default();
            format!("{what}: must be a whole number of at least {least}, not \"{text}\"{hint}")
        })
    }

    /// A truth value; `what` is its name in messages.
    pub(crate) fn flag(&self, column: usize, what: &str) -> Result<bool, String> {
        let text = self.text(column);
        if let Some(flag) = parse_flag(text) {
            return Ok(flag);
        }
        let Some(true_word) = self.words.true_word else {
            let hint = if text.is_empty() || text.parse::<f64>().is_ok() {
                String::new()
            } else {
                "; if a word means success, give it with --true".to_owned()
            };
            return Err(format!("{what}: must be 1 or 0 (or true, false), not \"{text}\"{hint}"));
        };
        if text.to_lowercase() == true_word.to_lowercase() {
            return Ok(true);
        }
        if text.is_empty() {
            return Err(format!("{what}: is empty; give {true_word}, or another word for failure"));
        }
        let mut other = self.words.false_word.borrow_mut();
        match &*other {
            None => {
                *other = Some(text.to_owned());
                Ok(false)
            }
            Some(other) if text.to_lowercase() == other.to_lowercase() => Ok(false),
            Some(other) => Err(format!(
                "{what}: must be {true_word} (--true) or {other} as in the rows before, not \
                 \"{text}\""
            )),
        }
    }
}

/// Advice after a cell that is not a number.
fn hint(error: NumberError) -> String {
    match error {
        NumberError::NotANumber => String::new(),
        NumberError::DecimalComma => "; with decimal commas add --decimal ,".to_owned(),
        NumberError::Ambiguous => {
            "; add --decimal , if its comma is a decimal comma, or remove the thousands separator"
                .to_owned()
        }
        error => format!("; {error}"),
    }
}
