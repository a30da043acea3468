//! Reading recorded rows from CSV: required spends, or outcomes of spends.

use std::collections::BTreeMap;

use outlay::replay::{OutcomeRow, TaskRows, ThresholdRow};
use outlay::{Problem, Task};

use crate::args::ReplayArgs;
use crate::failure::Failure;
use crate::input::csv_table::{CsvFile, CsvRow, CsvTable};
use crate::input::task_names::{TaskNames, similar_names};
use outlay::text::{listed, nearest};

/// The rows of each task, and remarks on the file.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) tasks: Vec<TaskRows>,
    pub(super) remarks: Vec<String>,
}

const EXPECTED_COLUMNS: &str = "recorded rows have the columns task, threshold and reward, or \
     task, spend, success and reward; --task, --threshold, --spend, --success and --reward name \
     others";

/// Positions of the columns.
struct Columns {
    task: Vec<usize>,
    kind: Kind,
    reward: usize,
}

enum Kind {
    Threshold(usize),
    Outcome { spend: usize, success: usize },
}

impl Columns {
    fn find(rows: &CsvTable<'_>, arguments: &ReplayArgs) -> Result<Self, Failure> {
        let task = match rows.optional(&arguments.task) {
            Some(column) => vec![column],
            None => arguments
                .task
                .split(',')
                .map(|name| rows.column(name.trim(), EXPECTED_COLUMNS))
                .collect::<Result<_, _>>()?,
        };
        let outcome = || -> Result<Kind, Failure> {
            let column = |name: &Option<String>, default| {
                rows.column(name.as_deref().unwrap_or(default), EXPECTED_COLUMNS)
            };
            Ok(Kind::Outcome {
                spend: column(&arguments.spend, "spend")?,
                success: column(&arguments.success, "success")?,
            })
        };
        let kind = match &arguments.threshold {
            Some(name) => Kind::Threshold(rows.column(name, EXPECTED_COLUMNS)?),
            None if arguments.spend.is_some() || arguments.success.is_some() => outcome()?,
            None => match rows.optional("threshold") {
                Some(column) => Kind::Threshold(column),
                // If one of the two columns exists, report the other as missing; otherwise the
                // threshold.
                None if rows.optional("spend").or(rows.optional("success")).is_some() => outcome()?,
                None => Kind::Threshold(rows.column("threshold", EXPECTED_COLUMNS)?),
            },
        };
        Ok(Self { task, kind, reward: rows.column(&arguments.reward, EXPECTED_COLUMNS)? })
    }

    fn name(&self, row: &CsvRow<'_>) -> String {
        self.task
            .iter()
            .map(|&column| row.text(column))
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn no_rows(&self) -> TaskRows {
        match self.kind {
            Kind::Threshold(_) => TaskRows::Thresholds(Vec::new()),
            Kind::Outcome { .. } => TaskRows::Outcomes(Vec::new()),
        }
    }

    fn take(&self, row: &CsvRow<'_>, reward_max: f64, into: &mut TaskRows) -> Result<(), String> {
        match (&self.kind, into) {
            (Kind::Threshold(threshold), TaskRows::Thresholds(rows)) => {
                let (threshold, reward) =
                    (row.amount(*threshold, "threshold")?, self.reward(row, reward_max)?);
                rows.push(ThresholdRow { threshold, reward });
            }
            (Kind::Outcome { spend, success }, TaskRows::Outcomes(rows)) => {
                let (spend, success) =
                    (row.amount(*spend, "spend")?, row.flag(*success, "success")?);
                let is_unknown = !success && row.text(self.reward).is_empty();
                let reward = if is_unknown { None } else { Some(self.reward(row, reward_max)?) };
                rows.push(OutcomeRow { spend, success, reward });
            }
            _ => {}
        }
        Ok(())
    }

    fn reward(&self, row: &CsvRow<'_>, reward_max: f64) -> Result<f64, String> {
        let reward = row.amount(self.reward, "reward")?;
        if reward > reward_max {
            return Err(format!(
                "reward: {reward} is above reward_max = {reward_max} of the problem; increase reward_max"
            ));
        }
        Ok(reward)
    }
}

/// Parses the rows.
pub(super) fn read(
    problem: &Problem,
    arguments: &ReplayArgs,
    file: &CsvFile,
) -> Result<Recorded, Failure> {
    let rows = CsvTable::new(file, arguments.csv.form())?;
    let columns = Columns::find(&rows, arguments)?;
    let names = TaskNames::new(problem);
    let mut tasks: Vec<TaskRows> = problem.tasks().iter().map(|_| columns.no_rows()).collect();
    let mut others: BTreeMap<String, usize> = BTreeMap::new();
    let mut seen = vec![false; tasks.len()];
    let mut errors = rows.each(|row| {
        let name = columns.name(row);
        let Some(position) = names.position(&name) else {
            *others.entry(name).or_default() += 1;
            return Ok(());
        };
        seen[position] = true;
        columns.take(row, problem.reward_max(), &mut tasks[position])
    });
    // A task with invalid rows still has rows.
    let missing: Vec<&str> = problem
        .tasks()
        .iter()
        .zip(&seen)
        .filter(|(_, seen)| !**seen)
        .map(|(task, _)| task.name())
        .collect();
    if !missing.is_empty() {
        errors.push(no_rows(&missing, &others));
    }
    if !errors.is_empty() {
        return Err(Failure::many(&file.name, &errors));
    }
    let mut remarks: Vec<String> = file.remark.iter().cloned().collect();
    remarks.extend(left_out(&others));
    let names = problem.tasks().iter().map(Task::name).chain(others.keys().map(String::as_str));
    remarks.extend(similar_names(names));
    Ok(Recorded { tasks, remarks })
}

/// The error that tasks have no rows, with a suggestion.
fn no_rows(missing: &[&str], others: &BTreeMap<String, usize>) -> String {
    let hint = missing
        .iter()
        .find_map(|name| Some((name, nearest(name, others.keys().map(String::as_str))?)));
    let hint = match hint {
        Some((name, near)) => format!("; is {name} called {near} in the file?"),
        None if others.is_empty() => String::new(),
        None => format!(
            "; the file has {}",
            listed(&others.keys().map(String::as_str).collect::<Vec<_>>())
        ),
    };
    format!("no row for {}: every task of the problem needs at least one{hint}", listed(missing))
}

fn left_out(others: &BTreeMap<String, usize>) -> Vec<String> {
    if others.is_empty() {
        return Vec::new();
    }
    let rows: usize = others.values().sum();
    let (rows, are) =
        if rows == 1 { ("1 row".to_owned(), "is") } else { (format!("{rows} rows"), "are") };
    let names: Vec<&str> = others.keys().map(String::as_str).collect();
    vec![format!(
        "{rows} {are} ignored, because the problem does not have the tasks: {}",
        listed(&names)
    )]
}
