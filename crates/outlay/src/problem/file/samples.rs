//! Reads samples: a list, or a column of a CSV file, optionally of the rows that meet conditions.

use super::Reader;
use super::csv_table::CsvTable;
use super::table::{Fields, RawValue};
use crate::problem::errors::{ExpectedType, FieldPath, FoundValue, ProblemErrorKind};
use crate::table::{NumberError, Row};

/// The keys of the source of samples.
pub(crate) const SAMPLE_KEYS: [&str; 4] = ["samples", "file", "column", "where"];

/// The samples that `fields` give, for `owner`.
pub(crate) fn read_samples(
    fields: &Fields<'_>,
    owner: &'static str,
    reader: &mut Reader<'_>,
) -> Option<Vec<f64>> {
    read_list(fields, "samples", owner, reader)
}

/// The numbers at `list`, or of a column of a file.
pub(crate) fn read_list(
    fields: &Fields<'_>,
    list: &'static str,
    owner: &'static str,
    reader: &mut Reader<'_>,
) -> Option<Vec<f64>> {
    if fields.has("file") {
        if fields.has(list) {
            let kind = ProblemErrorKind::ConflictingKeys { other: list };
            reader.errors.add(fields.at("file"), kind);
            return None;
        }
        return from_file(fields, owner, reader);
    }
    let conditions = fields.entries().map(|(key, _)| key).filter(|key| key.starts_with("where"));
    for key in fields.has("column").then_some("column").into_iter().chain(conditions) {
        reader.errors.add(fields.at(key), ProblemErrorKind::WithoutFile);
    }
    if !fields.has(list) {
        reader.errors.add(fields.at(list), ProblemErrorKind::MissingSamples { owner, list });
    }
    fields.numbers(list, &mut reader.errors)
}

fn from_file(fields: &Fields<'_>, owner: &str, reader: &mut Reader<'_>) -> Option<Vec<f64>> {
    fields.require("column", format_args!("{owner} from a file"), &mut reader.errors);
    let file = fields.text("file", &mut reader.errors)?;
    let column = fields.text("column", &mut reader.errors);
    let table = match reader.csv_files.table(file) {
        Ok(table) => table,
        Err(error) => {
            reader.errors.add(fields.at("file"), error);
            return None;
        }
    };
    let conditions = conditions(fields, file, &table, reader);
    let column = match table.column(column?, file) {
        Ok(column) => column,
        Err(error) => {
            reader.errors.add(fields.at("column"), error);
            return None;
        }
    };
    let conditions = conditions?;
    let rows = table.rows_where(&conditions);
    if rows.is_empty() && conditions.is_empty() {
        reader.errors.add(fields.at("file"), ProblemErrorKind::NoRows { file: file.to_owned() });
        return None;
    }
    if rows.is_empty() {
        let column = |position: usize| table.columns().get(position).cloned().unwrap_or_default();
        let conditions =
            conditions.into_iter().map(|(position, cell)| (column(position), cell)).collect();
        let kind = ProblemErrorKind::NoMatchingRow { file: file.to_owned(), conditions };
        reader.errors.add(fields.at("where"), kind);
        return None;
    }
    column_numbers(&rows, column, fields.at("column"), file, reader)
}

/// The numbers of one column; an error names the line of the first cell that is not a number.
pub(super) fn column_numbers(
    rows: &[Row<'_>],
    column: usize,
    path: FieldPath<'_>,
    file: &str,
    reader: &mut Reader<'_>,
) -> Option<Vec<f64>> {
    let mut samples = Vec::with_capacity(rows.len());
    let mut bad = Vec::new();
    for row in rows {
        match row.number(column) {
            Ok(number) if number.is_finite() && number >= 0.0 => samples.push(number),
            read => bad.push((row, read.err())),
        }
    }
    let Some((row, error)) = bad.first() else {
        return Some(samples);
    };
    let kind = ProblemErrorKind::BadSample {
        file: file.to_owned(),
        line: row.line(),
        cell: FoundValue::Text(row.cell(column).to_owned()),
        error: error.filter(|error| *error != NumberError::NotANumber),
        others: bad.len() - 1,
    };
    reader.errors.add(path, kind);
    None
}

/// The conditions in `where`, a table or cells with that prefix, as columns and the cells wanted
/// there.
fn conditions(
    fields: &Fields<'_>,
    file: &str,
    table: &CsvTable,
    reader: &mut Reader<'_>,
) -> Option<Vec<(usize, String)>> {
    let path = fields.at("where");
    let mut written: Vec<(&str, RawValue<'_>)> = fields
        .entries()
        .filter_map(|(key, written)| Some((key.strip_prefix("where.")?, written)))
        .collect();
    match fields.get("where") {
        Some(RawValue::Value(value)) => {
            written.extend(Fields::of_value(path, value, &mut reader.errors)?.entries())
        }
        Some(RawValue::Cell(..)) => {
            reader.errors.add(path, ProblemErrorKind::ConditionWithoutColumn);
            return None;
        }
        None => {}
    }
    let mut conditions = Vec::new();
    for (name, wanted) in &written {
        let path = FieldPath::Key(&path, name);
        match (table.column(name, file), wanted.as_cell()) {
            (Ok(column), Some(wanted)) => conditions.push((column, wanted)),
            (Err(error), _) => reader.errors.add(path, error),
            (_, None) => {
                let (expected, found) = (ExpectedType::TextOrNumber, wanted.found());
                reader.errors.add(path, ProblemErrorKind::WrongType { expected, found });
            }
        }
    }
    (conditions.len() == written.len()).then_some(conditions)
}
