//! CSV files that a problem names. Each is read and parsed once, even if many tasks name it.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::Files;
use crate::problem::errors::ProblemErrorKind;
use crate::table::{Decimal, Row, TableError, TableReader, parse_number};

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
        let unreadable =
            |reason| ProblemErrorKind::UnreadableFile { file: path.to_owned(), reason };
        let text = self.files.read(path).map(Rc::new).map_err(unreadable);
        self.texts.insert(path.to_owned(), text.clone());
        text
    }

    /// The table at `path`, or the reason why it cannot be read.
    pub(crate) fn table(&mut self, path: &str) -> Result<Rc<CsvTable>, ProblemErrorKind> {
        if let Some(known) = self.tables.get(path) {
            return known.clone();
        }
        let parse = |text: Rc<String>| {
            CsvTable::parse(&text).map(Rc::new).map_err(|error| not_a_table(path, error))
        };
        let table = self.text(path).and_then(parse);
        self.tables.insert(path.to_owned(), table.clone());
        table
    }
}

pub(crate) fn not_a_table(path: &str, error: TableError) -> ProblemErrorKind {
    ProblemErrorKind::NotATable { file: path.to_owned(), error }
}

/// Conditions are written with decimal points.
const POINT: Option<Decimal> = Some(Decimal::Point);

/// The rows for each value of a column.
type Index = HashMap<String, Vec<usize>>;

/// A CSV file with a header.
pub(crate) struct CsvTable {
    columns: Arc<[String]>,
    /// The number of the first line of each row, and its cells.
    rows: Vec<(u64, csv::StringRecord)>,
    decimal: Option<Decimal>,
    /// Indices of the columns that conditions have used, because 10^5 tasks may each select their
    /// rows from one file.
    indices: RefCell<HashMap<usize, Index>>,
}

impl CsvTable {
    fn parse(text: &str) -> Result<Self, TableError> {
        let mut reader = TableReader::new(text, None)?;
        let (columns, decimal) = (reader.columns().into(), reader.decimal());
        let mut rows = Vec::new();
        while let Some(row) = reader.next_row()? {
            rows.push((row.line(), row.cells()));
        }
        Ok(Self { columns, rows, decimal, indices: RefCell::default() })
    }

    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }

    fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|(line, cells)| Row::of(*line, cells, self.decimal))
    }

    /// The position of the column `name` of the table in `file`.
    pub(crate) fn column(&self, name: &str, file: &str) -> Result<usize, ProblemErrorKind> {
        let position = self.columns.iter().position(|column| column == name.trim());
        position.ok_or_else(|| ProblemErrorKind::NoSuchColumn {
            file: file.to_owned(),
            column: name.to_owned(),
            known: Arc::clone(&self.columns),
        })
    }

    /// The rows that meet every condition `(column, cell)`, in the file's order.
    pub(crate) fn rows_where(&self, conditions: &[(usize, String)]) -> Vec<Row<'_>> {
        let conditions: Vec<(usize, Cow<'_, str>)> =
            conditions.iter().map(|(column, cell)| (*column, comparable(cell, POINT))).collect();
        let meets = |row: &Row<'_>| {
            let is_met = |(column, cell): &(usize, Cow<'_, str>)| {
                comparable(row.cell(*column), self.decimal) == *cell
            };
            conditions.iter().all(is_met)
        };
        let mut indices = self.indices.borrow_mut();
        for (column, _) in &conditions {
            indices.entry(*column).or_insert_with(|| self.index(*column));
        }
        let candidates = conditions.iter().map(|(column, cell)| rows_at(&indices, *column, cell));
        match candidates.min_by_key(|rows| rows.len()) {
            Some(rows) => {
                let rows = rows.iter().filter_map(|&row| self.rows.get(row));
                let rows = rows.map(|(line, cells)| Row::of(*line, cells, self.decimal));
                rows.filter(meets).collect()
            }
            None => self.rows().collect(),
        }
    }

    fn index(&self, column: usize) -> Index {
        let mut index = Index::new();
        for (position, row) in self.rows().enumerate() {
            let cell = comparable(row.cell(column), self.decimal).into_owned();
            index.entry(cell).or_default().push(position);
        }
        index
    }
}

fn rows_at<'i>(indices: &'i HashMap<usize, Index>, column: usize, cell: &str) -> &'i [usize] {
    indices.get(&column).and_then(|index| index.get(cell)).map_or(&[], Vec::as_slice)
}

/// The form in which cells are compared: numbers by value (3, 3.0 and "3" are equal), others as
/// text.
fn comparable(cell: &str, decimal: Option<Decimal>) -> Cow<'_, str> {
    let cell = cell.trim();
    match parse_number(cell, decimal) {
        // Adding zero turns -0 into 0.
        Ok(number) if number.is_finite() => Cow::Owned((number + 0.0).to_string()),
        _ => Cow::Borrowed(cell),
    }
}
