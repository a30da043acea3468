//! One number per task: values or the spends of a plan, in the order of the tasks or by name.

use std::collections::HashMap;

use outlay::text::listed;
use outlay::{Problem, Task};
use pyo3::prelude::*;
use pyo3::types::PyMapping;

use crate::arrays::numbers;
use crate::errors::AllocationError;
use crate::labels::{Argument, aligned};

const VALUES: Argument =
    Argument { name: "values", column: "value", error: AllocationError::new_err::<String> };
const SCALE: Argument =
    Argument { name: "scale", column: "scale", error: AllocationError::new_err::<String> };
const VOLUME: Argument =
    Argument { name: "volume", column: "volume", error: AllocationError::new_err::<String> };
const PLAN: Argument =
    Argument { name: "plan", column: "spend", error: AllocationError::new_err::<String> };
/// From this many names on, a hash table finds tasks faster than a search.
const MANY_NAMES: usize = 16;

/// The tasks' values: the given ones, else the problem's. A mapping may set only some of them.
pub(crate) fn values(problem: &Problem, given: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<f64>> {
    let mut values: Vec<Option<f64>> = problem.tasks().iter().map(Task::value).collect();
    match given.map(|given| (given, given.cast::<PyMapping>())) {
        Some((_, Ok(named))) => {
            for (position, number) in by_name(problem, named, "values")? {
                values[position] = Some(number);
            }
        }
        Some((given, Err(_))) => return in_order(problem, given, VALUES),
        None => {}
    }
    let missing: Vec<&str> = problem
        .tasks()
        .iter()
        .zip(&values)
        .filter(|(_, value)| value.is_none())
        .map(|(task, _)| task.name())
        .collect();
    if missing.is_empty() {
        Ok(values.into_iter().flatten().collect())
    } else {
        Err(AllocationError::new_err(format!(
            "no value for {}: give value, reward.mean, or values",
            listed(&missing)
        )))
    }
}

/// The scales and volumes of a round, one entry per task. A mapping may name only some of the tasks.
#[derive(Default)]
pub(crate) struct RoundCurves {
    pub(crate) scale: Option<Vec<f64>>,
    pub(crate) volume: Option<Vec<f64>>,
}

impl RoundCurves {
    pub(crate) fn new(
        problem: &Problem,
        scale: Option<&Bound<'_, PyAny>>,
        volume: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        Ok(Self {
            scale: of_round(problem, scale, SCALE, |_| 1.0)?,
            volume: of_round(problem, volume, VOLUME, Task::volume)?,
        })
    }
}

fn of_round(
    problem: &Problem,
    given: Option<&Bound<'_, PyAny>>,
    argument: Argument,
    default: impl Fn(&Task) -> f64,
) -> PyResult<Option<Vec<f64>>> {
    let Some(given) = given else { return Ok(None) };
    let Ok(named) = given.cast::<PyMapping>() else {
        return in_order(problem, given, argument).map(Some);
    };
    let mut numbers: Vec<f64> = problem.tasks().iter().map(default).collect();
    for (position, number) in by_name(problem, named, argument.name)? {
        numbers[position] = number;
    }
    Ok(Some(numbers))
}

/// The spends of a plan. A mapping must name every task.
pub(crate) fn plan(problem: &Problem, given: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<f64>> {
    let mut spends: Vec<Option<f64>> = vec![None; problem.tasks().len()];
    match given.map(|given| (given, given.cast::<PyMapping>())) {
        None => {
            spends
                .iter_mut()
                .zip(problem.tasks())
                .for_each(|(spend, task)| *spend = task.current());
            let missing = unnamed(problem, &spends);
            if !missing.is_empty() {
                return Err(AllocationError::new_err(format!(
                    "no plan: give plan, or current for {}",
                    listed(&missing)
                )));
            }
        }
        Some((_, Ok(named))) => {
            for (position, number) in by_name(problem, named, "plan")? {
                spends[position] = Some(number);
            }
            let missing = unnamed(problem, &spends);
            if !missing.is_empty() {
                let message = format!(
                    "plan: no spend for {}: give every task, with spend 0 if it gets nothing",
                    listed(&missing)
                );
                return Err(AllocationError::new_err(message));
            }
        }
        Some((given, Err(_))) => return in_order(problem, given, PLAN),
    }
    Ok(spends.into_iter().flatten().collect())
}

fn unnamed<'a>(problem: &'a Problem, numbers: &[Option<f64>]) -> Vec<&'a str> {
    problem
        .tasks()
        .iter()
        .zip(numbers)
        .filter(|(_, number)| number.is_none())
        .map(|(task, _)| task.name())
        .collect()
}

fn in_order(problem: &Problem, given: &Bound<'_, PyAny>, argument: Argument) -> PyResult<Vec<f64>> {
    let given = aligned(problem, given, argument)?;
    let given = numbers(&given, argument.name, argument.error)?;
    let (list, tasks) = (given.as_slice(), problem.tasks().len());
    if list.len() != tasks && argument.name != "plan" {
        return Err((argument.error)(format!(
            "{}: {} numbers for {tasks} tasks; a mapping from names sets only some",
            argument.name,
            list.len()
        )));
    }
    Ok(list.to_vec())
}

fn by_name(
    problem: &Problem,
    named: &Bound<'_, PyMapping>,
    what: &str,
) -> PyResult<Vec<(usize, f64)>> {
    let items = named.items()?;
    let positions: HashMap<&str, usize> = if items.len() < MANY_NAMES {
        HashMap::new()
    } else {
        problem.tasks().iter().enumerate().map(|(position, task)| (task.name(), position)).collect()
    };
    let mut found = Vec::with_capacity(items.len());
    for item in items.iter() {
        let (name, number): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let name = name.str()?.to_string();
        let position = match positions.get(name.as_str()) {
            Some(position) => *position,
            None => problem
                .task_position(&name)
                .map_err(|unknown| AllocationError::new_err(format!("{what}: {unknown}")))?,
        };
        match number.extract::<f64>() {
            Ok(number) if number >= 0.0 && number.is_finite() => found.push((position, number)),
            Ok(number) => {
                return Err(AllocationError::new_err(format!(
                    "{what}: {name}={number} must be finite and not negative"
                )));
            }
            Err(_) => {
                return Err(AllocationError::new_err(format!("{what}: {name} is not a number")));
            }
        }
    }
    Ok(found)
}
