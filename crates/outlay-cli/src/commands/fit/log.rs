//! Reading a log: a CSV file with the trials of each task.

use std::collections::HashMap;
use std::path::Path;

use outlay::fit::{CountLog, Observations, Requirements, Rewards};
use outlay_report::fit::{TaskData, TaskLog};

use super::wide;
use crate::args::FitArgs;
use crate::failure::Failure;
use crate::input;
use crate::input::csv_table::{CsvFile, CsvRow, CsvTable};
use crate::input::date::Date;
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
    count: Option<usize>,
    revenue: Option<usize>,
}

/// Names of the columns, for messages.
pub(super) struct Names {
    pub(super) tasks: Vec<String>,
    pub(super) amount: String,
    pub(super) success: Option<String>,
    pub(super) trials: Option<String>,
    pub(super) reward: Option<String>,
    pub(super) count: Option<String>,
    pub(super) revenue: Option<String>,
    /// True if amounts are required spends.
    pub(super) needs: bool,
}

/// Rows of one task while the file is read.
#[derive(Default)]
struct Collected {
    outcomes: Vec<(f64, f64, f64)>,
    needs: Vec<(f64, bool)>,
    counts: Vec<(f64, f64)>,
    rewards: Rewards,
}

/// The trials of one row. With counts, the successes are the completions.
struct Seen {
    amount: f64,
    trials: f64,
    successes: f64,
    /// The mean reward of a success.
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
    let period = Period::new(arguments, &rows)?;
    let mut collected = Tasks::default();
    let (mut name, mut outside) = (String::new(), 0_usize);
    let errors = rows.each(|row| {
        if let Some(period) = &period
            && !period.contains(row)?
        {
            outside += 1;
            return Ok(());
        }
        sources.iter().try_for_each(|source| collected.take(row, source, &mut name))
    });
    if !errors.is_empty() {
        return Err(Failure::many(&file.name, &errors));
    }
    if collected.tasks.is_empty() && outside > 0 {
        return Err(Failure(format!(
            "{}: all {outside} rows are outside the dates of --since and --until",
            file.name
        )));
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

/// The rows to use by their dates.
struct Period {
    column: usize,
    name: String,
    since: Option<Date>,
    until: Option<Date>,
}

impl Period {
    fn new(arguments: &FitArgs, table: &CsvTable<'_>) -> Result<Option<Self>, Failure> {
        let Some(name) = arguments.date.clone() else { return Ok(None) };
        let column = table.column(&name, "given by --date")?;
        Ok(Some(Self { column, name, since: arguments.since, until: arguments.until }))
    }

    fn contains(&self, row: &CsvRow<'_>) -> Result<bool, String> {
        let date = row.text(self.column).parse::<Date>();
        let date = date.map_err(|message| format!("{}: {message}", self.name))?;
        Ok(self.since.is_none_or(|since| since <= date)
            && self.until.is_none_or(|until| date <= until))
    }
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
        } else if source.columns.count.is_some() {
            collected.counts.push((seen.amount, seen.successes));
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
        } else if !self.counts.is_empty() {
            TaskData::Counts(CountLog::new(self.counts)?)
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
        count: arguments.count.clone(),
        revenue: arguments.revenue.clone(),
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
            count: optional("--count", &names.count)?,
            revenue: optional("--revenue", &names.revenue)?,
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
        let outcome =
            [columns.success, columns.trials, columns.reward, columns.count, columns.revenue];
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
        if let Some(count) = columns.count {
            return self.counted(row, amount, count);
        }
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

impl Source {
    /// A row with a number of completions and, possibly, their total reward.
    fn counted(&self, row: &CsvRow<'_>, amount: f64, count: usize) -> Result<Seen, String> {
        let names = &self.names;
        let count = row.count_or_zero(count, title(&names.count))? as f64;
        let revenue = self.columns.revenue;
        let revenue =
            revenue.map(|column| row.amount(column, title(&names.revenue))).transpose()?;
        match revenue.filter(|&revenue| count == 0.0 && revenue > 0.0) {
            Some(revenue) => Err(format!(
                "{}: {revenue}, but {} is 0; a row without completions has no revenue",
                title(&names.revenue),
                title(&names.count)
            )),
            None => {
                let reward = revenue.filter(|_| count > 0.0).map(|revenue| revenue / count);
                Ok(Seen { amount, trials: 1.0, successes: count, reward })
            }
        }
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
