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
        let sheet = read.map(Rc::new).map_err(|reason| format!("cannot read `{}`: {}", one_line(path), one_line(&reason)));
        self.sheets.insert(path.to_owned(), sheet.clone());
        sheet
    }
}

/// Rows by what a column holds.
type Index = HashMap<String, Vec<usize>>;

/// A CSV file with a header.
pub(crate) struct Sheet {
    columns: Vec<String>,
    rows: Vec<csv::StringRecord>,
    /// For the columns asked for so far. 10^5 tasks may each take their own rows out of one file.
    indices: RefCell<HashMap<usize, Index>>,
}

impl Sheet {
    fn parse(text: &str) -> Result<Self, String> {
        let mut reader = csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(without_mark(text).as_bytes());
        let columns: Vec<String> = reader.headers().map_err(|error| error.to_string())?.iter().map(str::to_owned).collect();
        if columns.is_empty() {
            return Err("it is empty; its first line must name the columns".to_owned());
        }
        let rows: Result<Vec<csv::StringRecord>, csv::Error> = reader.into_records().collect();
        let mut rows = rows.map_err(|error| error.to_string())?;
        // Spreadsheets leave rows of empty cells behind.
        rows.retain(|row| row.iter().any(|cell| !cell.is_empty()));
        Ok(Self { columns, rows, indices: RefCell::default() })
    }

    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }

    pub(crate) fn rows(&self) -> &[csv::StringRecord] {
        &self.rows
    }

    /// The position of the column `name`, or why there is none.
    pub(crate) fn column(&self, name: &str) -> Result<usize, String> {
        let mut found = self.columns.iter().enumerate().filter(|(_, column)| *column == name).map(|(position, _)| position);
        match (found.next(), found.next()) {
            (Some(position), None) => Ok(position),
            (Some(_), Some(_)) => Err(format!("the column `{}` is there twice: rename one", one_line(name))),
            (None, _) => {
                let columns = self.columns.iter().map(String::as_str);
                Err(format!("there is no column `{}`: {}", one_line(name), suggestion(name, columns)))
            }
        }
    }

    /// The rows that meet every condition `(column, cell)`, in the file's order.
    pub(crate) fn rows_where(&self, conditions: &[(usize, String)]) -> Vec<&csv::StringRecord> {
        let conditions: Vec<(usize, Cow<'_, str>)> = conditions.iter().map(|(column, cell)| (*column, comparable(cell))).collect();
        let meets = |row: &csv::StringRecord| conditions.iter().all(|(column, cell)| comparable(row.get(*column).unwrap_or("")) == *cell);
        let mut indices = self.indices.borrow_mut();
        for (column, _) in &conditions {
            indices.entry(*column).or_insert_with(|| self.index(*column));
        }
        let candidates = conditions.iter().map(|(column, cell)| rows_at(&indices, *column, cell));
        match candidates.min_by_key(|rows| rows.len()) {
            Some(rows) => rows.iter().filter_map(|&row| self.rows.get(row)).filter(|row| meets(row)).collect(),
            None => self.rows.iter().collect(),
        }
    }

    fn index(&self, column: usize) -> Index {
        let mut index = Index::new();
        for (position, row) in self.rows.iter().enumerate() {
            index.entry(comparable(row.get(column).unwrap_or("")).into_owned()).or_default().push(position);
        }
        index
    }
}

fn rows_at<'i>(indices: &'i HashMap<usize, Index>, column: usize, cell: &str) -> &'i [usize] {
    indices.get(&column).and_then(|index| index.get(cell)).map_or(&[], Vec::as_slice)
}

/// The line a row begins at.
pub(crate) fn line_of(row: &csv::StringRecord) -> u64 {
    row.position().map_or(0, csv::Position::line)
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
