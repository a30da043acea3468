//! The rows of a log.

use std::collections::HashMap;

use outlay::fit::{CountLog, Observations, Requirements, Rewards};
use outlay_report::fit::{TaskData as Data, TaskLog};
use pyo3::prelude::*;

use crate::arrays::numbers;
use crate::errors::FitError;

/// At most this many errors of a log are listed.
const SHOWN: usize = 20;

/// The columns of a log.
#[derive(FromPyObject)]
pub(crate) struct Columns<'py> {
    /// Names of the tasks, and the task of each row.
    names: Vec<String>,
    task: Bound<'py, PyAny>,
    /// Spends, or the amounts that success would have needed.
    amount: Bound<'py, PyAny>,
    success: Option<Bound<'py, PyAny>>,
    trials: Option<Bound<'py, PyAny>>,
    reward: Option<Bound<'py, PyAny>>,
    count: Option<Bound<'py, PyAny>>,
    revenue: Option<Bound<'py, PyAny>>,
    /// Names of the columns in messages, by field.
    titles: HashMap<String, String>,
    /// The row numbers of the log, if only some of its rows are used.
    rows: Option<Vec<usize>>,
    /// Whether amounts are those that success would have needed.
    is_needs: bool,
}

impl Columns<'_> {
    pub(super) fn kind(&self) -> Kind {
        match (self.is_needs, &self.count) {
            (true, _) => Kind::Requirements,
            (false, Some(_)) => Kind::Counts,
            (false, None) => Kind::Outcomes,
        }
    }
}

/// What the rows of a log are.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// Trials that succeeded or failed.
    Outcomes,
    /// Amounts that success would have needed.
    Requirements,
    /// Numbers of completions.
    Counts,
}

/// All columns as numbers of the same length.
struct Table {
    task: Vec<usize>,
    amount: Vec<f64>,
    /// The other columns by field.
    others: HashMap<&'static str, Vec<f64>>,
}

impl Table {
    fn new(columns: &Columns<'_>) -> PyResult<Self> {
        let title = |field: &str| columns.titles.get(field).map_or("", String::as_str);
        let read = |given: &Bound<'_, PyAny>, field: &str| {
            numbers(given, title(field), FitError::new_err).map(|list| list.as_slice().to_vec())
        };
        let amount = read(&columns.amount, "amount")?;
        let optional = [
            ("success", &columns.success),
            ("trials", &columns.trials),
            ("reward", &columns.reward),
            ("count", &columns.count),
            ("revenue", &columns.revenue),
        ];
        let mut others = HashMap::new();
        for (field, given) in optional {
            let Some(given) = given else { continue };
            let list = read(given, field)?;
            if list.len() != amount.len() {
                return Err(FitError::new_err(format!(
                    "{}: {} rows, but {} has {}",
                    title(field),
                    list.len(),
                    title("amount"),
                    amount.len()
                )));
            }
            others.insert(field, list);
        }
        let task: Vec<usize> = columns.task.extract()?;
        if task.len() != amount.len() || task.iter().any(|task| *task >= columns.names.len()) {
            return Err(FitError::new_err("task: every row needs its task"));
        }
        if amount.is_empty() {
            return Err(FitError::new_err("the log has no rows: there is nothing to fit"));
        }
        Ok(Self { task, amount, others })
    }
}

/// Rows of one task: amounts, trials and successes or completions.
#[derive(Clone, Default)]
struct Collected {
    rows: Vec<(f64, f64, f64)>,
    rewards: Rewards,
}

impl Collected {
    fn finish(self, name: &str, kind: Kind) -> PyResult<TaskLog> {
        let rows = self.rows.into_iter();
        let data = match kind {
            Kind::Requirements => {
                Requirements::new(rows.map(|(amount, _, successes)| (amount, successes > 0.0)))
                    .map(Data::Requirements)
            }
            Kind::Counts => {
                CountLog::new(rows.map(|(amount, _, completions)| (amount, completions)))
                    .map(Data::Counts)
            }
            Kind::Outcomes => Observations::new(rows).map(Data::Outcomes),
        };
        let data = data.map_err(|error| FitError::new_err(error.to_string()))?;
        Ok(TaskLog { name: name.to_owned(), data, rewards: self.rewards })
    }
}

/// The data of each task, or all errors of the log.
pub(super) fn logs(columns: &Columns<'_>) -> PyResult<Vec<TaskLog>> {
    let table = Table::new(columns)?;
    let mut tasks = vec![Collected::default(); columns.names.len()];
    let mut wrong = Vec::new();
    let number =
        |row: usize| columns.rows.as_ref().and_then(|rows| rows.get(row).copied()).unwrap_or(row);
    for row in 0..table.amount.len() {
        let cells = Row { titles: &columns.titles, table: &table, row };
        match cells.read() {
            Err(message) => wrong.push(format!("row {}: {message}", number(row))),
            Ok((trials, successes, reward)) => {
                let collected = &mut tasks[table.task[row]];
                collected.rows.push((table.amount[row], trials, successes));
                reward.into_iter().for_each(|reward| collected.rewards.add(successes, reward));
            }
        }
    }
    if !wrong.is_empty() {
        return Err(many(wrong));
    }
    columns
        .names
        .iter()
        .zip(tasks)
        .map(|(name, collected)| collected.finish(name, columns.kind()))
        .collect()
}

/// All errors of a log together.
fn many(mut wrong: Vec<String>) -> PyErr {
    let count =
        if wrong.len() == 1 { "1 error".to_owned() } else { format!("{} errors", wrong.len()) };
    let more = if wrong.len() > SHOWN {
        format!("\n  and {} more", wrong.len() - SHOWN)
    } else {
        String::new()
    };
    wrong.truncate(SHOWN);
    FitError::new_err(format!("the log has {count}\n  {}{more}", wrong.join("\n  ")))
}

/// One row of a log.
struct Row<'a> {
    titles: &'a HashMap<String, String>,
    table: &'a Table,
    row: usize,
}

impl Row<'_> {
    fn title(&self, field: &str) -> &str {
        self.titles.get(field).map_or("", String::as_str)
    }

    /// The cell of a column, if the log has it.
    fn cell(&self, field: &str) -> Option<f64> {
        self.table.others.get(field).map(|column| column[self.row])
    }

    fn amount(&self, field: &str, number: f64) -> Result<f64, String> {
        match number >= 0.0 && number.is_finite() {
            true => Ok(number),
            false => {
                let title = self.title(field);
                Err(format!("{title}: must be finite and not negative, not {number}"))
            }
        }
    }

    fn whole(&self, field: &str, number: f64) -> Result<f64, String> {
        match number >= 0.0 && number.is_finite() && number.fract() == 0.0 {
            true => Ok(number),
            false => {
                let title = self.title(field);
                Err(format!("{title}: must be a whole number from 0 on, not {number}"))
            }
        }
    }

    /// Trials, successes and the mean reward, if there was a success.
    fn read(&self) -> Result<(f64, f64, Option<f64>), String> {
        self.amount("amount", self.table.amount[self.row])?;
        if let Some(count) = self.cell("count") {
            return self.counted(count);
        }
        let (trials, successes) = match (self.cell("trials"), self.cell("success")) {
            (Some(trials), Some(successes)) => {
                let trials = self.whole("trials", trials)?;
                let successes = self.whole("success", successes)?;
                if successes > trials {
                    let (success, title) = (self.title("success"), self.title("trials"));
                    return Err(format!("{success}: {successes} is more than {title} = {trials}"));
                }
                (trials, successes)
            }
            (_, Some(success)) if success == 0.0 || success == 1.0 => (1.0, success),
            (_, Some(success)) => {
                return Err(format!(
                    "{}: must be 1 or 0 (or true, false), not {success}; daily numbers are counts: \
                     give count in place of success",
                    self.title("success")
                ));
            }
            (_, None) => (1.0, 1.0),
        };
        // Only a success has a reward.
        let reward = self.cell("reward").filter(|_| successes > 0.0);
        let reward = reward.map(|reward| self.amount("reward", reward)).transpose()?;
        Ok((trials, successes, reward))
    }

    /// A row with a number of completions and, possibly, their total reward.
    fn counted(&self, count: f64) -> Result<(f64, f64, Option<f64>), String> {
        let count = self.whole("count", count)?;
        let revenue = self.cell("revenue").filter(|revenue| count > 0.0 || !revenue.is_nan());
        let revenue = revenue.map(|revenue| self.amount("revenue", revenue)).transpose()?;
        if let Some(revenue) = revenue.filter(|revenue| count == 0.0 && *revenue > 0.0) {
            return Err(format!(
                "{}: {revenue}, but {} is 0; a row without completions has no revenue",
                self.title("revenue"),
                self.title("count")
            ));
        }
        Ok((1.0, count, revenue.filter(|_| count > 0.0).map(|revenue| revenue / count)))
    }
}
