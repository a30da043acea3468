//! Learners on recorded outcomes.

mod rows;

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use outlay::fit::Options;
use outlay::learner::LearnerSpec;
use outlay::replay::assumptions::assumptions;
use outlay::replay::{
    FittedProblem, Order, Record, Replay, ReplayError, ReplayRun, ReplaySummary, RowConditions,
    TaskRows, fit_rows,
};
use outlay_report::replay::{
    Holdout, Replayed, clipped_remark, conditions_remark, fit_remarks, page,
};
use pyo3::prelude::*;
use serde::Serialize;

use crate::errors::{LearnerError, SimulationError};
use crate::ledger::text;
use crate::problem::Problem;
use crate::waiting::interruptibly;
use rows::{Columns, Rows, task_rows};

/// How to replay.
#[derive(FromPyObject)]
pub(crate) struct Request {
    learners: Vec<String>,
    order: String,
    rounds: Option<u64>,
    replications: Option<u64>,
    seed: u64,
    threads: Option<usize>,
    split_at: Option<SplitAt>,
}

/// Where the rows are divided; the columns say which rows are first.
#[derive(FromPyObject)]
enum SplitAt {
    Share(f64),
    Date(String),
}

impl std::fmt::Display for SplitAt {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Share(share) => share.fmt(formatter),
            Self::Date(date) => date.fmt(formatter),
        }
    }
}

#[derive(Serialize)]
struct Output<'a> {
    runs: &'a str,
    #[serde(flatten)]
    summary: &'a ReplaySummary,
    assumptions: &'a [outlay::replay::assumptions::TaskAssumptions],
    #[serde(skip_serializing_if = "Option::is_none")]
    holdout: Option<&'a Holdout>,
}

/// The default number of rounds and of replications, as in `outlay replay`.
const DEFAULTS: (u64, u64) = (1000, 100);

fn refuse(error: impl std::fmt::Display) -> PyErr {
    SimulationError::new_err(error.to_string())
}

/// Replays learners on recorded rows: JSON as `outlay replay` writes it, the page, and notes.
#[pyfunction]
pub(crate) fn replay(
    py: Python<'_>,
    problem: PyRef<'_, Problem>,
    columns: Columns<'_>,
    request: Request,
) -> PyResult<(String, String, Vec<String>)> {
    let given = problem.problem.as_ref();
    let mut rows = task_rows(given, &columns)?;
    let conditions = rows.conditions.take();
    let conditions = match rows.first {
        None => conditions.or_else(|| RowConditions::of_profiles(given, &rows.tasks)),
        Some(_) => None,
    };
    let divided = divide(given, rows).map_err(refuse)?;
    let problem = divided.fitted.as_ref().map_or(given, |fitted| &fitted.problem);
    let record = match conditions {
        Some(conditions) => Record::with_conditions(problem, divided.rows, conditions),
        None => Record::new(problem, divided.rows),
    };
    let record = record.map_err(refuse)?;
    let learners = request
        .learners
        .iter()
        .map(|name| name.parse())
        .collect::<Result<Vec<LearnerSpec>, _>>()
        .map_err(|error| LearnerError::new_err(error.to_string()))?;
    let replay = plan(problem, &record, &learners, &request)?;
    replay.check().map_err(refuse)?;
    let summary = play(py, &replay, request.threads)?;
    let at = request.split_at.as_ref().map(ToString::to_string).unwrap_or_default();
    let holdout = divided
        .fitted
        .as_ref()
        .map(|fitted| Holdout::new(at, divided.first_rows, fitted, &replay))
        .transpose()
        .map_err(refuse)?;
    let earlier = divided.fitted.as_ref().map_or(0, |fitted| fitted.clipped);
    let mut notes: Vec<String> = clipped_remark(problem, &record, earlier).into_iter().collect();
    notes.extend(conditions_remark(problem, &record));
    notes.extend(divided.fitted.as_ref().map(fit_remarks).unwrap_or_default());
    let assumptions = assumptions(problem, &record);
    let (problem, runs) = (problem.clone(), columns.name);
    let replayed = Replayed { problem, record, runs, summary, assumptions, holdout };
    let output = Output {
        runs: &replayed.runs,
        summary: &replayed.summary,
        assumptions: &replayed.assumptions,
        holdout: replayed.holdout.as_ref(),
    };
    Ok((text(&output)?, page(&replayed, "outlay.replay(...) in Python"), notes))
}

/// The rows to replay and, if they were divided, the problem fitted to the others.
struct Divided {
    rows: Vec<TaskRows>,
    first_rows: usize,
    fitted: Option<FittedProblem>,
}

fn divide(problem: &outlay::Problem, rows: Rows) -> Result<Divided, ReplayError> {
    let Some(is_first) = rows.first else {
        return Ok(Divided { rows: rows.tasks, first_rows: 0, fitted: None });
    };
    let parts = rows.tasks.into_iter().zip(is_first);
    let (first, second): (Vec<TaskRows>, Vec<TaskRows>) =
        parts.map(|(rows, is_first)| rows.partition(|row| is_first[row])).unzip();
    let options = Options { budget: Some(problem.budget()), ..Options::default() };
    let fitted = Some(fit_rows(problem, &first, &options)?);
    Ok(Divided { rows: second, first_rows: first.iter().map(TaskRows::len).sum(), fitted })
}

fn plan<'a>(
    problem: &'a outlay::Problem,
    record: &'a Record,
    learners: &'a [LearnerSpec],
    request: &Request,
) -> PyResult<Replay<'a>> {
    let order = match request.order.as_str() {
        "shuffled" => Order::Shuffled,
        "recorded" => Order::Recorded,
        other => {
            return Err(refuse(format!("order: must be shuffled or recorded, not {other}")));
        }
    };
    let (rounds, replications) = match order {
        Order::Recorded => (record.shortest() as u64, 1),
        Order::Shuffled => (problem.horizon().unwrap_or(DEFAULTS.0), DEFAULTS.1),
    };
    Ok(Replay {
        problem,
        record,
        learners,
        order,
        rounds: request.rounds.unwrap_or(rounds),
        replications: request.replications.unwrap_or(replications),
        // Without a split, the problem may have been fitted to the very rows that are replayed.
        starts_from_seen: request.split_at.is_some(),
        seed: request.seed,
    })
}

fn play(py: Python<'_>, replay: &Replay<'_>, threads: Option<usize>) -> PyResult<ReplaySummary> {
    let stop = AtomicBool::new(false);
    let threads = threads.and_then(NonZeroUsize::new);
    let threads = threads.or_else(|| std::thread::available_parallelism().ok());
    let summary = interruptibly(py, &stop, || {
        let splits = replay.splits()?;
        let mut runs: Vec<Vec<Option<ReplayRun>>> =
            vec![vec![None; replay.replications as usize]; replay.learners.len()];
        replay.run(&splits, threads.unwrap_or(NonZeroUsize::MIN), &stop, |job, run| {
            runs[job.learner][job.replication as usize] = Some(run);
        })?;
        let runs: Vec<Vec<ReplayRun>> =
            runs.into_iter().map(|runs| runs.into_iter().flatten().collect()).collect();
        replay.summary(&splits, &runs)
    })?;
    summary.map_err(refuse)
}
