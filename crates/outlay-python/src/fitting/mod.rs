//! Fits curves to logs: columns in, fitted tasks and their problem out.

mod log;
mod record;

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use outlay::fit::{Choice, Family, FitError as Refusal, Fitted, Options};
use outlay_report::fit::{Drawing, FitPage, TaskData as Data, TaskFit, TaskLog};
use pyo3::prelude::*;

use self::log::{Columns, Kind, logs};
use self::record::{Record, record};
use crate::errors::{self, FitError};
use crate::waiting::interruptibly;

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

/// Fits every task of a log. Returns the fits as JSON, the problem as JSON, and the page.
#[pyfunction]
pub(crate) fn fit(
    py: Python<'_>,
    columns: Columns<'_>,
    request: Request,
) -> PyResult<(String, String, Option<String>)> {
    let logs = logs(&columns)?;
    let choice = choice(&request, columns.kind())?;
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
    let drawn = |log: &TaskLog, fitted: &Option<Fitted>| {
        let fitted = fitted.as_ref().filter(|_| request.report)?;
        Some(Drawing::new(&log.data, fitted, &options))
    };
    let tasks: Vec<TaskFit> = logs
        .into_iter()
        .zip(fitted)
        .map(|(log, fitted)| TaskFit { drawing: drawn(&log, &fitted), log, fitted })
        .collect();
    let problem = outlay_report::fit::problem(&tasks, budget, reward_max)
        .map_err(|errors| errors::problem("the fitted problem", &errors))?;
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

fn choice(request: &Request, kind: Kind) -> PyResult<Choice> {
    let family = Family::ALL.into_iter().find(|family| family.as_str() == request.family);
    if kind == Kind::Counts && family == Some(Family::Threshold) {
        return Err(FitError::new_err(
            "family threshold cannot be fitted to counts; monotone fits curves with steep parts",
        ));
    }
    match (request.family.as_str(), family, kind == Kind::Requirements) {
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

/// The budget and the largest reward: as given, or by the log. The budget is then the largest spend
/// or, with counts, the mean spend of a round.
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
    let means: Vec<f64> = logs.iter().filter_map(mean_spend).collect();
    let seen = if means.is_empty() { seen } else { means.iter().sum() };
    Ok((request.budget.unwrap_or(seen), request.reward_max.unwrap_or(reward)))
}

/// The mean spend of a row with counts.
fn mean_spend(log: &TaskLog) -> Option<f64> {
    match &log.data {
        Data::Counts(counts) => counts.mean_spend(),
        Data::Outcomes(_) | Data::Requirements(_) => None,
    }
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
