//! The rows of a table.

use std::collections::HashSet;

use super::TableError;
use super::dialect::{decimal, declared_separator, separator};
use super::lines::Lines;
use super::number::{Decimal, NumberError, parse_number};

/// The rows of a CSV file with a header, one at a time. Rows without content are skipped.
pub struct TableReader<'t> {
    columns: Vec<String>,
    separator: u8,
    decimal: Option<Decimal>,
    reader: csv::Reader<&'t [u8]>,
    lines: Lines<'t>,
    /// The length of the lines before the header.
    skipped: usize,
    cells: csv::StringRecord,
}

impl<'t> TableReader<'t> {
    /// Reads the header. The decimal sign is detected if it is not given.
    ///
    /// # Errors
    /// If there is no header, or two of its columns have the same name.
    pub fn new(text: &'t str, decimal_sign: Option<Decimal>) -> Result<Self, TableError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let declared = declared_separator(text);
        let skipped = declared.map_or(0, |(_, length)| length);
        let rest = text.get(skipped..).unwrap_or("");
        let separator = declared.map_or_else(|| separator(rest), |(separator, _)| separator);
        // Cells are trimmed where they are read; the CSV parser would copy every row for it.
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .delimiter(separator)
            .from_reader(rest.as_bytes());
        let columns: Vec<String> =
            reader.headers()?.iter().map(|name| name.trim().to_owned()).collect();
        if columns.iter().all(String::is_empty) {
            return Err(TableError::Empty);
        }
        let mut seen = HashSet::new();
        let mut named = columns.iter().filter(|column| !column.is_empty());
        if let Some(column) = named.find(|column| !seen.insert(column.as_str())) {
            return Err(TableError::RepeatedColumn { column: column.clone() });
        }
        Ok(Self {
            decimal: decimal_sign.or_else(|| decimal(rest, separator)),
            columns,
            separator,
            reader,
            lines: Lines::new(text),
            skipped,
            cells: csv::StringRecord::new(),
        })
    }

    /// The names of the columns, without spaces around them.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The position of a column.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<usize> {
        let name = name.trim();
        self.columns.iter().position(|column| column == name)
    }

    /// The separator of the cells.
    #[must_use]
    pub fn separator(&self) -> u8 {
        self.separator
    }

    /// The decimal sign; `None` if the table does not show it.
    #[must_use]
    pub fn decimal(&self) -> Option<Decimal> {
        self.decimal
    }

    /// The next row with content.
    ///
    /// # Errors
    /// If the file is not valid CSV.
    pub fn next_row(&mut self) -> Result<Option<Row<'_>>, TableError> {
        let decimal = self.decimal;
        while self.reader.read_record(&mut self.cells)? {
            if !is_blank(&self.cells) {
                let position = self.cells.position().map_or(0, |position| position.byte() as usize);
                let line = self.lines.at(self.skipped + position);
                return Ok(Some(Row { line, cells: &self.cells, decimal }));
            }
        }
        Ok(None)
    }
}

fn is_blank(cells: &csv::StringRecord) -> bool {
    cells.iter().all(|cell| cell.trim().is_empty())
}

/// One row.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    line: u64,
    cells: &'a csv::StringRecord,
    decimal: Option<Decimal>,
}

impl<'a> Row<'a> {
    /// A row that was kept.
    pub(crate) fn of(line: u64, cells: &'a csv::StringRecord, decimal: Option<Decimal>) -> Self {
        Self { line, cells, decimal }
    }

    /// A copy of the cells.
    pub(crate) fn cells(self) -> csv::StringRecord {
        self.cells.clone()
    }

    /// The number of the first line of the row. The first line of the file is 1.
    #[must_use]
    pub fn line(self) -> u64 {
        self.line
    }

    /// The number of cells. Empty ones at the end beyond `columns` do not count.
    #[must_use]
    pub fn cell_count(self, columns: usize) -> usize {
        let is_empty = |column: usize| self.cell(column).is_empty();
        (columns..self.cells.len())
            .rev()
            .find(|column| !is_empty(*column))
            .map_or(self.cells.len().min(columns), |last| last + 1)
    }

    /// The cell of a column without spaces around it; empty if the row is shorter.
    #[must_use]
    pub fn cell(self, column: usize) -> &'a str {
        self.cells.get(column).unwrap_or("").trim()
    }

    /// The number in the cell of a column.
    ///
    /// # Errors
    /// If the cell is not a number in the form of this table.
    pub fn number(self, column: usize) -> Result<f64, NumberError> {
        parse_number(self.cell(column), self.decimal)
    }

    /// The decimal sign of the table.
    #[must_use]
    pub fn decimal(self) -> Option<Decimal> {
        self.decimal
    }
}
