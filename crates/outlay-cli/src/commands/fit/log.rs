//! Reading a log: a CSV file with the trials of each task.

use std::collections::HashMap;
use std::path::Path;

use outlay::fit::{Observations, Requirements, Rewards};
use outlay_report::fit::{TaskData, TaskLog};

use crate::args::FitArgs;
use crate::failure::Failure;
use crate::input;
use crate::input::csv_table::{CsvRow, CsvTable};

/// Positions of the columns.
struct Columns {
    tasks: Vec<usize>,
    /// Column of the spend or of the required spend.
    amount: usize,
    success: Option<usize>,
    trials: Option<usize>,
    reward: Option<usize>,
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

/// Reads the log; tasks are in the order of their first rows.
pub(super) fn read(arguments: &FitArgs) -> Result<Vec<TaskLog>, Failure> {
    let file_name = input::display_name(&arguments.log);
    let text = input::text(&arguments.log)?;
    let rows = CsvTable::new(&file_name, &text)?;
    let columns = Columns::new(arguments, &rows)?;
    let names = Names::new(arguments);
    let mut tasks: Vec<(String, Collected)> = Vec::new();
    let mut positions: HashMap<String, usize> = HashMap::new();
    let single = default_name(&arguments.log);
    let mut name = String::new();
    let errors = rows.each(|row| {
        columns.name(row, &single, &names, &mut name)?;
        let seen = columns.seen(row, &names)?;
        let position = match positions.get(&name) {
            Some(&position) => position,
            None => {
                positions.insert(name.clone(), tasks.len());
                tasks.push((name.clone(), Collected::default()));
                tasks.len() - 1
            }
        };
        let collected = &mut tasks[position].1;
        if names.needs {
            collected.needs.push((seen.amount, seen.successes > 0.0));
        } else {
            collected.outcomes.push((seen.amount, seen.trials, seen.successes));
        }
        if let Some(reward) = seen.reward {
            collected.rewards.add(seen.successes, reward);
        }
        Ok(())
    });
    if !errors.is_empty() {
        return Err(Failure::many(&file_name, &errors));
    }
    if tasks.is_empty() {
        return Err(Failure(format!("{file_name} has a header but no rows")));
    }
    let finished = |(name, collected): (String, Collected)| {
        let data = if names.needs {
            TaskData::Requirements(Requirements::new(collected.needs)?)
        } else {
            TaskData::Outcomes(Observations::new(collected.outcomes)?)
        };
        Ok(TaskLog { name, data, rewards: collected.rewards })
    };
    tasks.into_iter().map(finished).collect()
}

/// Names of the columns, for messages.
struct Names<'a> {
    tasks: &'a [String],
    amount: &'a str,
    success: &'a str,
    trials: &'a str,
    reward: &'a str,
    /// True if amounts are required spends.
    needs: bool,
}

impl<'a> Names<'a> {
    fn new(arguments: &'a FitArgs) -> Self {
        let text = |name: &'a Option<String>| name.as_deref().unwrap_or_default();
        Self {
            tasks: &arguments.tasks,
            amount: text(if arguments.threshold.is_some() {
                &arguments.threshold
            } else {
                &arguments.spend
            }),
            success: text(&arguments.success),
            trials: text(&arguments.trials),
            reward: text(&arguments.reward),
            needs: arguments.threshold.is_some(),
        }
    }
}

impl Columns {
    fn new(arguments: &FitArgs, rows: &CsvTable<'_>) -> Result<Self, Failure> {
        let names = Names::new(arguments);
        let find = |flag: &str, name: &str| rows.column(name, &format!("given by {flag}"));
        let optional = |flag: &str, name: &Option<String>| {
            name.as_deref().map(|name| find(flag, name)).transpose()
        };
        Ok(Self {
            tasks: arguments
                .tasks
                .iter()
                .map(|name| find("--task", name))
                .collect::<Result<_, _>>()?,
            amount: find(if names.needs { "--threshold" } else { "--spend" }, names.amount)?,
            success: optional("--success", &arguments.success)?,
            trials: optional("--trials", &arguments.trials)?,
            reward: optional("--reward", &arguments.reward)?,
        })
    }

    /// Name of the task of a row: its columns joined with spaces.
    fn name(
        &self,
        row: &CsvRow<'_>,
        single: &str,
        names: &Names<'_>,
        name: &mut String,
    ) -> Result<(), String> {
        name.clear();
        for (&column, title) in self.tasks.iter().zip(names.tasks) {
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
        if name.is_empty() {
            name.push_str(single);
        }
        Ok(())
    }

    fn seen(&self, row: &CsvRow<'_>, names: &Names<'_>) -> Result<Seen, String> {
        let amount = row.amount(self.amount, names.amount)?;
        let (trials, successes) = match (self.trials, self.success) {
            (Some(trials), Some(success)) => {
                let (trials, successes) = (
                    whole_number(row, trials, names.trials)?,
                    whole_number(row, success, names.success)?,
                );
                if successes > trials {
                    return Err(format!(
                        "{}: {successes} is more than {} = {trials}",
                        names.success, names.trials
                    ));
                }
                (trials, successes)
            }
            (_, Some(success)) => (1.0, f64::from(u8::from(row.flag(success, names.success)?))),
            (_, None) => (1.0, 1.0),
        };
        // Rewards of failures are ignored.
        let reward = self
            .reward
            .filter(|_| successes > 0.0)
            .map(|column| row.amount(column, names.reward))
            .transpose()?;
        Ok(Seen { amount, trials, successes, reward })
    }
}

/// A whole number, including zero.
fn whole_number(row: &CsvRow<'_>, column: usize, what: &str) -> Result<f64, String> {
    if row.text(column) == "0" {
        return Ok(0.0);
    }
    row.count(column, what).map(|count| count as f64)
}

/// The file name without extension.
fn default_name(path: &Path) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().replace(char::is_control, " "));
    stem.filter(|stem| !input::is_stdin(path) && !stem.trim().is_empty())
        .unwrap_or_else(|| "task".to_owned())
}
