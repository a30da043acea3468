//! Reads a task, in a document or in a row of a CSV file.

use super::curve::read_curve;
use super::reward::read_reward;
use super::table::{Fields, RawValue};
use super::value::Value;
use super::{Reader, TaskSink};
use crate::problem::TaskSpec;
use crate::problem::errors::{FieldPath, ProblemErrorKind};

/// The keys of a task that are not tables.
pub(crate) const TASK_KEYS: [&str; 9] =
    ["name", "value", "volume", "min", "max", "fixed", "exclude", "at_least", "current"];

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
    task.reject_unknown(&[&TASK_KEYS, &["curve", "reward"]], &mut reader.errors);
    if !task.has("curve") {
        reader.errors.add(task.at("curve"), ProblemErrorKind::MissingCurve);
    }
    let (curve_path, reward_path) = (task.at("curve"), task.at("reward"));
    let curve = table(&task, "curve", curve_path, reader);
    let reward = table(&task, "reward", reward_path, reader);
    if let Some(task) = task_of(&task, curve.as_ref(), reward.as_ref(), tasks.count(), reader) {
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

/// The task with these fields, curve and reward.
pub(crate) fn task_of(
    task: &Fields<'_>,
    curve: Option<&Fields<'_>>,
    reward: Option<&Fields<'_>>,
    position: usize,
    reader: &mut Reader<'_>,
) -> Option<TaskSpec> {
    let curve = curve
        .and_then(|curve| read_curve(curve, reader))
        .or_else(|| reader.placeholder_curve.clone())?;
    let reward = reward.and_then(|reward| read_reward(reward, reader));
    let errors = &mut reader.errors;
    Some(TaskSpec {
        name: task.text("name", errors).map_or_else(|| default_name(position), str::to_owned),
        curve,
        value: task.number("value", errors),
        volume: task.number("volume", errors),
        reward,
        min: task.number("min", errors),
        max: task.number("max", errors),
        fixed: task.number("fixed", errors),
        exclude: task.flag("exclude", errors).unwrap_or(false),
        at_least: task.number("at_least", errors),
        current: task.number("current", errors),
        origin: String::new(),
    })
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
