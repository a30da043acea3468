//! CSV files that a problem names: each is read and parsed once, however many tasks name it.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::Files;
use super::fields::cell_number;
use super::node::without_mark;
use crate::problem::errors::one_line;
use crate::problem::nearest::suggestion;

/// The files read so far.
pub(crate) struct Shelf<'f> {
    files: &'f dyn Files,
    sheets: HashMap<String, Result<Rc<Sheet>, String>>,
}

impl<'f> Shelf<'f> {
    pub(crate) fn new(files: &'f dyn Files) -> Self {
        Self { files, sheets: HashMap::new() }
    }

    /// The sheet at `path`, or why there is none.
    pub(crate) fn sheet(&mut self, path: &str) -> Result<Rc<Sheet>, String> {
        if let Some(known) = self.sheets.get(path) {
            return known.clone();
        }
        let read = self.files.read(path).and_then(|text| Sheet::parse(&text));
        let sheet = read
            .map(Rc::new)
            .map_err(|reason| format!("cannot read `{}`: {}", one_line(path), one_line(&reason)));
        self.sheets.insert(path.to_owned(), sheet.clone());
        sheet
    }
}

/// Rows by what a column holds.
type Index = HashMap<String, Vec<usize>>;

/// A row and the line it begins at.
pub(crate) struct Row {
    pub(crate) line: u64,
    pub(crate) cells: csv::StringRecord,
}

impl Row {
    /// The cell at a column's position; empty if the row ends before.
    pub(crate) fn cell(&self, column: usize) -> &str {
        self.cells.get(column).unwrap_or("")
    }
}

/// A CSV file with a header.
pub(crate) struct Sheet {
    columns: Vec<String>,
    rows: Vec<Row>,
    /// For the columns asked for so far. 10^5 tasks may each take their own rows out of one file.
    indices: RefCell<HashMap<usize, Index>>,
}

impl Sheet {
    fn parse(text: &str) -> Result<Self, String> {
        let text = without_mark(text);
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
            // Spreadsheets leave rows of empty cells behind.
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

    /// The position of the column `name`, or why there is none.
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
                Err(format!("the column `{}` is there twice: rename one", one_line(name)))
            }
            (None, _) => {
                let columns = self.columns.iter().map(String::as_str);
                Err(format!(
                    "there is no column `{}`: {}",
                    one_line(name),
                    suggestion(name, columns)
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

/// Counts lines up to rising positions in a text. (The line that the reader itself tells is that of
/// the row before if empty lines or Windows line ends lie between.)
struct Lines<'t> {
    rest: &'t [u8],
    passed: usize,
    line: u64,
}

impl<'t> Lines<'t> {
    fn new(text: &'t str) -> Self {
        Self { rest: text.as_bytes(), passed: 0, line: 1 }
    }

    /// The line of the first character at or after `position` that ends no line.
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

/// Cells are compared as text, but numbers as numbers: 3, 3.0 and "3" are the same.
fn comparable(cell: &str) -> Cow<'_, str> {
    let cell = cell.trim();
    match cell_number(cell) {
        // Adding zero makes one zero of two.
        Some(number) if number.is_finite() => Cow::Owned((number + 0.0).to_string()),
        _ => Cow::Borrowed(cell),
    }
}
