//! Fits curves to logs: columns in, fitted tasks and their problem out.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use outlay::fit::{
    Candidate, Choice, Family, FitError as Refusal, Fitted, Observations, Options, Requirements,
    Rewards,
};
use outlay::{Curve, ProblemSpec, TaskSpec};
use outlay_report::fit::{Drawing, FitPage, TaskData as Data, TaskFit, TaskLog};
use pyo3::prelude::*;
use serde::Serialize;

use crate::arrays::numbers;
use crate::errors::{self, FitError};
use crate::waiting::interruptibly;

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
    /// Names of amount, success, trials and reward in messages.
    titles: (String, String, String, String),
    /// Whether amounts are those that success would have needed.
    is_needs: bool,
}

/// Options of a fit.
#[derive(FromPyObject)]
pub(crate) struct Request {
    family: String,
    ceiling: bool,
    floor: bool,
    budget: Option<f64>,
    reward_max: Option<f64>,
    folds: usize,
    bootstrap: usize,
    seed: u64,
    threads: Option<usize>,
    /// Whether to create the page of the report.
    report: bool,
    /// The name of the log in the report.
    name: String,
}

#[derive(Serialize)]
struct Record {
    budget: f64,
    reward_max: f64,
    tasks: Vec<TaskRecord>,
}

#[derive(Serialize)]
struct TaskRecord {
    task: String,
    trials: f64,
    successes: f64,
    family: Option<String>,
    curve: Option<Curve>,
    parameters: Vec<(&'static str, f64, Option<f64>, Option<f64>)>,
    log_loss: Option<f64>,
    constant_log_loss: Option<f64>,
    calibration: Option<f64>,
    covers: Option<Covers>,
    value: Option<f64>,
    value_error: Option<f64>,
    candidates: Vec<CandidateRecord>,
    reason: Option<String>,
    warnings: Vec<String>,
}

/// The range of spends with data.
#[derive(Serialize)]
struct Covers {
    from: f64,
    /// Absent if unlimited.
    to: Option<f64>,
    /// The share of the budget that it covers.
    share: f64,
}

/// A family that was compared with the chosen one.
#[derive(Serialize)]
struct CandidateRecord {
    family: String,
    parameters: usize,
    log_loss: f64,
    worse_by: f64,
    error: f64,
}

/// Fits every task of a log. Returns the fits as JSON, the problem as JSON, and the page.
#[pyfunction]
pub(crate) fn fit(
    py: Python<'_>,
    columns: Columns<'_>,
    request: Request,
) -> PyResult<(String, String, Option<String>)> {
    let logs = logs(&columns)?;
    let choice = choice(&request, columns.is_needs)?;
    let (budget, reward_max) = amounts(&request, &logs)?;
    if !(2..=100).contains(&request.folds) {
        return Err(FitError::new_err(format!(
            "folds: must be between 2 and 100, not {}",
            request.folds
        )));
    }
    if !(2..=10_000).contains(&request.bootstrap) {
        return Err(FitError::new_err(format!(
            "bootstrap: must be between 2 and 10000, not {}",
            request.bootstrap
        )));
    }
    let (ceiling, floor) = (request.ceiling, request.floor);
    let options = Options {
        ceiling,
        floor,
        folds: request.folds,
        bootstrap: request.bootstrap,
        seed: request.seed,
        budget: Some(budget),
    };
    let stop = AtomicBool::new(false);
    let threads = request
        .threads
        .and_then(NonZeroUsize::new)
        .or_else(|| std::thread::available_parallelism().ok());
    let fitted = interruptibly(py, &stop, || {
        fit_all(&logs, choice, &options, threads.map_or(1, NonZeroUsize::get), &stop)
    })?;
    let fitted = fitted.map_err(|error| FitError::new_err(error.to_string()))?;
    let json = |error: serde_json::Error| FitError::new_err(error.to_string());
    let tasks = logs.iter().zip(&fitted).filter_map(|(log, fitted)| {
        let fitted = fitted.as_ref()?;
        Some(TaskSpec {
            value: log.rewards.mean(),
            ..TaskSpec::new(log.name.clone(), fitted.curve.clone())
        })
    });
    let problem =
        ProblemSpec { budget, reward_max, tasks: tasks.collect(), ..ProblemSpec::default() }
            .check();
    let problem = problem.map_err(|errors| errors::problem("the fitted problem", &errors))?;
    let drawn = |log: &TaskLog, fitted: &Option<Fitted>| {
        let fitted = fitted.as_ref().filter(|_| request.report)?;
        Some(Drawing::new(&log.data, fitted, &options))
    };
    let tasks: Vec<TaskFit> = logs
        .into_iter()
        .zip(fitted)
        .map(|(log, fitted)| TaskFit { drawing: drawn(&log, &fitted), log, fitted })
        .collect();
    let command = "outlay.fit(...) in Python";
    let page = FitPage { log: &request.name, command, budget, tasks: &tasks };
    let page = request.report.then(|| page.html());
    let tasks = tasks.into_iter().map(|task| record(task, budget)).collect();
    let record = Record { budget, reward_max, tasks };
    Ok((
        serde_json::to_string(&record).map_err(json)?,
        serde_json::to_string(&problem).map_err(json)?,
        page,
    ))
}

/// All columns as numbers of the same length.
struct Table {
    task: Vec<usize>,
    amount: Vec<f64>,
    success: Option<Vec<f64>>,
    trials: Option<Vec<f64>>,
    reward: Option<Vec<f64>>,
}

impl Table {
    fn new(columns: &Columns<'_>) -> PyResult<Self> {
        let (amount_title, success_title, trials_title, reward_title) = &columns.titles;
        let read = |given: &Bound<'_, PyAny>, title: &str| {
            numbers(given, title, FitError::new_err).map(|list| list.as_slice().to_vec())
        };
        let amount = read(&columns.amount, amount_title)?;
        let optional = |given: &Option<Bound<'_, PyAny>>, title: &str| {
            let list = given.as_ref().map(|given| read(given, title)).transpose()?;
            match list.as_ref().filter(|list| list.len() != amount.len()) {
                Some(list) => Err(FitError::new_err(format!(
                    "{title}: {} rows, but {amount_title} has {}",
                    list.len(),
                    amount.len()
                ))),
                None => Ok(list),
            }
        };
        let success = optional(&columns.success, success_title)?;
        let trials = optional(&columns.trials, trials_title)?;
        let reward = optional(&columns.reward, reward_title)?;
        let task: Vec<usize> = columns.task.extract()?;
        if task.len() != amount.len() || task.iter().any(|task| *task >= columns.names.len()) {
            return Err(FitError::new_err("task: every row needs its task"));
        }
        if amount.is_empty() {
            return Err(FitError::new_err("the log has no rows: there is nothing to fit"));
        }
        Ok(Self { task, amount, success, trials, reward })
    }
}

/// Rows of one task.
#[derive(Clone, Default)]
struct Collected {
    rows: Vec<(f64, f64, f64)>,
    rewards: Rewards,
}

impl Collected {
    fn finish(self, name: &str, is_needs: bool) -> PyResult<TaskLog> {
        let rows = self.rows.into_iter();
        let data = match is_needs {
            true => Requirements::new(rows.map(|(amount, _, successes)| (amount, successes > 0.0)))
                .map(Data::Requirements),
            false => Observations::new(rows).map(Data::Outcomes),
        };
        let data = data.map_err(|error| FitError::new_err(error.to_string()))?;
        Ok(TaskLog { name: name.to_owned(), data, rewards: self.rewards })
    }
}

/// The data of each task, or all errors of the log.
fn logs(columns: &Columns<'_>) -> PyResult<Vec<TaskLog>> {
    let table = Table::new(columns)?;
    let mut tasks = vec![Collected::default(); columns.names.len()];
    let mut wrong = Vec::new();
    for row in 0..table.amount.len() {
        let at = |column: &Option<Vec<f64>>| column.as_ref().map(|list| list[row]);
        let seen =
            Row { titles: &columns.titles, amount: table.amount[row], success: at(&table.success) };
        match seen.read(at(&table.trials), at(&table.reward)) {
            Err(message) => wrong.push(format!("row {row}: {message}")),
            Ok((trials, successes, reward)) => {
                let collected = &mut tasks[table.task[row]];
                collected.rows.push((seen.amount, trials, successes));
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
        .map(|(name, collected)| collected.finish(name, columns.is_needs))
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
    titles: &'a (String, String, String, String),
    amount: f64,
    success: Option<f64>,
}

impl Row<'_> {
    /// Trials, successes and the reward, if there was a success.
    fn read(
        &self,
        trials: Option<f64>,
        reward: Option<f64>,
    ) -> Result<(f64, f64, Option<f64>), String> {
        let (amount_title, success_title, trials_title, reward_title) = self.titles;
        let amount = |what: &str, number: f64| match number >= 0.0 && number.is_finite() {
            true => Ok(number),
            false => Err(format!("{what}: must be finite and not negative, not {number}")),
        };
        let whole = |what: &str, number: f64| match number >= 0.0
            && number.is_finite()
            && number.fract() == 0.0
        {
            true => Ok(number),
            false => Err(format!("{what}: must be a whole number from 0 on, not {number}")),
        };
        amount(amount_title, self.amount)?;
        let (trials, successes) = match (trials, self.success) {
            (Some(trials), Some(successes)) => {
                let (trials, successes) =
                    (whole(trials_title, trials)?, whole(success_title, successes)?);
                if successes > trials {
                    return Err(format!(
                        "{success_title}: {successes} is more than {trials_title} = {trials}"
                    ));
                }
                (trials, successes)
            }
            (_, Some(success)) if success == 0.0 || success == 1.0 => (1.0, success),
            (_, Some(success)) => {
                return Err(format!(
                    "{success_title}: must be 1 or 0 (or true, false), not {success}"
                ));
            }
            (_, None) => (1.0, 1.0),
        };
        // Only a success has a reward.
        let reward = reward
            .filter(|_| successes > 0.0)
            .map(|reward| amount(reward_title, reward))
            .transpose()?;
        Ok((trials, successes, reward))
    }
}

fn choice(request: &Request, is_needs: bool) -> PyResult<Choice> {
    let family = Family::ALL.into_iter().find(|family| family.as_str() == request.family);
    match (request.family.as_str(), family, is_needs) {
        ("auto", _, _) | ("empirical", _, true) => Ok(Choice::Auto),
        (_, Some(_), true) => Err(FitError::new_err(
            "threshold tells what success needed: its curve is empirical; leave family out",
        )),
        ("empirical", _, false) => Err(FitError::new_err(
            "family empirical needs threshold, the column of what success would have needed",
        )),
        (_, Some(family), false) => Ok(Choice::One(family)),
        (other, None, _) => {
            let known: Vec<&str> = Family::ALL.into_iter().map(Family::as_str).collect();
            Err(FitError::new_err(format!(
                "family: must be auto, {} or empirical, not {other}",
                known.join(", ")
            )))
        }
    }
}

/// The budget and the largest reward: as given, otherwise the largest in the log.
fn amounts(request: &Request, logs: &[TaskLog]) -> PyResult<(f64, f64)> {
    for (what, given) in [("budget", request.budget), ("reward_max", request.reward_max)] {
        if let Some(given) = given.filter(|given| !(*given > 0.0 && given.is_finite())) {
            return Err(FitError::new_err(format!(
                "{what}: must be positive and finite, not {given}"
            )));
        }
    }
    let largest_amount = |log: &TaskLog| log.data.largest();
    let seen = logs.iter().filter_map(largest_amount).fold(0.0, f64::max);
    if seen == 0.0 && request.budget.is_none() {
        return Err(FitError::new_err("every spend is zero: give the budget of one round"));
    }
    let reward = logs.iter().map(|log| log.rewards.largest()).fold(0.0, f64::max);
    if let Some(given) = request.reward_max.filter(|&given| given < reward) {
        return Err(FitError::new_err(format!(
            "reward_max {given} is less than the largest reward in the log, {reward}"
        )));
    }
    let reward = if reward > 0.0 { reward } else { 1.0 };
    Ok((request.budget.unwrap_or(seen), request.reward_max.unwrap_or(reward)))
}

/// The curves of all tasks, computed in parallel; none for a task without data.
fn fit_all(
    logs: &[TaskLog],
    choice: Choice,
    options: &Options,
    threads: usize,
    stop: &AtomicBool,
) -> Result<Vec<Option<Fitted>>, Refusal> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Result<Fitted, Refusal>>>> =
        logs.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, logs.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(log) = logs.get(place).filter(|_| !stop.load(Ordering::Relaxed))
                    else {
                        break;
                    };
                    let fitted = match &log.data {
                        Data::Outcomes(outcomes) => outlay::fit::fit(outcomes, choice, options),
                        Data::Requirements(needs) => outlay::fit::fit_requirements(needs, options),
                        Data::Counts(counts) => outlay::fit::fit_counts(counts, choice, options),
                    };
                    if let Ok(mut result) = results[place].lock() {
                        *result = Some(fitted);
                    }
                }
            });
        }
    });
    let finished = |result: Mutex<Option<Result<Fitted, Refusal>>>| {
        let result = result.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        match result.unwrap_or(Err(Refusal::NoData)) {
            Ok(fitted) => Ok(Some(fitted)),
            Err(Refusal::NoData) => Ok(None),
            Err(other) => Err(other),
        }
    };
    results.into_iter().map(finished).collect()
}

fn covers(data: &Data, budget: f64) -> Option<Covers> {
    let (from, to) = data.observed_range()?;
    let share = ((to.min(budget) - from) / budget).clamp(0.0, 1.0);
    Some(Covers { from, to: Some(to).filter(|to| to.is_finite()), share })
}

fn candidate(candidate: &Candidate) -> CandidateRecord {
    CandidateRecord {
        family: candidate.form.to_string(),
        parameters: candidate.parameters,
        log_loss: candidate.log_loss,
        worse_by: candidate.worse_by,
        error: candidate.error,
    }
}

fn record(task: TaskFit, budget: f64) -> TaskRecord {
    let TaskFit { log, fitted, .. } = task;
    let (trials, successes) = (log.data.trials(), log.data.successes());
    let warnings = match &fitted {
        Some(fitted) => fitted.warnings.iter().map(ToString::to_string).collect(),
        None => vec!["no data: omitted from the problem".to_owned()],
    };
    let parameters = fitted.iter().flat_map(|fitted| &fitted.parameters);
    TaskRecord {
        task: log.name,
        trials,
        successes,
        family: fitted.as_ref().map(|fitted| fitted.kind.to_string()),
        parameters: parameters
            .map(|parameter| (parameter.name, parameter.value, parameter.low, parameter.high))
            .collect(),
        log_loss: fitted.as_ref().and_then(|fitted| fitted.log_loss),
        constant_log_loss: fitted.as_ref().and_then(|fitted| fitted.constant_log_loss),
        calibration: fitted.as_ref().and_then(|fitted| fitted.calibration),
        covers: covers(&log.data, budget),
        candidates: fitted
            .as_ref()
            .map(|fitted| fitted.candidates.iter().map(candidate).collect())
            .unwrap_or_default(),
        value: log.rewards.mean(),
        value_error: log.rewards.error(),
        reason: fitted.as_ref().and_then(Fitted::reason),
        curve: fitted.map(|fitted| fitted.curve),
        warnings,
    }
}
