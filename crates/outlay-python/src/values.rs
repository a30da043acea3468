//! What a success of each task is worth, or what a plan gives each: in order, or by name.

use outlay::text::listed;
use outlay::{Problem, Task};
use pyo3::prelude::*;
use pyo3::types::PyMapping;

use crate::arrays::numbers;
use crate::errors::AllocationError;

/// The tasks' values, `given` before the problem's own. By name some may be given, in order all.
pub(crate) fn values(problem: &Problem, given: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<f64>> {
    let mut values: Vec<Option<f64>> = problem.tasks().iter().map(Task::value).collect();
    match given.map(|given| (given, given.cast::<PyMapping>())) {
        Some((_, Ok(named))) => {
            for (position, number) in by_name(problem, named, "values")? {
                values[position] = Some(number);
            }
        }
        Some((given, Err(_))) => return in_order(problem, given),
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

/// What a plan gives each task; every task must be named.
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
        Some((given, Err(_))) => {
            return Ok(numbers(given, "plan", AllocationError::new_err)?.as_slice().to_vec());
        }
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

fn in_order(problem: &Problem, given: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    let given = numbers(given, "values", AllocationError::new_err)?;
    let (list, tasks) = (given.as_slice(), problem.tasks().len());
    if list.len() != tasks {
        return Err(AllocationError::new_err(format!(
            "values: {} numbers for {tasks} tasks; a mapping from names sets only some",
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
    let mut found = Vec::new();
    for item in named.items()?.iter() {
        let (name, number): (String, Bound<'_, PyAny>) = item.extract()?;
        let position = problem
            .task_position(&name)
            .map_err(|unknown| AllocationError::new_err(format!("{what}: {unknown}")))?;
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
