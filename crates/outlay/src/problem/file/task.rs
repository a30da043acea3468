//! Reads a task, in a document or in a row of a CSV file.

use super::curve::read_curve;
use super::reward::read_reward;
use super::table::{Bases, Fields, RawValue};
use super::value::Value;
use super::{Reader, TaskSink};
use crate::problem::errors::{ErrorList, FieldPath, ProblemErrorKind};
use crate::problem::{Seen, TaskSpec};

/// The keys of a task that are not tables.
pub(crate) const TASK_KEYS: [&str; 11] = [
    "name", "value", "volume", "min", "max", "fixed", "exclude", "at_least", "current", "covers",
    "retired",
];
/// The keys of `seen`.
pub(crate) const SEEN_KEYS: [&str; 2] = ["completions", "reward"];

/// Reads the task in a table of a document. Fields that cannot be read are left unset, so that the
/// rest can still be checked.
pub(super) fn read_task(
    path: FieldPath<'_>,
    value: &Value,
    tasks: &mut dyn TaskSink,
    reader: &mut Reader<'_>,
) {
    let Some(task) = Fields::of_value(path, value, &mut reader.errors) else {
        return add_placeholder(path, tasks, reader);
    };
    task.reject_unknown(&[&TASK_KEYS, &["curve", "reward", "seen"]], &mut reader.errors);
    if !task.has("curve") {
        reader.errors.add(task.at("curve"), ProblemErrorKind::MissingCurve);
    }
    let (curve_path, reward_path) = (task.at("curve"), task.at("reward"));
    let curve = table(&task, "curve", curve_path, reader);
    let reward = table(&task, "reward", reward_path, reader);
    let seen = table(&task, "seen", task.at("seen"), reader);
    let parts = TaskParts { curve: curve.as_ref(), reward: reward.as_ref(), seen: seen.as_ref() };
    if let Some(task) = task_of(&task, parts, tasks.count(), reader) {
        tasks.add(task, path);
    }
}

fn table<'a>(
    task: &Fields<'a>,
    key: &str,
    path: FieldPath<'a>,
    reader: &mut Reader<'_>,
) -> Option<Fields<'a>> {
    match task.get(key)? {
        RawValue::Value(value) => Fields::of_value(path, value, &mut reader.errors),
        // A cell cannot hold a table.
        RawValue::Cell(..) => None,
    }
}

/// The tables of a task.
#[derive(Clone, Copy)]
pub(crate) struct TaskParts<'p, 'a> {
    pub(crate) curve: Option<&'p Fields<'a>>,
    pub(crate) reward: Option<&'p Fields<'a>>,
    pub(crate) seen: Option<&'p Fields<'a>>,
}

/// The task with these fields and tables.
pub(crate) fn task_of(
    task: &Fields<'_>,
    parts: TaskParts<'_, '_>,
    position: usize,
    reader: &mut Reader<'_>,
) -> Option<TaskSpec> {
    let curve = parts
        .curve
        .and_then(|curve| read_curve(curve, reader))
        .or_else(|| reader.placeholder_curve.clone())?;
    let seen = parts.seen.and_then(|seen| read_seen(seen, reader));
    let reward = parts.reward.and_then(|reward| read_reward(reward, reader));
    let errors = &mut reader.errors;
    let current = task.number("current", errors);
    let limits = read_limits(task, Bases { current, budget: reader.budget }, errors);
    Some(TaskSpec {
        name: task.text("name", errors).map_or_else(|| default_name(position), str::to_owned),
        curve,
        value: task.number("value", errors),
        volume: task.number("volume", errors),
        reward,
        min: limits.min,
        max: limits.max,
        fixed: limits.fixed,
        exclude: limits.exclude,
        at_least: limits.at_least,
        current,
        covers: read_range(task, errors),
        seen,
        retired: task.flag("retired", errors).unwrap_or(false),
        origin: String::new(),
    })
}

/// The keys of the bounds of a task.
pub(crate) const LIMIT_KEYS: [&str; 5] = ["min", "max", "fixed", "exclude", "at_least"];

/// The bounds of a task, unchecked.
#[derive(Debug, Clone, Copy)]
pub(super) struct LimitSpec {
    pub(super) min: Option<f64>,
    pub(super) max: Option<f64>,
    pub(super) fixed: Option<f64>,
    pub(super) exclude: bool,
    pub(super) at_least: Option<f64>,
}

/// Reads the bounds of a task.
pub(super) fn read_limits(fields: &Fields<'_>, bases: Bases, errors: &mut ErrorList) -> LimitSpec {
    LimitSpec {
        min: fields.amount("min", bases, errors),
        max: fields.amount("max", bases, errors),
        fixed: fields.amount("fixed", bases, errors),
        exclude: fields.flag("exclude", errors).unwrap_or(false),
        at_least: fields.amount("at_least", bases, errors),
    }
}

fn read_range(task: &Fields<'_>, errors: &mut ErrorList) -> Option<[f64; 2]> {
    let numbers = task.numbers("covers", errors)?;
    let range = <[f64; 2]>::try_from(numbers);
    let error = |numbers: Vec<f64>| {
        let kind = ProblemErrorKind::NotARange { count: numbers.len() };
        errors.add(task.at("covers"), kind);
    };
    range.map_err(error).ok()
}

fn read_seen(seen: &Fields<'_>, reader: &mut Reader<'_>) -> Option<Seen> {
    let errors = &mut reader.errors;
    seen.reject_unknown(&[&SEEN_KEYS], errors);
    SEEN_KEYS.iter().for_each(|key| seen.require(key, "a summary of a log", errors));
    let (completions, reward) = (seen.count("completions", errors), seen.number("reward", errors));
    Some(Seen { completions: completions?, reward: reward? })
}

/// Replaces a task that cannot be read at all, so that the positions of the others stay right.
pub(super) fn add_placeholder(path: FieldPath<'_>, tasks: &mut dyn TaskSink, reader: &Reader<'_>) {
    if let Some(curve) = reader.placeholder_curve.clone() {
        tasks.add(TaskSpec::new(default_name(tasks.count()), curve), path);
    }
}

/// `task-1` for the first.
fn default_name(position: usize) -> String {
    format!("task-{}", position + 1)
}
