//! Reads samples: a list, or a column of a CSV file, optionally of the rows that meet conditions.

use super::Reader;
use super::csv_table::{CsvTable, Row};
use super::table::{Fields, RawValue, cell_number};
use super::value::quoted;
use crate::problem::errors::FieldPath;
use crate::text::one_line;

/// The keys of the source of samples.
pub(crate) const SAMPLE_KEYS: [&str; 4] = ["samples", "file", "column", "where"];

/// The samples that `fields` give, for `owner`.
pub(crate) fn read_samples(
    fields: &Fields<'_>,
    owner: &str,
    reader: &mut Reader<'_>,
) -> Option<Vec<f64>> {
    read_list(fields, "samples", owner, reader)
}

/// The numbers at `list`, or of a column of a file.
pub(crate) fn read_list(
    fields: &Fields<'_>,
    list: &str,
    owner: &str,
    reader: &mut Reader<'_>,
) -> Option<Vec<f64>> {
    if fields.has("file") {
        if fields.has(list) {
            reader
                .errors
                .add(fields.at("file"), format!("cannot go with `{list}`: give one of them"));
            return None;
        }
        return from_file(fields, owner, reader);
    }
    let conditions = fields.entries().map(|(key, _)| key).filter(|key| key.starts_with("where"));
    for key in fields.has("column").then_some("column").into_iter().chain(conditions) {
        reader.errors.add(fields.at(key), "goes with `file`, which is missing");
    }
    if !fields.has(list) {
        let message = format!("is missing: {owner} needs `{list}`, or `file` and `column`");
        reader.errors.add(fields.at(list), message);
    }
    fields.numbers(list, &mut reader.errors)
}

fn from_file(fields: &Fields<'_>, owner: &str, reader: &mut Reader<'_>) -> Option<Vec<f64>> {
    fields.require("column", format_args!("{owner} from a file"), &mut reader.errors);
    let file = fields.text("file", &mut reader.errors)?;
    let column = fields.text("column", &mut reader.errors);
    let table = match reader.csv_files.table(file) {
        Ok(table) => table,
        Err(reason) => {
            reader.errors.add(fields.at("file"), reason);
            return None;
        }
    };
    let conditions = conditions(fields, file, &table, reader);
    let column = match table.column(column?) {
        Ok(column) => column,
        Err(reason) => {
            reader.errors.add(fields.at("column"), format!("in `{}`: {reason}", one_line(file)));
            return None;
        }
    };
    let conditions = conditions?;
    let rows = table.rows_where(&conditions);
    if rows.is_empty() && conditions.is_empty() {
        reader.errors.add(fields.at("file"), format!("`{}` has no rows", one_line(file)));
        return None;
    }
    if rows.is_empty() {
        let column = |position: &usize| table.columns().get(*position).map_or("", String::as_str);
        let wanted: Vec<String> = conditions
            .iter()
            .map(|(position, cell)| format!("{} = {cell}", column(position)))
            .collect();
        let message =
            format!("no row of `{}` has {}", one_line(file), one_line(&wanted.join(", ")));
        reader.errors.add(fields.at("where"), message);
        return None;
    }
    column_numbers(&rows, column, fields, file, reader)
}

/// The numbers of one column; an error names the line of the first cell that is not a number.
fn column_numbers(
    rows: &[Row<'_>],
    column: usize,
    fields: &Fields<'_>,
    file: &str,
    reader: &mut Reader<'_>,
) -> Option<Vec<f64>> {
    let mut samples = Vec::with_capacity(rows.len());
    let mut bad = Vec::new();
    for row in rows {
        let cell = row.cell(column);
        match cell_number(cell).filter(|number| number.is_finite() && *number >= 0.0) {
            Some(number) => samples.push(number),
            None => bad.push((row.line, cell)),
        }
    }
    let Some((line, cell)) = bad.first() else {
        return Some(samples);
    };
    let others = match bad.len() - 1 {
        0 => String::new(),
        1 => " (and 1 other cell)".to_owned(),
        others => format!(" (and {others} other cells)"),
    };
    let message = format!(
        "`{}` line {line} must have a number, finite and not negative, not {}{others}",
        one_line(file),
        quoted(cell)
    );
    reader.errors.add(fields.at("column"), message);
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
        Some(RawValue::Cell(_)) => {
            reader.errors.add(
                path,
                "must name a column of the file: head the column `where.` and that name",
            );
            return None;
        }
        None => {}
    }
    let mut conditions = Vec::new();
    for (name, wanted) in &written {
        let path = FieldPath::Key(&path, name);
        match (table.column(name), wanted.as_cell()) {
            (Ok(column), Some(wanted)) => conditions.push((column, wanted)),
            (Err(reason), _) => {
                reader.errors.add(path, format!("in `{}`: {reason}", one_line(file)))
            }
            (_, None) => reader.errors.add(path, format!("must be text or a number, not {wanted}")),
        }
    }
    (conditions.len() == written.len()).then_some(conditions)
}
