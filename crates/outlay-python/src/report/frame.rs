//! The rows of a data frame of outcomes: round, task, completed or completions, reward and spend.

use std::collections::HashMap;

use outlay::Problem;
use pyo3::prelude::*;

use super::{COMPLETED, COMPLETIONS, REWARD, SPEND, TaskReport, whole};
use crate::arrays::{List, flag, numbers};
use crate::errors::ObservationError;

/// One row.
pub(crate) struct Row {
    /// Its position, counted from 0.
    pub(crate) row: usize,
    pub(crate) round: u64,
    pub(crate) task: usize,
    pub(crate) report: TaskReport,
}

/// The columns of a frame.
struct Columns<'py> {
    task: Bound<'py, PyAny>,
    /// May be absent if all rows are of one round.
    round: Option<Bound<'py, PyAny>>,
    counts: Bound<'py, PyAny>,
    /// Whether the counts are completions, and not flags.
    are_completions: bool,
    reward: Option<List<'py, f64>>,
    spend: Option<List<'py, f64>>,
}

/// The rows of a frame whose outcomes are known: rows without completions are skipped. Without a
/// column `round` all rows are of the given round.
pub(crate) fn rows(
    problem: &Problem,
    frame: &Bound<'_, PyAny>,
    round: Option<u64>,
) -> PyResult<Vec<Row>> {
    let columns = Columns::new(frame, round.is_some())?;
    let positions: HashMap<&str, usize> = problem
        .tasks()
        .iter()
        .enumerate()
        .map(|(position, task)| (task.name(), position))
        .collect();
    let mut found = Vec::new();
    for (row, name) in columns.task.try_iter()?.enumerate() {
        let refuse = |text: String| ObservationError::new_err(format!("row {row}: {text}"));
        let name = name?.str()?.to_string();
        let task = match positions.get(name.as_str()) {
            Some(task) => *task,
            None => problem
                .task_position(&name)
                .map_err(|unknown| refuse(format!("task: {unknown}")))?,
        };
        let own = columns.round(row)?;
        if let Some((own, round)) = own.zip(round).filter(|(own, round)| own != round) {
            let text = format!("round: is {own}, but the report is of round {round}");
            return Err(refuse(text));
        }
        let round = own.or(round).unwrap_or_default();
        if let Some(report) = columns.report(row)? {
            found.push(Row { row, round, task, report });
        }
    }
    Ok(found)
}

impl<'py> Columns<'py> {
    fn new(frame: &Bound<'py, PyAny>, has_round: bool) -> PyResult<Self> {
        let task = column(frame, "task")?.ok_or_else(|| missing(frame, "task"))?;
        let (flags, counts) = (column(frame, COMPLETED.name)?, column(frame, COMPLETIONS.name)?);
        let are_completions = counts.is_some();
        let counts = match (flags, counts) {
            (Some(_), Some(_)) => {
                let message =
                    "the data frame has both completed and completions: drop one of the columns";
                return Err(ObservationError::new_err(message));
            }
            (flags, counts) => {
                flags.or(counts).ok_or_else(|| missing(frame, "completed or completions"))?
            }
        };
        let round = column(frame, "round")?;
        if round.is_none() && !has_round {
            return Err(missing(frame, "round"));
        }
        let amounts = |name: &'static str| {
            let given = column(frame, name)?;
            given.map(|given| numbers(&given, name, ObservationError::new_err)).transpose()
        };
        let (reward, spend) = (amounts(REWARD.name)?, amounts(SPEND.name)?);
        Ok(Self { task, round, counts, are_completions, reward, spend })
    }

    fn round(&self, row: usize) -> PyResult<Option<u64>> {
        let Some(rounds) = &self.round else { return Ok(None) };
        let cell = rounds.get_item(row)?;
        let number = cell.extract::<f64>().ok().and_then(whole).filter(|round| *round > 0);
        number.map(Some).ok_or_else(|| {
            ObservationError::new_err(format!(
                "row {row}: round: must be a whole number from 1 on, not {cell}"
            ))
        })
    }

    /// The outcome of a row; absent if its completions are empty.
    fn report(&self, row: usize) -> PyResult<Option<TaskReport>> {
        let cell = self.counts.get_item(row)?;
        let name = if self.are_completions { COMPLETIONS.name } else { COMPLETED.name };
        let known = |list: &Option<List<'_, f64>>| {
            let number = list.as_ref().and_then(|list| list.as_slice().get(row).copied());
            number.filter(|number| !number.is_nan())
        };
        let (reward, spend) = (known(&self.reward), known(&self.spend));
        if is_empty(&cell) {
            return match reward {
                None => Ok(None),
                Some(_) => Err(ObservationError::new_err(format!(
                    "row {row}: reward is given, but {name} is empty"
                ))),
            };
        }
        let completions = match self.are_completions {
            true => cell.extract::<f64>().ok().and_then(whole),
            false => flag(&cell).map(u64::from),
        };
        let expected = match self.are_completions {
            true => "a whole number from 0 on",
            false => "true or false (or 1, 0)",
        };
        let completions = completions.ok_or_else(|| {
            ObservationError::new_err(format!("row {row}: {name}: must be {expected}, not {cell}"))
        })?;
        Ok(Some(TaskReport { completions, reward, spend }))
    }
}

/// None, NaN and the missing values of pandas.
fn is_empty(cell: &Bound<'_, PyAny>) -> bool {
    cell.is_none()
        || cell.get_type().name().is_ok_and(|name| name == "NAType")
        || cell.extract::<f64>().is_ok_and(f64::is_nan)
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
        "the data frame has no column {title}; it has {}",
        outlay::text::listed(&known)
    ))
}
