//! CSV files that a problem names. Each is read and parsed once, even if many tasks name it.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::Files;
use super::table::cell_number;
use super::value::without_byte_order_mark;
use crate::text::{did_you_mean, one_line};

/// The CSV files read so far.
pub(crate) struct CsvFiles<'f> {
    files: &'f dyn Files,
    tables: HashMap<String, Result<Rc<CsvTable>, String>>,
}

impl<'f> CsvFiles<'f> {
    pub(crate) fn new(files: &'f dyn Files) -> Self {
        Self { files, tables: HashMap::new() }
    }

    /// The table at `path`, or the reason why it cannot be read.
    pub(crate) fn table(&mut self, path: &str) -> Result<Rc<CsvTable>, String> {
        if let Some(known) = self.tables.get(path) {
            return known.clone();
        }
        let read = self.files.read(path).and_then(|text| CsvTable::parse(&text));
        let table = read
            .map(Rc::new)
            .map_err(|reason| format!("cannot read `{}`: {}", one_line(path), one_line(&reason)));
        self.tables.insert(path.to_owned(), table.clone());
        table
    }
}

/// The rows for each value of a column.
type Index = HashMap<String, Vec<usize>>;

/// A row and the number of its first line.
pub(crate) struct Row {
    pub(crate) line: u64,
    pub(crate) cells: csv::StringRecord,
}

impl Row {
    /// The cell at a column's position; empty if the row is shorter.
    pub(crate) fn cell(&self, column: usize) -> &str {
        self.cells.get(column).unwrap_or("")
    }
}

/// A CSV file with a header.
pub(crate) struct CsvTable {
    columns: Vec<String>,
    rows: Vec<Row>,
    /// Indices of the columns that conditions have used, because 10^5 tasks may each select their
    /// rows from one file.
    indices: RefCell<HashMap<usize, Index>>,
}

impl CsvTable {
    fn parse(text: &str) -> Result<Self, String> {
        let text = without_byte_order_mark(text);
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .trim(csv::Trim::All)
            .from_reader(text.as_bytes());
        let columns: Vec<String> = reader
            .headers()
            .map_err(|error| error.to_string())?
            .iter()
            .map(str::to_owned)
            .collect();
        if columns.is_empty() {
            return Err("it is empty; its first line must name the columns".to_owned());
        }
        let mut lines = Lines::new(text);
        let mut rows = Vec::new();
        for cells in reader.into_records() {
            let cells = cells.map_err(|error| error.to_string())?;
            // Spreadsheets often write rows of empty cells.
            if cells.iter().any(|cell| !cell.is_empty()) {
                let line =
                    lines.at(cells.position().map_or(0, |position| position.byte() as usize));
                rows.push(Row { line, cells });
            }
        }
        Ok(Self { columns, rows, indices: RefCell::default() })
    }

    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }

    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The position of the column `name`, or the reason why it is not unique.
    pub(crate) fn column(&self, name: &str) -> Result<usize, String> {
        let mut found = self
            .columns
            .iter()
            .enumerate()
            .filter(|(_, column)| *column == name)
            .map(|(position, _)| position);
        match (found.next(), found.next()) {
            (Some(position), None) => Ok(position),
            (Some(_), Some(_)) => {
                Err(format!("the column `{}` appears twice; rename one", one_line(name)))
            }
            (None, _) => {
                let columns = self.columns.iter().map(String::as_str);
                Err(format!(
                    "there is no column `{}`: {}",
                    one_line(name),
                    did_you_mean(name, columns)
                ))
            }
        }
    }

    /// The rows that meet every condition `(column, cell)`, in the file's order.
    pub(crate) fn rows_where(&self, conditions: &[(usize, String)]) -> Vec<&Row> {
        let conditions: Vec<(usize, Cow<'_, str>)> =
            conditions.iter().map(|(column, cell)| (*column, comparable(cell))).collect();
        let meets = |row: &Row| {
            conditions.iter().all(|(column, cell)| comparable(row.cell(*column)) == *cell)
        };
        let mut indices = self.indices.borrow_mut();
        for (column, _) in &conditions {
            indices.entry(*column).or_insert_with(|| self.index(*column));
        }
        let candidates = conditions.iter().map(|(column, cell)| rows_at(&indices, *column, cell));
        match candidates.min_by_key(|rows| rows.len()) {
            Some(rows) => {
                rows.iter().filter_map(|&row| self.rows.get(row)).filter(|row| meets(row)).collect()
            }
            None => self.rows.iter().collect(),
        }
    }

    fn index(&self, column: usize) -> Index {
        let mut index = Index::new();
        for (position, row) in self.rows.iter().enumerate() {
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
        while let Some((byte, rest)) = self.rest.split_first() {
            if self.passed >= position && !matches!(byte, b'\r' | b'\n') {
                break;
            }
            self.line += u64::from(*byte == b'\n');
            self.passed += 1;
            self.rest = rest;
        }
        self.line
    }
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
