//! Tasks from a table, one row a task.
//!
//! The columns are named as the keys of a task and, bare, those of its curve; the keys of its
//! reward begin with `reward.`. An empty cell is a key that is not there. The numbers of a list
//! (`at`, `success`, `spend`, `samples`) are separated by `;`. Rows are read without building a
//! tree of each: bidders have 10^5 of them.

use std::collections::HashSet;

use super::TaskSpec;
use super::document::{
    Fields, Reader, Row, Sheet, TASK_KEYS, Written, curve_keys, reward_keys, task_of,
    unreadable_task,
};
use super::errors::{Place, one_line};
use super::nearest::suggestion;

/// The line that names the columns.
const HEADER_LINE: u64 = 1;

/// Which part of a task a column belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    Task,
    Curve,
    Reward,
}

/// The tasks of `sheet`, the first of which is the problem's task number `first_position`.
pub(super) fn read_table(
    file: &str,
    sheet: &Sheet,
    first_position: usize,
    reader: &mut Reader<'_>,
) -> Vec<TaskSpec> {
    let Some(columns) = read_header(file, sheet, reader) else {
        return unreadable_task(first_position, reader).into_iter().collect();
    };
    if sheet.rows().is_empty() {
        reader.faults.add(
            Place::Line { file, line: HEADER_LINE },
            "no task follows the names of the columns",
        );
        return unreadable_task(first_position, reader).into_iter().collect();
    }
    let mut tasks = Vec::with_capacity(sheet.rows().len());
    for row in sheet.rows() {
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
    let place = Place::Line { file, line: row.line };
    if row.cells.len() != columns.len() {
        let message = format!(
            "the first line names {} columns, here are cells: {}",
            columns.len(),
            row.cells.len()
        );
        reader.faults.add(place, message);
        return unreadable_task(position, reader);
    }
    let of_part = |wanted: Part| -> Vec<(&str, Written<'_>)> {
        let cells = columns
            .iter()
            .zip(&row.cells)
            .filter(|((part, _), cell)| *part == wanted && !cell.is_empty());
        cells.map(|((_, key), cell)| (*key, Written::Cell(cell))).collect()
    };
    let task = Fields::new(place, of_part(Part::Task));
    let curve = Fields::new(place, of_part(Part::Curve));
    let reward = Fields::new(Place::Key(&place, "reward"), of_part(Part::Reward));
    let reward = (!reward.entries().is_empty()).then_some(&reward);
    task_of(&task, Some(&curve), reward, position, reader)
        .map(|task| TaskSpec { origin: place.to_string(), ..task })
}

/// What each column is; nothing if that is not clear, for then no row can be read.
fn read_header<'s>(
    file: &str,
    sheet: &'s Sheet,
    reader: &mut Reader<'_>,
) -> Option<Vec<(Part, &'s str)>> {
    let place = Place::Line { file, line: HEADER_LINE };
    let mut seen = HashSet::new();
    let mut columns = Vec::with_capacity(sheet.columns().len());
    for (position, name) in sheet.columns().iter().enumerate() {
        let column = part_of(name);
        match column {
            _ if name.is_empty() => reader
                .faults
                .add(place, format!("column {} has no name: name it or delete it", position + 1)),
            None => reader.faults.add(place, unknown_column(name)),
            Some(column) if !seen.insert(column) => {
                reader.faults.add(place, format!("the column `{}` is there twice", one_line(name)))
            }
            Some(column) => columns.push(column),
        }
    }
    if !seen.contains(&(Part::Curve, "family")) {
        reader.faults.add(place, "there is no column `family`: every task needs a curve");
        return None;
    }
    (columns.len() == sheet.columns().len()).then_some(columns)
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
        suggestion(name, known.iter().map(String::as_str))
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

/// `where.` stands before a column of the file that holds the samples.
fn is_known(key: &str, mut known: impl Iterator<Item = &'static str>) -> bool {
    key.strip_prefix("where.").is_some_and(|column| !column.is_empty())
        || (key != "where" && known.any(|word| word == key))
}
