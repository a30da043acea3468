//! Reading recorded rows from CSV: required spends, or outcomes of spends.

use std::collections::BTreeMap;

use outlay::replay::{CensoredRow, CountRow, OutcomeRow, RowConditions, TaskRows, ThresholdRow};
use outlay::{Problem, Task};

use crate::args::ReplayArgs;
use crate::failure::Failure;
use crate::input::csv_table::{CsvFile, CsvRow, CsvTable};
use crate::input::date::Date;
use crate::input::task_names::{TaskNames, similar_names};
use outlay::text::{listed, nearest};

/// The rows of each task, and remarks on the file.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) tasks: Vec<TaskRows>,
    /// The dates of these rows, if a column has them.
    pub(super) dates: Option<Vec<Vec<Date>>>,
    /// The scales and volumes of these rows, if columns have them.
    pub(super) conditions: Option<Vec<RowConditions>>,
    pub(super) remarks: Vec<String>,
}

const EXPECTED_COLUMNS: &str = "recorded rows have the columns task, threshold and reward, or \
     task, spend, success and reward; --task, --threshold, --spend, --success and --reward name \
     others";

/// Positions of the columns.
struct Columns {
    task: Vec<usize>,
    kind: Kind,
    /// Column of the reward, or of the sum of rewards.
    reward: usize,
    date: Option<usize>,
    scale: Option<usize>,
    volume: Option<usize>,
}

/// The largest reward of a completion, and whether larger ones are clipped when they are replayed.
#[derive(Clone, Copy)]
struct MaxReward {
    reward_max: f64,
    clips: bool,
}

/// The end of errors about rewards above the largest one.
const REMEDY: &str = "increase reward_max, or set reward_over_max = \"clip\"";

enum Kind {
    Threshold(usize),
    Censored { threshold: usize, success: usize },
    Outcome { spend: usize, success: usize },
    Count { spend: usize, count: usize },
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
        let named = |name: &Option<String>, default| {
            rows.column(name.as_deref().unwrap_or(default), EXPECTED_COLUMNS)
        };
        let outcome = || -> Result<Kind, Failure> {
            Ok(Kind::Outcome {
                spend: named(&arguments.spend, "spend")?,
                success: named(&arguments.success, "success")?,
            })
        };
        let kind = match &arguments.threshold {
            Some(name) => {
                let threshold = rows.column(name, EXPECTED_COLUMNS)?;
                match &arguments.success {
                    Some(name) => {
                        let success = rows.column(name, EXPECTED_COLUMNS)?;
                        Kind::Censored { threshold, success }
                    }
                    None => Kind::Threshold(threshold),
                }
            }
            None if arguments.count.is_some() => Kind::Count {
                spend: named(&arguments.spend, "spend")?,
                count: named(&arguments.count, "count")?,
            },
            None if arguments.spend.is_some() || arguments.success.is_some() => outcome()?,
            None => match rows.optional("threshold") {
                Some(column) => Kind::Threshold(column),
                // If one of the two columns exists, report the other as missing; otherwise the
                // threshold.
                None if rows.optional("spend").or(rows.optional("success")).is_some() => outcome()?,
                None => Kind::Threshold(rows.column("threshold", EXPECTED_COLUMNS)?),
            },
        };
        let reward = arguments.revenue.as_ref().unwrap_or(&arguments.reward);
        let date = arguments.date.as_deref();
        let given = |name: &Option<String>, flag| {
            name.as_deref().map(|name| rows.column(name, flag)).transpose()
        };
        Ok(Self {
            task,
            kind,
            reward: rows.column(reward, EXPECTED_COLUMNS)?,
            date: date.map(|name| rows.column(name, "given by --date")).transpose()?,
            scale: given(&arguments.scale, "given by --scale")?,
            volume: given(&arguments.volume, "given by --volume")?,
        })
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
            Kind::Censored { .. } => TaskRows::Censored(Vec::new()),
            Kind::Outcome { .. } => TaskRows::Outcomes(Vec::new()),
            Kind::Count { .. } => TaskRows::Counts(Vec::new()),
        }
    }

    /// The date of a row, if there is a column for it.
    fn date(&self, row: &CsvRow<'_>) -> Result<Option<Date>, String> {
        let read = |column| row.text(column).parse::<Date>();
        self.date.map(read).transpose().map_err(|message| format!("date: {message}"))
    }

    /// Adds the scale and the volume of a row, if there are columns for them.
    fn take_conditions(
        &self,
        row: &CsvRow<'_>,
        problem: &Problem,
        position: usize,
        into: &mut RowConditions,
    ) -> Result<(), String> {
        let read =
            |column: Option<usize>, what| column.map(|column| row.amount(column, what)).transpose();
        let (scale, volume) = (read(self.scale, "scale")?, read(self.volume, "volume")?);
        problem.check_task_in_round(position, scale, volume).map_err(|error| error.to_string())?;
        into.scale.extend(scale);
        into.volume.extend(volume);
        Ok(())
    }

    fn take(&self, row: &CsvRow<'_>, most: MaxReward, into: &mut TaskRows) -> Result<(), String> {
        match (&self.kind, into) {
            (Kind::Threshold(threshold), TaskRows::Thresholds(rows)) => {
                let (threshold, reward) =
                    (row.amount(*threshold, "threshold")?, self.reward(row, most)?);
                rows.push(ThresholdRow { threshold, reward });
            }
            (Kind::Outcome { spend, success }, TaskRows::Outcomes(rows)) => {
                let (spend, success) =
                    (row.amount(*spend, "spend")?, row.flag(*success, "success")?);
                let reward = self.known_reward(row, success, most)?;
                rows.push(OutcomeRow { spend, success, reward });
            }
            (Kind::Censored { threshold, success }, TaskRows::Censored(rows)) => {
                let (threshold, success) =
                    (row.amount(*threshold, "threshold")?, row.flag(*success, "success")?);
                let reward = self.known_reward(row, success, most)?;
                rows.push(CensoredRow { threshold, is_censored: !success, reward });
            }
            (Kind::Count { spend, count }, TaskRows::Counts(rows)) => {
                let (spend, completions) =
                    (row.amount(*spend, "spend")?, row.count_or_zero(*count, "count")?);
                let reward = self.revenue(row, completions, most)?;
                rows.push(CountRow { spend, completions, reward });
            }
            _ => {}
        }
        Ok(())
    }

    /// The reward of a row, which may be empty for a failure.
    fn known_reward(
        &self,
        row: &CsvRow<'_>,
        success: bool,
        most: MaxReward,
    ) -> Result<Option<f64>, String> {
        let is_unknown = !success && row.text(self.reward).is_empty();
        if is_unknown { Ok(None) } else { self.reward(row, most).map(Some) }
    }

    /// The sum of the rewards of a row, which may be empty if nothing was completed.
    fn revenue(&self, row: &CsvRow<'_>, completions: u64, most: MaxReward) -> Result<f64, String> {
        if completions == 0 && row.text(self.reward).is_empty() {
            return Ok(0.0);
        }
        let revenue = row.amount(self.reward, "revenue")?;
        if completions == 0 && revenue > 0.0 {
            return Err(format!(
                "revenue: {revenue}, but count is 0; a row without completions has no revenue"
            ));
        }
        let MaxReward { reward_max, clips } = most;
        if revenue > completions as f64 * reward_max && !clips {
            return Err(format!(
                "revenue: {revenue} is above {completions} times reward_max = {reward_max} of the \
                 problem; {REMEDY}"
            ));
        }
        Ok(revenue)
    }

    fn reward(&self, row: &CsvRow<'_>, most: MaxReward) -> Result<f64, String> {
        let reward = row.amount(self.reward, "reward")?;
        let MaxReward { reward_max, clips } = most;
        if reward > reward_max && !clips {
            return Err(format!(
                "reward: {reward} is above reward_max = {reward_max} of the problem; {REMEDY}"
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
    let most =
        MaxReward { reward_max: problem.reward_max(), clips: problem.reward_over_max().clips() };
    let mut tasks: Vec<TaskRows> = problem.tasks().iter().map(|_| columns.no_rows()).collect();
    let mut dates = columns.date.map(|_| vec![Vec::new(); tasks.len()]);
    let has_conditions = columns.scale.is_some() || columns.volume.is_some();
    let mut conditions = has_conditions.then(|| vec![RowConditions::default(); tasks.len()]);
    let mut others: BTreeMap<String, usize> = BTreeMap::new();
    let mut seen = vec![false; tasks.len()];
    let mut errors = rows.each(|row| {
        let name = columns.name(row);
        let Some(position) = names.position(&name) else {
            *others.entry(name).or_default() += 1;
            return Ok(());
        };
        seen[position] = true;
        if let (Some(dates), Some(date)) = (&mut dates, columns.date(row)?) {
            dates[position].push(date);
        }
        if let Some(conditions) = &mut conditions {
            columns.take_conditions(row, problem, position, &mut conditions[position])?;
        }
        columns.take(row, most, &mut tasks[position])
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
    Ok(Recorded { tasks, dates, conditions, remarks })
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
