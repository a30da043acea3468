//! Tasks as written, in a document or in a row of a table.

use super::Reader;
use super::curve::read_curve;
use super::fields::{Fields, Written};
use super::node::Node;
use super::reward::read_reward;
use crate::problem::TaskSpec;
use crate::problem::errors::Place;

/// The keys of a task that are not tables.
pub(crate) const TASK_KEYS: [&str; 8] =
    ["name", "value", "min", "max", "fixed", "exclude", "at_least", "current"];

/// The task written as a table of a document. What cannot be read is left out of it, so that the
/// rest can still be checked.
pub(crate) fn read_task(
    place: Place<'_>,
    node: &Node,
    position: usize,
    reader: &mut Reader<'_>,
) -> Option<TaskSpec> {
    let Some(task) = Fields::of_node(place, node, &mut reader.faults) else {
        return unreadable_task(position, reader);
    };
    let known: Vec<&str> = TASK_KEYS.iter().chain(&["curve", "reward"]).copied().collect();
    task.refuse_unknown(&known, &mut reader.faults);
    if !task.has("curve") {
        let message = "is missing: every task needs one, such as { family = \"hill\", half_at = 120.0, steepness = 2.5 }";
        reader.faults.add(task.at("curve"), message);
    }
    let (curve_place, reward_place) = (task.at("curve"), task.at("reward"));
    let curve = table(&task, "curve", curve_place, reader);
    let reward = table(&task, "reward", reward_place, reader);
    task_of(&task, curve.as_ref(), reward.as_ref(), position, reader)
}

fn table<'a>(
    task: &Fields<'a>,
    key: &str,
    place: Place<'a>,
    reader: &mut Reader<'_>,
) -> Option<Fields<'a>> {
    match task.get(key)? {
        Written::Node(node) => Fields::of_node(place, node, &mut reader.faults),
        // Cells hold no tables.
        Written::Cell(_) => None,
    }
}

/// The task whose own fields, curve and reward these are.
pub(crate) fn task_of(
    task: &Fields<'_>,
    curve: Option<&Fields<'_>>,
    reward: Option<&Fields<'_>>,
    position: usize,
    reader: &mut Reader<'_>,
) -> Option<TaskSpec> {
    let curve =
        curve.and_then(|curve| read_curve(curve, reader)).or_else(|| reader.stand_in.clone())?;
    let reward = reward.and_then(|reward| read_reward(reward, reader));
    let faults = &mut reader.faults;
    Some(TaskSpec {
        name: task.text("name", faults).map_or_else(|| default_name(position), str::to_owned),
        curve,
        value: task.number("value", faults),
        reward,
        min: task.number("min", faults),
        max: task.number("max", faults),
        fixed: task.number("fixed", faults),
        exclude: task.flag("exclude", faults).unwrap_or(false),
        at_least: task.number("at_least", faults),
        current: task.number("current", faults),
        origin: String::new(),
    })
}

/// Takes the place of a task that cannot be read at all, so that tasks are counted as they were
/// written.
pub(crate) fn unreadable_task(position: usize, reader: &Reader<'_>) -> Option<TaskSpec> {
    Some(TaskSpec::new(default_name(position), reader.stand_in.clone()?))
}

/// `task-1` for the first.
fn default_name(position: usize) -> String {
    format!("task-{}", position + 1)
}
