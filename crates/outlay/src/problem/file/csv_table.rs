//! CSV files that a problem names. Each is read and parsed once, even if many tasks name it.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::Files;
use super::table::cell_number;
use super::value::without_byte_order_mark;
use crate::problem::errors::ProblemErrorKind;

/// The CSV files read so far.
pub(crate) struct CsvFiles<'f> {
    files: &'f dyn Files,
    texts: HashMap<String, Result<Rc<String>, ProblemErrorKind>>,
    tables: HashMap<String, Result<Rc<CsvTable>, ProblemErrorKind>>,
}

impl<'f> CsvFiles<'f> {
    pub(crate) fn new(files: &'f dyn Files) -> Self {
        Self { files, texts: HashMap::new(), tables: HashMap::new() }
    }

    /// The text of the file at `path`, or the reason why it cannot be read.
    pub(crate) fn text(&mut self, path: &str) -> Result<Rc<String>, ProblemErrorKind> {
        if let Some(known) = self.texts.get(path) {
            return known.clone();
        }
        let read = self.files.read(path);
        let text = read.map(Rc::new).map_err(|reason| cannot_read(path, reason));
        self.texts.insert(path.to_owned(), text.clone());
        text
    }

    /// The table at `path`, or the reason why it cannot be read.
    pub(crate) fn table(&mut self, path: &str) -> Result<Rc<CsvTable>, ProblemErrorKind> {
        if let Some(known) = self.tables.get(path) {
            return known.clone();
        }
        let parse = |text: Rc<String>| {
            CsvTable::parse(&text).map(Rc::new).map_err(|reason| cannot_read(path, reason))
        };
        let table = self.text(path).and_then(parse);
        self.tables.insert(path.to_owned(), table.clone());
        table
    }
}

pub(crate) fn cannot_read(path: &str, reason: String) -> ProblemErrorKind {
    ProblemErrorKind::UnreadableFile { file: path.to_owned(), reason }
}

/// A column that a table does not have exactly once.
pub(crate) enum ColumnError {
    Missing { column: String, known: Arc<[String]> },
    Ambiguous { column: String },
}

impl ColumnError {
    /// The error of the table in `file`.
    pub(crate) fn in_file(self, file: &str) -> ProblemErrorKind {
        let file = file.to_owned();
        match self {
            Self::Missing { column, known } => {
                ProblemErrorKind::NoSuchColumn { file, column, known }
            }
            Self::Ambiguous { column } => ProblemErrorKind::AmbiguousColumn { file, column },
        }
    }
}

/// A row and the number of its first line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<'a> {
    pub(crate) line: u64,
    cells: &'a csv::StringRecord,
}

impl<'a> Row<'a> {
    /// The number of cells.
    pub(crate) fn len(self) -> usize {
        self.cells.len()
    }

    /// The cell at a column's position; empty if the row is shorter.
    pub(crate) fn cell(self, column: usize) -> &'a str {
        self.cells.get(column).unwrap_or("").trim()
    }

    /// Spreadsheets often write rows of empty cells.
    fn is_blank(self) -> bool {
        (0..self.len()).all(|column| self.cell(column).is_empty())
    }
}

/// The rows of a CSV file with a header, one at a time.
pub(crate) struct CsvRows<'t> {
    columns: Vec<String>,
    reader: csv::Reader<&'t [u8]>,
    lines: Lines<'t>,
    cells: csv::StringRecord,
}

impl<'t> CsvRows<'t> {
    /// Reads the header.
    pub(crate) fn new(text: &'t str) -> Result<Self, String> {
        let text = without_byte_order_mark(text);
        // Cells are trimmed where they are read; the CSV reader would copy every row for it.
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
        let header = reader.headers().map_err(|error| error.to_string())?;
        let columns: Vec<String> = header.iter().map(|name| name.trim().to_owned()).collect();
        if columns.is_empty() {
            return Err("it is empty; its first line must name the columns".to_owned());
        }
        Ok(Self { columns, reader, lines: Lines::new(text), cells: csv::StringRecord::new() })
    }

    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The next row that is not blank.
    pub(crate) fn next(&mut self) -> Result<Option<Row<'_>>, String> {
        while self.reader.read_record(&mut self.cells).map_err(|error| error.to_string())? {
            let cells = &self.cells;
            if !(Row { line: 0, cells }).is_blank() {
                let position = cells.position().map_or(0, |position| position.byte() as usize);
                return Ok(Some(Row { line: self.lines.at(position), cells: &self.cells }));
            }
        }
        Ok(None)
    }
}

/// The rows for each value of a column.
type Index = HashMap<String, Vec<usize>>;

/// A CSV file with a header.
pub(crate) struct CsvTable {
    columns: Arc<[String]>,
    /// The number of the first line of each row, and its cells.
    rows: Vec<(u64, csv::StringRecord)>,
    /// Indices of the columns that conditions have used, because 10^5 tasks may each select their
    /// rows from one file.
    indices: RefCell<HashMap<usize, Index>>,
}

impl CsvTable {
    fn parse(text: &str) -> Result<Self, String> {
        let mut reader = CsvRows::new(text)?;
        let mut rows = Vec::new();
        while let Some(row) = reader.next()? {
            rows.push((row.line, row.cells.clone()));
        }
        Ok(Self { columns: reader.columns.into(), rows, indices: RefCell::default() })
    }

    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }

    fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|(line, cells)| Row { line: *line, cells })
    }

    /// The position of the column `name`, or the reason why it is not unique.
    pub(crate) fn column(&self, name: &str) -> Result<usize, ColumnError> {
        let mut found = self
            .columns
            .iter()
            .enumerate()
            .filter(|(_, column)| *column == name)
            .map(|(position, _)| position);
        match (found.next(), found.next()) {
            (Some(position), None) => Ok(position),
            (Some(_), Some(_)) => Err(ColumnError::Ambiguous { column: name.to_owned() }),
            (None, _) => {
                let (column, known) = (name.to_owned(), Arc::clone(&self.columns));
                Err(ColumnError::Missing { column, known })
            }
        }
    }

    /// The rows that meet every condition `(column, cell)`, in the file's order.
    pub(crate) fn rows_where(&self, conditions: &[(usize, String)]) -> Vec<Row<'_>> {
        let conditions: Vec<(usize, Cow<'_, str>)> =
            conditions.iter().map(|(column, cell)| (*column, comparable(cell))).collect();
        let meets = |row: &Row<'_>| {
            conditions.iter().all(|(column, cell)| comparable(row.cell(*column)) == *cell)
        };
        let mut indices = self.indices.borrow_mut();
        for (column, _) in &conditions {
            indices.entry(*column).or_insert_with(|| self.index(*column));
        }
        let candidates = conditions.iter().map(|(column, cell)| rows_at(&indices, *column, cell));
        match candidates.min_by_key(|rows| rows.len()) {
            Some(rows) => {
                let rows = rows.iter().filter_map(|&row| self.rows.get(row));
                rows.map(|(line, cells)| Row { line: *line, cells }).filter(meets).collect()
            }
            None => self.rows().collect(),
        }
    }

    fn index(&self, column: usize) -> Index {
        let mut index = Index::new();
        for (position, row) in self.rows().enumerate() {
            index.entry(comparable(row.cell(column)).into_owned()).or_default().push(position);
        }
        index
    }
}

fn rows_at<'i>(indices: &'i HashMap<usize, Index>, column: usize, cell: &str) -> &'i [usize] {
    indices.get(&column).and_then(|index| index.get(cell)).map_or(&[], Vec::as_slice)
}

/// Counts the lines up to increasing positions in a text. (After empty lines or Windows line ends,
/// the line number of the CSV reader itself is that of the row before.)
struct Lines<'t> {
    rest: &'t [u8],
    passed: usize,
    line: u64,
}

impl<'t> Lines<'t> {
    fn new(text: &'t str) -> Self {
        Self { rest: text.as_bytes(), passed: 0, line: 1 }
    }

    /// The line of the first character at or after `position` that is not a line end.
    fn at(&mut self, position: usize) -> u64 {
        let (before, rest) =
            self.rest.split_at(position.saturating_sub(self.passed).min(self.rest.len()));
        let is_line_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
        let ends = rest.iter().position(|byte| !is_line_end(byte)).unwrap_or(rest.len());
        let (ends, rest) = rest.split_at(ends);
        self.line += (newlines(before) + newlines(ends)) as u64;
        self.passed += before.len() + ends.len();
        self.rest = rest;
        self.line
    }
}

fn newlines(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte == b'\n').count()
}

/// The form in which cells are compared: numbers by value (3, 3.0 and "3" are equal), others as
/// text.
fn comparable(cell: &str) -> Cow<'_, str> {
    let cell = cell.trim();
    match cell_number(cell) {
        // Adding zero turns -0 into 0.
        Some(number) if number.is_finite() => Cow::Owned((number + 0.0).to_string()),
        _ => Cow::Borrowed(cell),
    }
}
