//! Learners on recorded outcomes.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use outlay::learner::LearnerSpec;
use outlay::replay::assumptions::assumptions;
use outlay::replay::{
    Order, OutcomeRow, Record, Replay, ReplayError, ReplayRun, TaskRows, ThresholdRow,
};
use outlay_report::replay::{Replayed, page};
use pyo3::prelude::*;
use serde::Serialize;

use crate::arrays::numbers;
use crate::errors::{LearnerError, SimulationError};
use crate::ledger::text;
use crate::problem::Problem;
use crate::waiting::interruptibly;

/// The columns of recorded rows.
#[derive(FromPyObject)]
pub(crate) struct Columns<'py> {
    /// The task of each row, counted from 0.
    task: Vec<usize>,
    /// The required spend, or the spend that was tried.
    amount: Bound<'py, PyAny>,
    /// Whether the spend succeeded; absent for required spends.
    success: Option<Bound<'py, PyAny>>,
    /// The reward; NaN if unknown.
    reward: Bound<'py, PyAny>,
    /// The name of the rows in the report.
    name: String,
}

/// How to replay.
#[derive(FromPyObject)]
pub(crate) struct Request {
    learners: Vec<String>,
    order: String,
    rounds: Option<u64>,
    replications: Option<u64>,
    seed: u64,
    threads: Option<usize>,
}

#[derive(Serialize)]
struct Output<'a> {
    runs: &'a str,
    #[serde(flatten)]
    summary: &'a outlay::replay::ReplaySummary,
    assumptions: &'a [outlay::replay::assumptions::TaskAssumptions],
}

/// The default number of rounds and of replications, as in `outlay replay`.
const DEFAULTS: (u64, u64) = (1000, 100);

/// Replays learners on recorded rows: JSON as `outlay replay` writes it, and the page.
#[pyfunction]
pub(crate) fn replay(
    py: Python<'_>,
    problem: PyRef<'_, Problem>,
    columns: Columns<'_>,
    request: Request,
) -> PyResult<(String, String)> {
    let problem = problem.problem.as_ref();
    let refuse = |error: ReplayError| SimulationError::new_err(error.to_string());
    let record = Record::new(problem, task_rows(problem, &columns)?)
        .map_err(|error| SimulationError::new_err(error.to_string()))?;
    let learners = request
        .learners
        .iter()
        .map(|name| name.parse())
        .collect::<Result<Vec<LearnerSpec>, _>>()
        .map_err(|error| LearnerError::new_err(error.to_string()))?;
    let order = match request.order.as_str() {
        "shuffled" => Order::Shuffled,
        "recorded" => Order::Recorded,
        other => {
            let message = format!("order: must be shuffled or recorded, not {other}");
            return Err(SimulationError::new_err(message));
        }
    };
    let (rounds, replications) = match order {
        Order::Recorded => (record.shortest() as u64, 1),
        Order::Shuffled => (problem.horizon().unwrap_or(DEFAULTS.0), DEFAULTS.1),
    };
    let replay = Replay {
        problem,
        record: &record,
        learners: &learners,
        order,
        rounds: request.rounds.unwrap_or(rounds),
        replications: request.replications.unwrap_or(replications),
        starts_from_seen: false,
        seed: request.seed,
    };
    replay.check().map_err(refuse)?;
    let stop = AtomicBool::new(false);
    let threads = request.threads.and_then(NonZeroUsize::new);
    let threads = threads.or_else(|| std::thread::available_parallelism().ok());
    let summary = interruptibly(py, &stop, || {
        let splits = replay.splits()?;
        let mut runs: Vec<Vec<Option<ReplayRun>>> =
            vec![vec![None; replay.replications as usize]; learners.len()];
        replay.run(&splits, threads.unwrap_or(NonZeroUsize::MIN), &stop, |job, run| {
            runs[job.learner][job.replication as usize] = Some(run);
        })?;
        let runs: Vec<Vec<ReplayRun>> =
            runs.into_iter().map(|runs| runs.into_iter().flatten().collect()).collect();
        replay.summary(&splits, &runs)
    })?;
    let summary = summary.map_err(refuse)?;
    let assumptions = assumptions(problem, &record);
    let (problem, runs) = (problem.clone(), columns.name);
    let replayed = Replayed { problem, record, runs, summary, assumptions, holdout: None };
    let output = Output {
        runs: &replayed.runs,
        summary: &replayed.summary,
        assumptions: &replayed.assumptions,
    };
    Ok((text(&output)?, page(&replayed, "outlay.replay(...) in Python")))
}

fn task_rows(problem: &outlay::Problem, columns: &Columns<'_>) -> PyResult<Vec<TaskRows>> {
    let amounts = numbers(&columns.amount, "spend", SimulationError::new_err)?;
    let rewards = numbers(&columns.reward, "reward", SimulationError::new_err)?;
    let success = columns
        .success
        .as_ref()
        .map(|success| crate::arrays::flags(success, "success", SimulationError::new_err))
        .transpose()?;
    let (amounts, rewards) = (amounts.as_slice(), rewards.as_slice());
    let success = success.as_ref().map(|success| success.as_slice());
    let rows = columns.task.len();
    if amounts.len() != rows
        || rewards.len() != rows
        || success.is_some_and(|one| one.len() != rows)
    {
        return Err(SimulationError::new_err("data: the columns have different lengths"));
    }
    let mut tasks: Vec<TaskRows> = problem
        .tasks()
        .iter()
        .map(|_| match success {
            None => TaskRows::Thresholds(Vec::new()),
            Some(_) => TaskRows::Outcomes(Vec::new()),
        })
        .collect();
    for (row, &task) in columns.task.iter().enumerate() {
        let reward = rewards[row];
        if reward > problem.reward_max() {
            return Err(SimulationError::new_err(format!(
                "row {row}: reward: {reward} is above reward_max {} of the problem",
                problem.reward_max()
            )));
        }
        match tasks.get_mut(task) {
            Some(TaskRows::Thresholds(rows)) => {
                rows.push(ThresholdRow { threshold: amounts[row], reward });
            }
            Some(TaskRows::Outcomes(rows)) => {
                let success = success.is_some_and(|success| success[row]);
                let reward = Some(reward).filter(|reward| success || !reward.is_nan());
                rows.push(OutcomeRow { spend: amounts[row], success, reward });
            }
            _ => return Err(SimulationError::new_err(format!("row {row}: task: is unknown"))),
        }
    }
    Ok(tasks)
}
