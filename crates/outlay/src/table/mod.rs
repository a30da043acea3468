//! Tables in CSV files, in the forms that spreadsheets and databases write.
//!
//! [`decode`] turns the bytes of a file into text: UTF-8, UTF-16 or Windows-1252. [`TableReader`]
//! detects the separator (`,`, `;` or tab) and decimal commas, skips rows without content, and
//! knows the line of every row. Everything that could be read in two ways is an error.
//!
//! ```
//! use outlay::table::{Decimal, TableReader, decode};
//! let text = decode("task;spend\r\nsearch;12,5\r\n;\r\n".into())?.text;
//! let mut table = TableReader::new(&text, None)?;
//! assert_eq!((table.separator(), table.decimal()), (b';', Some(Decimal::Comma)));
//! let spend = table.column("spend").unwrap();
//! let row = table.next_row()?.unwrap();
//! assert_eq!((row.line(), row.number(spend)), (2, Ok(12.5)));
//! assert!(table.next_row()?.is_none());
//! # Ok::<(), outlay::table::TableError>(())
//! ```

mod dialect;
mod encoding;
mod lines;
mod number;
mod reader;

pub use encoding::{Decoded, Encoding, FileFormat, decode};
pub use number::{Decimal, NumberError, parse_flag, parse_number};
pub use reader::{Row, TableReader};

use crate::text::one_line;

/// A file that cannot be read as a table. The message follows "cannot read FILE: ".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The file has another format.
    #[error("it is {0}")]
    NotCsv(FileFormat),
    /// The file starts as UTF-16 text but is not.
    #[error("it starts as UTF-16 text but is not valid UTF-16; save it as UTF-8")]
    InvalidUtf16,
    /// The file is not text.
    #[error("it is not text; save the table as CSV in UTF-8")]
    NotText,
    /// The file has no header.
    #[error("it is empty; its first line must name the columns")]
    Empty,
    /// Two columns have the same name.
    #[error("the column `{}` appears twice; rename one", one_line(.column))]
    RepeatedColumn {
        /// The name of the columns.
        column: String,
    },
    /// Invalid CSV.
    #[error("{message}")]
    Csv {
        /// The message of the CSV parser.
        message: String,
    },
}

impl From<csv::Error> for TableError {
    fn from(error: csv::Error) -> Self {
        Self::Csv { message: one_line(&error.to_string()) }
    }
}
