//! Values of the tasks, from `--values` or the problem.

use outlay::Problem;
use outlay::text::listed;

use crate::failure::Failure;

/// The tasks' values; `given` overrides those of the problem.
pub(crate) fn values(problem: &Problem, given: Option<&str>) -> Result<Vec<f64>, Failure> {
    let mut values: Vec<Option<f64>> = problem.tasks().iter().map(outlay::Task::value).collect();
    match given {
        Some(given) if given.contains('=') => set_by_name(problem, &mut values, given)?,
        Some(given) => set_in_order(&mut values, given)?,
        None => {}
    }
    let missing: Vec<&str> = problem
        .tasks()
        .iter()
        .zip(&values)
        .filter(|(_, value)| value.is_none())
        .map(|(task, _)| task.name())
        .collect();
    if !missing.is_empty() {
        return Err(Failure(format!(
            "no value for {}: give value, reward.mean, or --values",
            listed(&missing)
        )));
    }
    Ok(values.into_iter().flatten().collect())
}

fn set_in_order(values: &mut [Option<f64>], given: &str) -> Result<(), Failure> {
    let numbers =
        given.split(',').map(|text| number(text, text)).collect::<Result<Vec<f64>, Failure>>()?;
    if numbers.len() != values.len() {
        return Err(Failure(format!(
            "--values: {} numbers for {} tasks; use name=number to set only some",
            numbers.len(),
            values.len()
        )));
    }
    for (value, number) in values.iter_mut().zip(numbers) {
        *value = Some(number);
    }
    Ok(())
}

fn set_by_name(problem: &Problem, values: &mut [Option<f64>], given: &str) -> Result<(), Failure> {
    let mut is_set = vec![false; values.len()];
    for pair in given.split(',') {
        let Some((name, text)) = pair.rsplit_once('=') else {
            return Err(Failure(format!(
                "--values: {pair} has no task; give all values as name=number, or all as numbers"
            )));
        };
        let name = name.trim();
        let position = problem
            .task_position(name)
            .map_err(|unknown| Failure(format!("--values: {unknown}")))?;
        if std::mem::replace(&mut is_set[position], true) {
            return Err(Failure(format!("--values: {name} is given twice")));
        }
        values[position] = Some(number(text, pair)?);
    }
    Ok(())
}

fn number(text: &str, shown: &str) -> Result<f64, Failure> {
    match text.trim().parse::<f64>() {
        Ok(number) if number >= 0.0 && number.is_finite() => Ok(number),
        Ok(_) => Err(Failure(format!("--values: {shown} must be finite and not negative"))),
        Err(_) => Err(Failure(format!("--values: {shown} is not a number"))),
    }
}
