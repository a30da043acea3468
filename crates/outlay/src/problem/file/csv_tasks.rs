//! Tasks of a CSV file, one row per task.
//!
//! The columns are named as the keys of a task and, bare, those of its curve; the keys of its
//! reward begin with `reward.`. An empty cell means that the key is unset. The numbers of a list
//! (`at`, `success`, `spend`, `samples`) are separated by `;`. Rows are read without building a
//! tree of each, because a file may have 10^5 of them.

use std::collections::HashSet;

use super::Reader;
use super::csv_table::{CsvTable, Row};
use super::curve::curve_keys;
use super::reward::reward_keys;
use super::table::{Fields, RawValue};
use super::task::{TASK_KEYS, placeholder_task, task_of};
use crate::problem::TaskSpec;
use crate::problem::errors::FieldPath;
use crate::text::{did_you_mean, one_line};

/// The line that names the columns.
const HEADER_LINE: u64 = 1;

/// The part of a task that a column belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    Task,
    Curve,
    Reward,
}

/// The tasks of `table`, the first of which is the problem's task number `first_position`.
pub(super) fn read_csv_tasks(
    file: &str,
    table: &CsvTable,
    first_position: usize,
    reader: &mut Reader<'_>,
) -> Vec<TaskSpec> {
    let Some(columns) = read_header(file, table, reader) else {
        return placeholder_task(first_position, reader).into_iter().collect();
    };
    if table.rows().is_empty() {
        reader.errors.add(
            FieldPath::Line { file, line: HEADER_LINE },
            "no task follows the names of the columns",
        );
        return placeholder_task(first_position, reader).into_iter().collect();
    }
    let mut tasks = Vec::with_capacity(table.rows().len());
    for row in table.rows() {
        tasks.extend(read_row(file, &columns, row, first_position + tasks.len(), reader));
    }
    tasks
}

fn read_row(
    file: &str,
    columns: &[(Part, &str)],
    row: &Row,
    position: usize,
    reader: &mut Reader<'_>,
) -> Option<TaskSpec> {
    let path = FieldPath::Line { file, line: row.line };
    if row.cells.len() != columns.len() {
        let message = format!(
            "the first line names {} columns, this row has {}",
            columns.len(),
            row.cells.len()
        );
        reader.errors.add(path, message);
        return placeholder_task(position, reader);
    }
    let of_part = |wanted: Part| -> Vec<(&str, RawValue<'_>)> {
        let cells = columns
            .iter()
            .zip(&row.cells)
            .filter(|((part, _), cell)| *part == wanted && !cell.is_empty());
        cells.map(|((_, key), cell)| (*key, RawValue::Cell(cell))).collect()
    };
    let task = Fields::new(path, of_part(Part::Task));
    let curve = Fields::new(path, of_part(Part::Curve));
    let reward = Fields::new(FieldPath::Key(&path, "reward"), of_part(Part::Reward));
    let reward = (!reward.entries().is_empty()).then_some(&reward);
    task_of(&task, Some(&curve), reward, position, reader)
        .map(|task| TaskSpec { origin: path.to_string(), ..task })
}

/// The part and key of each column; `None` if a column is invalid, because then no row can be read.
fn read_header<'s>(
    file: &str,
    table: &'s CsvTable,
    reader: &mut Reader<'_>,
) -> Option<Vec<(Part, &'s str)>> {
    let path = FieldPath::Line { file, line: HEADER_LINE };
    let mut seen = HashSet::new();
    let mut columns = Vec::with_capacity(table.columns().len());
    for (position, name) in table.columns().iter().enumerate() {
        let column = part_of(name);
        match column {
            _ if name.is_empty() => reader
                .errors
                .add(path, format!("column {} has no name: name it or delete it", position + 1)),
            None => reader.errors.add(path, unknown_column(name)),
            Some(column) if !seen.insert(column) => {
                reader.errors.add(path, format!("the column `{}` appears twice", one_line(name)))
            }
            Some(column) => columns.push(column),
        }
    }
    if !seen.contains(&(Part::Curve, "family")) {
        reader.errors.add(path, "there is no column `family`: every task needs a curve");
        return None;
    }
    (columns.len() == table.columns().len()).then_some(columns)
}

fn unknown_column(name: &str) -> String {
    let keys = TASK_KEYS.into_iter().chain(curve_keys()).map(str::to_owned);
    let mut known: Vec<String> =
        keys.chain(reward_keys().map(|key| format!("reward.{key}"))).collect();
    // Several families share a key.
    let mut listed = HashSet::new();
    known.retain(|key| listed.insert(key.clone()));
    format!(
        "unknown column `{}`: {}",
        one_line(name),
        did_you_mean(name, known.iter().map(String::as_str))
    )
}

/// The part a column belongs to and its key there.
fn part_of(name: &str) -> Option<(Part, &str)> {
    if TASK_KEYS.contains(&name) {
        return Some((Part::Task, name));
    }
    if let Some(key) = name.strip_prefix("reward.") {
        return is_known(key, reward_keys()).then_some((Part::Reward, key));
    }
    let key = name.strip_prefix("curve.").unwrap_or(name);
    is_known(key, curve_keys()).then_some((Part::Curve, key))
}

/// Whether a key is valid. A key `where.<column>` names a column of the file with the samples.
fn is_known(key: &str, mut known: impl Iterator<Item = &'static str>) -> bool {
    key.strip_prefix("where.").is_some_and(|column| !column.is_empty())
        || (key != "where" && known.any(|word| word == key))
}
