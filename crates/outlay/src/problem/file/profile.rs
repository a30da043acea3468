//! Reads a profile: a list of numbers per task, or a CSV file with one column per task and one row
//! per round.

use super::Reader;
use super::samples::column_numbers;
use super::table::{Fields, RawValue};
use super::value::Value;
use crate::problem::Profile;
use crate::problem::errors::ProblemErrorKind;

/// The keys of a profile in a file.
const FILE_KEYS: [&str; 2] = ["file", "index"];

/// The profile at `key` of the environment; empty if it is unset or cannot be read.
pub(super) fn read_profile(
    environment: &Fields<'_>,
    key: &'static str,
    reader: &mut Reader<'_>,
) -> Profile {
    let path = environment.at(key);
    let Some(RawValue::Value(value)) = environment.get(key) else { return Profile::new() };
    let Some(table) = Fields::of_value(path, value, &mut reader.errors) else {
        return Profile::new();
    };
    // A task may have the name `file`: then it has a list.
    if matches!(table.get("file"), Some(RawValue::Value(Value::String(_)))) {
        return from_file(&table, reader).unwrap_or_default();
    }
    let mut profile = Profile::new();
    for (task, _) in table.entries() {
        let numbers = table.numbers(task, &mut reader.errors);
        profile.extend(numbers.map(|numbers| (task.to_owned(), numbers)));
    }
    profile
}

/// One column per task; the column `index`, if it is given, names the rows.
fn from_file(fields: &Fields<'_>, reader: &mut Reader<'_>) -> Option<Profile> {
    fields.reject_unknown(&[&FILE_KEYS], &mut reader.errors);
    let file = fields.text("file", &mut reader.errors)?;
    let index = fields.text("index", &mut reader.errors);
    let table = match reader.csv_files.table(file) {
        Ok(table) => table,
        Err(error) => {
            reader.errors.add(fields.at("file"), error);
            return None;
        }
    };
    let index = match index.map(|index| table.column(index, file)).transpose() {
        Ok(index) => index,
        Err(error) => {
            reader.errors.add(fields.at("index"), error);
            return None;
        }
    };
    let rows = table.rows_where(&[]);
    if rows.is_empty() {
        reader.errors.add(fields.at("file"), ProblemErrorKind::NoRows { file: file.to_owned() });
        return None;
    }
    let mut profile = Profile::new();
    let columns = table.columns().iter().enumerate();
    for (column, task) in columns.filter(|(column, _)| Some(*column) != index) {
        if index.is_none() && rows[0].number(column).is_err() {
            let (file, column) = (file.to_owned(), task.clone());
            reader.errors.add(fields.at("file"), ProblemErrorKind::NamesOfRows { file, column });
            return None;
        }
        let numbers = column_numbers(&rows, column, fields.at(task), file, reader)?;
        profile.insert(task.clone(), numbers);
    }
    Some(profile)
}
