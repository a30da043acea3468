//! Plans from CSV: columns `task` and `spend`, one row a task; other columns are ignored, so that what
//! `allocate --format csv` writes can be read back.

use std::collections::HashMap;
use std::path::Path;

use outlay::Problem;
use outlay::problem::ProblemErrors;

use crate::failure::Failure;
use crate::input;
use crate::values::{listed, unknown_task};

/// What the file gives each task of the problem, or everything that is wrong with it.
pub(crate) fn read(problem: &Problem, path: &Path) -> Result<Vec<f64>, Failure> {
    parse(problem, &input::text(path)?).map_err(|errors| Failure::many(&input::place(path), &errors))
}

fn parse(problem: &Problem, text: &str) -> Result<Vec<f64>, Vec<String>> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.trim_start_matches('\u{feff}').as_bytes());
    let header = reader.headers().map_err(|error| vec![error.to_string()])?.clone();
    let (task_column, spend_column) = columns(&header)?;
    let positions: HashMap<&str, usize> = problem.tasks().iter().enumerate().map(|(position, task)| (task.name(), position)).collect();
    let mut errors = Vec::new();
    let mut seen: Vec<Option<(u64, f64)>> = vec![None; problem.tasks().len()];
    for record in reader.records() {
        let record = record.map_err(|error| vec![error.to_string()])?;
        let line = record.position().map_or(0, csv::Position::line);
        let name = record.get(task_column).unwrap_or_default();
        let Some(&position) = positions.get(name) else {
            // Looking for the nearest name takes long in a long file of wrong ones, of which only the first are shown.
            let message =
                if errors.len() < ProblemErrors::SHOWN { unknown_task(problem, name) } else { format!("no task is named {name}") };
            errors.push(format!("line {line}: {message}"));
            continue;
        };
        if let Some((first, _)) = seen[position] {
            errors.push(format!("line {line}: {name} again, first on line {first}"));
            continue;
        }
        let spend = amount(record.get(spend_column).unwrap_or_default()).unwrap_or_else(|message| {
            errors.push(format!("line {line}: spend of {name}: {message}"));
            0.0
        });
        seen[position] = Some((line, spend));
    }
    let missing: Vec<&str> = problem.tasks().iter().zip(&seen).filter(|(_, seen)| seen.is_none()).map(|(task, _)| task.name()).collect();
    if !missing.is_empty() {
        errors.push(format!("no row for {}: give every task, with spend 0 if it gets nothing", listed(&missing)));
    }
    if errors.is_empty() { Ok(seen.into_iter().flatten().map(|(_, spend)| spend).collect()) } else { Err(errors) }
}

fn columns(header: &csv::StringRecord) -> Result<(usize, usize), Vec<String>> {
    let column = |name: &str| header.iter().position(|column| column == name);
    match (column("task"), column("spend")) {
        (Some(task), Some(spend)) => Ok((task, spend)),
        (task, _) => {
            let absent = if task.is_none() { "task" } else { "spend" };
            let found: Vec<&str> = header.iter().collect();
            Err(vec![format!("line 1: no column {absent}; a plan has the columns task and spend, this has {}", listed(&found))])
        }
    }
}

fn amount(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(amount) if amount >= 0.0 && amount.is_finite() => Ok(amount),
        Ok(amount) => Err(format!("must be finite and not negative, not {amount}")),
        Err(_) => Err(format!("must be a number, not \"{text}\"")),
    }
}
