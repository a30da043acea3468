//! The rows of a data frame of outcomes: round, task, completed and reward.

use std::collections::HashMap;

use outlay::Problem;
use pyo3::prelude::*;

use crate::arrays::{flag, numbers};
use crate::errors::ObservationError;

/// One row.
pub(crate) struct Row {
    /// Its position, counted from 0.
    pub(crate) row: usize,
    pub(crate) round: u64,
    pub(crate) task: usize,
    pub(crate) completed: bool,
    /// Absent if the cell is empty.
    pub(crate) reward: Option<f64>,
}

/// The rows of a frame. Without a column `round` all rows are of the given round.
pub(crate) fn rows(
    problem: &Problem,
    frame: &Bound<'_, PyAny>,
    round: Option<u64>,
) -> PyResult<Vec<Row>> {
    let tasks = column(frame, "task")?.ok_or_else(|| missing(frame, "task"))?;
    let completed = column(frame, "completed")?.ok_or_else(|| missing(frame, "completed"))?;
    let rounds = match round {
        Some(_) => None,
        None => Some(column(frame, "round")?.ok_or_else(|| missing(frame, "round"))?),
    };
    let rewards = column(frame, "reward")?;
    let rewards = rewards
        .as_ref()
        .map(|rewards| numbers(rewards, "reward", ObservationError::new_err))
        .transpose()?;
    let positions: HashMap<&str, usize> = problem
        .tasks()
        .iter()
        .enumerate()
        .map(|(position, task)| (task.name(), position))
        .collect();
    let mut found = Vec::new();
    for (row, name) in tasks.try_iter()?.enumerate() {
        let name = name?.str()?.to_string();
        let task = match positions.get(name.as_str()) {
            Some(task) => *task,
            None => problem.task_position(&name).map_err(|unknown| {
                ObservationError::new_err(format!("row {row}: task: {unknown}"))
            })?,
        };
        let done = completed.get_item(row)?;
        let done = flag(&done).ok_or_else(|| {
            ObservationError::new_err(format!(
                "row {row}: completed: must be true or false (or 1, 0), not {done}"
            ))
        })?;
        let number = match (round, &rounds) {
            (Some(round), _) => round,
            (None, Some(rounds)) => {
                let cell = rounds.get_item(row)?;
                whole(&cell).ok_or_else(|| {
                    ObservationError::new_err(format!(
                        "row {row}: round: must be a whole number from 1 on, not {cell}"
                    ))
                })?
            }
            (None, None) => 0,
        };
        let reward = rewards.as_ref().and_then(|rewards| rewards.as_slice().get(row).copied());
        let reward = reward.filter(|reward| !reward.is_nan());
        found.push(Row { row, round: number, task, completed: done, reward });
    }
    Ok(found)
}

fn whole(cell: &Bound<'_, PyAny>) -> Option<u64> {
    if let Ok(number) = cell.extract::<u64>() {
        return Some(number);
    }
    let number = cell.extract::<f64>().ok()?;
    (number >= 1.0 && number.fract() == 0.0 && number < 9e15).then_some(number as u64)
}

/// A column as a numpy array, if the frame has it.
fn column<'py>(frame: &Bound<'py, PyAny>, title: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    if !frame.getattr("columns")?.contains(title)? {
        return Ok(None);
    }
    frame.get_item(title)?.call_method0("to_numpy").map(Some)
}

fn missing(frame: &Bound<'_, PyAny>, title: &str) -> PyErr {
    let known = frame.getattr("columns").and_then(|columns| {
        columns.try_iter()?.map(|title| Ok(title?.str()?.to_string())).collect()
    });
    let known: Vec<String> = known.unwrap_or_default();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    ObservationError::new_err(format!(
        "observe: the data frame has no column {title}; it has {}",
        outlay::text::listed(&known)
    ))
}
