//! Plans from CSV: columns `task` and `spend`, one row a task; other columns are ignored, so that
//! what `allocate --format csv` writes can be read back.

use std::path::Path;

use outlay::Problem;

use crate::failure::Failure;
use crate::input;
use crate::input::csv_table::CsvTable;
use crate::input::suggestion::listed;
use crate::input::task_names::TaskNames;

/// What the file gives each task of the problem, or everything that is wrong with it.
pub(crate) fn read(problem: &Problem, path: &Path) -> Result<Vec<f64>, Failure> {
    let (place, text) = (input::display_name(path), input::text(path)?);
    let rows = CsvTable::new(&place, &text)?;
    let meant = "a plan has the columns task and spend";
    let (task_column, spend_column) = (rows.column("task", meant)?, rows.column("spend", meant)?);
    let mut names = TaskNames::new(problem);
    let mut seen: Vec<Option<(u64, f64)>> = vec![None; problem.tasks().len()];
    let mut errors = rows.each(|row| {
        let name = row.text(task_column);
        let position = names.find(name)?;
        if let Some((first, _)) = seen[position] {
            return Err(format!("{name} again, first on line {first}"));
        }
        // Also a row with a wrong spend is the task's row.
        seen[position] = Some((row.line, 0.0));
        seen[position] = Some((row.line, row.amount(spend_column, &format!("spend of {name}"))?));
        Ok(())
    });
    let missing: Vec<&str> = problem
        .tasks()
        .iter()
        .zip(&seen)
        .filter(|(_, seen)| seen.is_none())
        .map(|(task, _)| task.name())
        .collect();
    if !missing.is_empty() {
        errors.push(format!(
            "no row for {}: give every task, with spend 0 if it gets nothing",
            listed(&missing)
        ));
    }
    if !errors.is_empty() {
        return Err(Failure::many(&place, &errors));
    }
    Ok(seen.into_iter().flatten().map(|(_, spend)| spend).collect())
}
