//! Tasks of a CSV file, one row per task.
//!
//! The columns are named as the keys of a task and, bare, those of its curve; the keys of its
//! reward begin with `reward.`, those of a log's summary with `seen.`. An empty cell means that the key is unset. The numbers of a list
//! (`at`, `success`, `spend`, `samples`) are separated by `;`. Rows are read one at a time and not
//! kept, because a file may have 10^6 of them.

use std::collections::HashSet;

use super::curve::curve_keys;
use super::reward::reward_keys;
use super::table::Fields;
use super::task::{SEEN_KEYS, TASK_KEYS, TaskParts, add_placeholder, task_of};
use super::{Reader, TaskSink};
use crate::problem::errors::{FieldPath, ProblemErrorKind};
use crate::table::{Row, TableError, TableReader};

/// The line that names the columns.
const HEADER_LINE: u64 = 1;

/// The part of a task that a column belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    Task,
    Curve,
    Reward,
    Seen,
}

/// The keys and positions of the columns of each part.
#[derive(Debug, Default)]
struct Columns<'s> {
    task: Vec<(&'s str, usize)>,
    curve: Vec<(&'s str, usize)>,
    reward: Vec<(&'s str, usize)>,
    seen: Vec<(&'s str, usize)>,
}

/// Reads the tasks in the text of `file`.
pub(super) fn read_csv_tasks(
    file: &str,
    text: &str,
    tasks: &mut dyn TaskSink,
    reader: &mut Reader<'_>,
) -> Result<(), TableError> {
    let header = FieldPath::Line { file, line: HEADER_LINE };
    let mut rows = match TableReader::new(text, None) {
        Err(TableError::RepeatedColumn { column }) => {
            reader.errors.add(header, ProblemErrorKind::RepeatedColumn { column });
            add_placeholder(header, tasks, reader);
            return Ok(());
        }
        opened => opened?,
    };
    let names = rows.columns().to_vec();
    let Some(columns) = read_header(header, &names, reader) else {
        add_placeholder(header, tasks, reader);
        return Ok(());
    };
    let count = tasks.count();
    while let Some(row) = rows.next_row()? {
        let path = FieldPath::Line { file, line: row.line() };
        let found = row.cell_count(names.len());
        if found == names.len() {
            read_row(path, &columns, row, tasks, reader);
        } else {
            let expected = names.len();
            reader.errors.add(path, ProblemErrorKind::RowLength { expected, found });
            add_placeholder(path, tasks, reader);
        }
    }
    if tasks.count() == count {
        reader.errors.add(header, ProblemErrorKind::NoTaskRows);
        add_placeholder(header, tasks, reader);
    }
    Ok(())
}

fn read_row(
    path: FieldPath<'_>,
    columns: &Columns<'_>,
    row: Row<'_>,
    tasks: &mut dyn TaskSink,
    reader: &mut Reader<'_>,
) {
    let task = Fields::of_row(path, &columns.task, row);
    let curve = Fields::of_row(path, &columns.curve, row);
    let reward = Fields::of_row(FieldPath::Key(&path, "reward"), &columns.reward, row);
    let reward = reward.entries().next().is_some().then_some(&reward);
    let seen = Fields::of_row(FieldPath::Key(&path, "seen"), &columns.seen, row);
    let seen = seen.entries().next().is_some().then_some(&seen);
    let parts = TaskParts { curve: Some(&curve), reward, seen };
    if let Some(task) = task_of(&task, parts, tasks.count(), reader) {
        tasks.add(task, path);
    }
}

/// The columns; `None` if one is invalid, because then no row can be read.
fn read_header<'s>(
    path: FieldPath<'_>,
    names: &'s [String],
    reader: &mut Reader<'_>,
) -> Option<Columns<'s>> {
    let mut seen = HashSet::new();
    let mut columns = Columns::default();
    let mut is_valid = true;
    for (position, name) in names.iter().enumerate() {
        let error = match part_of(name) {
            _ if name.is_empty() => ProblemErrorKind::UnnamedColumn { number: position + 1 },
            None => unknown_column(name),
            Some(column) if !seen.insert(column) => {
                ProblemErrorKind::RepeatedColumn { column: name.clone() }
            }
            Some((part, key)) => {
                match part {
                    Part::Task => columns.task.push((key, position)),
                    Part::Curve => columns.curve.push((key, position)),
                    Part::Reward => columns.reward.push((key, position)),
                    Part::Seen => columns.seen.push((key, position)),
                }
                continue;
            }
        };
        reader.errors.add(path, error);
        is_valid = false;
    }
    if !seen.contains(&(Part::Curve, "family")) {
        reader.errors.add(path, ProblemErrorKind::NoFamilyColumn);
        return None;
    }
    is_valid.then_some(columns)
}

fn unknown_column(name: &str) -> ProblemErrorKind {
    let keys = TASK_KEYS.into_iter().chain(curve_keys()).map(str::to_owned);
    let prefixed = reward_keys()
        .map(|key| format!("reward.{key}"))
        .chain(SEEN_KEYS.iter().map(|key| format!("seen.{key}")));
    let mut known: Vec<String> = keys.chain(prefixed).collect();
    // Several families share a key.
    let mut listed = HashSet::new();
    known.retain(|key| listed.insert(key.clone()));
    ProblemErrorKind::UnknownColumn { column: name.to_owned(), known }
}

/// The part a column belongs to and its key there.
fn part_of(name: &str) -> Option<(Part, &str)> {
    if TASK_KEYS.contains(&name) {
        return Some((Part::Task, name));
    }
    if let Some(key) = name.strip_prefix("reward.") {
        return is_known(key, reward_keys()).then_some((Part::Reward, key));
    }
    if let Some(key) = name.strip_prefix("seen.") {
        return SEEN_KEYS.contains(&key).then_some((Part::Seen, key));
    }
    let key = name.strip_prefix("curve.").unwrap_or(name);
    is_known(key, curve_keys()).then_some((Part::Curve, key))
}

/// Whether a key is valid. A key `where.<column>` names a column of the file with the samples.
fn is_known(key: &str, mut known: impl Iterator<Item = &'static str>) -> bool {
    key.strip_prefix("where.").is_some_and(|column| !column.is_empty())
        || (key != "where" && known.any(|word| word == key))
}
