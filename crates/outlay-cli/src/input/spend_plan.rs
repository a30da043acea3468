//! Plans as CSV files: columns `task` and `spend`, one row per task. Other columns are ignored, so
//! that the output of `allocate --format csv` can be read.

use std::path::Path;

use outlay::Problem;

use crate::failure::Failure;
use crate::input::csv_table::{CsvFile, CsvForm, CsvTable};
use crate::input::task_names::TaskNames;
use outlay::text::listed;

/// Reads the spend of each task of the problem. The remarks are about the file.
pub(crate) fn read(
    problem: &Problem,
    path: &Path,
    form: CsvForm<'_>,
    remarks: &mut Vec<String>,
) -> Result<Vec<f64>, Failure> {
    let file = CsvFile::read(path)?;
    let rows = CsvTable::new(&file, form)?;
    let expected_columns = "a plan has the columns task and spend";
    let (task_column, spend_column) =
        (rows.column("task", expected_columns)?, rows.column("spend", expected_columns)?);
    let mut names = TaskNames::new(problem);
    let mut seen: Vec<Option<(u64, f64)>> = vec![None; problem.tasks().len()];
    let mut errors = rows.each(|row| {
        let name = row.text(task_column);
        let position = names.find(name)?;
        if let Some((first, _)) = seen[position] {
            return Err(format!("{name} was already given on line {first}"));
        }
        // A row with an invalid spend still counts as the row of the task.
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
            "no row for {}: every task needs a row, with spend 0 if it receives nothing",
            listed(&missing)
        ));
    }
    if !errors.is_empty() {
        return Err(Failure::many(&file.name, &errors));
    }
    remarks.extend(file.remark);
    Ok(seen.into_iter().flatten().map(|(_, spend)| spend).collect())
}
