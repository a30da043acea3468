//! Reading a log: a CSV file with the trials of each task.

use std::collections::HashMap;
use std::path::Path;

use outlay::fit::{Observations, Requirements, Rewards};
use outlay_report::fit::{TaskData, TaskLog};

use super::wide;
use crate::args::FitArgs;
use crate::failure::Failure;
use crate::input;
use crate::input::csv_table::{CsvFile, CsvRow, CsvTable};
use crate::input::task_names::similar_names;

/// The columns of one task, or of all tasks if a column names them.
pub(super) struct Source {
    /// The task, if no column names it.
    task: Option<String>,
    names: Names,
    columns: Columns,
    /// True if a row may have empty cells for the task.
    may_be_absent: bool,
}

/// Positions of the columns.
struct Columns {
    tasks: Vec<usize>,
    /// Column of the spend or of the required spend.
    amount: usize,
    success: Option<usize>,
    trials: Option<usize>,
    reward: Option<usize>,
}

/// Names of the columns, for messages.
pub(super) struct Names {
    pub(super) tasks: Vec<String>,
    pub(super) amount: String,
    pub(super) success: Option<String>,
    pub(super) trials: Option<String>,
    pub(super) reward: Option<String>,
    /// True if amounts are required spends.
    pub(super) needs: bool,
}

/// Rows of one task while the file is read.
#[derive(Default)]
struct Collected {
    outcomes: Vec<(f64, f64, f64)>,
    needs: Vec<(f64, bool)>,
    rewards: Rewards,
}

/// The trials of one row.
struct Seen {
    amount: f64,
    trials: f64,
    successes: f64,
    reward: Option<f64>,
}

/// The trials of all tasks, in the order of their first rows, and remarks on the file.
pub(super) struct Log {
    pub(super) tasks: Vec<TaskLog>,
    pub(super) remarks: Vec<String>,
}

/// Reads the log.
pub(super) fn read(arguments: &FitArgs) -> Result<Log, Failure> {
    let file = CsvFile::read(&arguments.log)?;
    let rows = CsvTable::new(&file, arguments.csv.form())?;
    let mut remarks = Vec::new();
    let sources = if arguments.wide {
        wide::sources(arguments, &rows, &mut remarks)?
    } else {
        vec![long_source(arguments, &rows)?]
    };
    let mut collected = Tasks::default();
    let mut name = String::new();
    let errors = rows
        .each(|row| sources.iter().try_for_each(|source| collected.take(row, source, &mut name)));
    if !errors.is_empty() {
        return Err(Failure::many(&file.name, &errors));
    }
    if collected.tasks.is_empty() {
        return Err(Failure(format!("{} has a header but no rows", file.name)));
    }
    remarks.extend(file.remark);
    remarks.extend(similar_names(collected.tasks.iter().map(|(name, _)| name.as_str())));
    let needs = arguments.threshold.is_some();
    let tasks = collected.tasks.into_iter().map(|(name, collected)| collected.finish(name, needs));
    Ok(Log { tasks: tasks.collect::<Result<_, _>>()?, remarks })
}

/// The rows of all tasks while the file is read.
#[derive(Default)]
struct Tasks {
    tasks: Vec<(String, Collected)>,
    positions: HashMap<String, usize>,
}

impl Tasks {
    /// Takes the trials of a row from one source. `name` is scratch space.
    fn take(&mut self, row: &CsvRow<'_>, source: &Source, name: &mut String) -> Result<(), String> {
        if source.is_absent(row) {
            return Ok(());
        }
        source.name(row, name)?;
        let seen = source.seen(row)?;
        let position = match self.positions.get(name) {
            Some(&position) => position,
            None => {
                self.positions.insert(name.clone(), self.tasks.len());
                self.tasks.push((name.clone(), Collected::default()));
                self.tasks.len() - 1
            }
        };
        let collected = &mut self.tasks[position].1;
        if source.names.needs {
            collected.needs.push((seen.amount, seen.successes > 0.0));
        } else {
            collected.outcomes.push((seen.amount, seen.trials, seen.successes));
        }
        if let Some(reward) = seen.reward {
            collected.rewards.add(seen.successes, reward);
        }
        Ok(())
    }
}

impl Collected {
    fn finish(self, name: String, needs: bool) -> Result<TaskLog, Failure> {
        let data = if needs {
            TaskData::Requirements(Requirements::new(self.needs)?)
        } else {
            TaskData::Outcomes(Observations::new(self.outcomes)?)
        };
        Ok(TaskLog { name, data, rewards: self.rewards })
    }
}

/// The columns that the flags name.
fn long_source(arguments: &FitArgs, table: &CsvTable<'_>) -> Result<Source, Failure> {
    let amount = arguments.threshold.as_ref().or(arguments.spend.as_ref());
    let names = Names {
        tasks: arguments.tasks.clone(),
        amount: amount.cloned().unwrap_or_default(),
        success: arguments.success.clone(),
        trials: arguments.trials.clone(),
        reward: arguments.reward.clone(),
        needs: arguments.threshold.is_some(),
    };
    let task = arguments.tasks.is_empty().then(|| default_name(&arguments.log));
    Source::new(task, names, table)
}

impl Source {
    /// Finds the columns.
    pub(super) fn new(
        task: Option<String>,
        names: Names,
        table: &CsvTable<'_>,
    ) -> Result<Self, Failure> {
        let find = |flag: &str, name: &str| table.column(name, &format!("given by {flag}"));
        let optional = |flag: &str, name: &Option<String>| {
            name.as_deref().map(|name| find(flag, name)).transpose()
        };
        let tasks = names.tasks.iter().map(|name| find("--task", name));
        let columns = Columns {
            tasks: tasks.collect::<Result<_, _>>()?,
            amount: find(if names.needs { "--threshold" } else { "--spend" }, &names.amount)?,
            success: optional("--success", &names.success)?,
            trials: optional("--trials", &names.trials)?,
            reward: optional("--reward", &names.reward)?,
        };
        Ok(Self { task, names, columns, may_be_absent: false })
    }

    /// The same for a wide log, in which a row need not have a trial of every task.
    pub(super) fn of_wide_log(self) -> Self {
        Self { may_be_absent: true, ..self }
    }

    /// Whether the row has no trial of the task.
    fn is_absent(&self, row: &CsvRow<'_>) -> bool {
        let columns = &self.columns;
        let outcome = [columns.success, columns.trials, columns.reward];
        self.may_be_absent
            && row.text(columns.amount).is_empty()
            && outcome.into_iter().flatten().all(|column| row.text(column).is_empty())
    }

    /// Name of the task of a row: its columns joined with spaces.
    fn name(&self, row: &CsvRow<'_>, name: &mut String) -> Result<(), String> {
        name.clear();
        name.push_str(self.task.as_deref().unwrap_or_default());
        for (&column, title) in self.columns.tasks.iter().zip(&self.names.tasks) {
            let text = row.text(column);
            if text.is_empty() {
                return Err(format!("{title}: is empty; every row needs a task"));
            }
            if text.contains(char::is_control) {
                return Err(format!("{title}: must be one line without control characters"));
            }
            if !name.is_empty() {
                name.push(' ');
            }
            name.push_str(text);
        }
        Ok(())
    }

    fn seen(&self, row: &CsvRow<'_>) -> Result<Seen, String> {
        let (columns, names) = (&self.columns, &self.names);
        let amount = row.amount(columns.amount, &names.amount)?;
        let (trials, successes) = match (columns.trials, columns.success) {
            (Some(trials), Some(success)) => {
                let (trials, successes) = (
                    row.count_or_zero(trials, title(&names.trials))? as f64,
                    row.count_or_zero(success, title(&names.success))? as f64,
                );
                if successes > trials {
                    return Err(format!(
                        "{}: {successes} is more than {} = {trials}",
                        title(&names.success),
                        title(&names.trials)
                    ));
                }
                (trials, successes)
            }
            (_, Some(success)) => {
                (1.0, f64::from(u8::from(row.flag(success, title(&names.success))?)))
            }
            (_, None) => (1.0, 1.0),
        };
        // Rewards of failures are ignored.
        let reward = columns
            .reward
            .filter(|_| successes > 0.0)
            .map(|column| row.amount(column, title(&names.reward)))
            .transpose()?;
        Ok(Seen { amount, trials, successes, reward })
    }
}

/// The name of a column in messages.
fn title(name: &Option<String>) -> &str {
    name.as_deref().unwrap_or_default()
}

/// The file name without extension.
fn default_name(path: &Path) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().replace(char::is_control, " "));
    stem.filter(|stem| !input::is_stdin(path) && !stem.trim().is_empty())
        .unwrap_or_else(|| "task".to_owned())
}
