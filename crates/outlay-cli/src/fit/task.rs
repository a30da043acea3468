//! Every task's fit, several at the same time; the same for any number of threads.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use outlay::fit::{Choice, FitError, Fitted, Options, fit, fit_requirements};

use super::drawing::Drawing;
use super::log::{Data, TaskLog};
use crate::console::{Progress, Work, locked};

/// A task with its curve; none if the log says nothing of it.
#[derive(Debug)]
pub(super) struct TaskFit {
    pub(super) log: TaskLog,
    pub(super) fitted: Option<Fitted>,
    /// What a picture of it needs.
    pub(super) drawing: Option<Drawing>,
}

/// How to fit everything.
pub(super) struct Request {
    pub(super) choice: Choice,
    pub(super) options: Options,
    pub(super) threads: NonZeroUsize,
    /// Which tasks will be drawn.
    pub(super) drawn: Vec<bool>,
    pub(super) quiet: bool,
}

pub(super) fn fit_all(logs: Vec<TaskLog>, request: &Request) -> Result<Vec<TaskFit>, FitError> {
    let work = Work {
        unit: Some("trials"),
        total: logs.iter().map(|log| log.data.trials()).sum(),
        done: 0.0,
        before: 0.0,
    };
    let progress = Progress::resumed("tasks", logs.len(), 0, work, request.quiet);
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Result<Found, FitError>>>> =
        logs.iter().map(|_| Mutex::new(None)).collect();
    progress.during(|progress| {
        std::thread::scope(|scope| {
            for _ in 0..request.threads.get().min(logs.len()) {
                scope.spawn(|| {
                    loop {
                        let position = next.fetch_add(1, Ordering::Relaxed);
                        let Some(log) = logs.get(position) else { break };
                        *locked(&results[position]) =
                            Some(found(log, request, request.drawn[position]));
                        locked(progress).step_by(log.data.trials());
                    }
                });
            }
        });
    });
    let finished = |(log, result): (TaskLog, Mutex<Option<Result<Found, FitError>>>)| {
        let result = result.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (fitted, drawing) =
            result.unwrap_or(Err(FitError::NoData)).or_else(|error| match error {
                FitError::NoData => Ok((None, None)),
                other => Err(other),
            })?;
        Ok(TaskFit { log, fitted, drawing })
    };
    logs.into_iter().zip(results).map(finished).collect()
}

type Found = (Option<Fitted>, Option<Drawing>);

fn found(log: &TaskLog, request: &Request, drawn: bool) -> Result<Found, FitError> {
    let fitted = match &log.data {
        Data::Outcomes(outcomes) => fit(outcomes, request.choice, &request.options)?,
        Data::Requirements(needs) => fit_requirements(needs, &request.options)?,
    };
    let drawing = drawn.then(|| Drawing::new(&log.data, &fitted, &request.options));
    Ok((Some(fitted), drawing))
}
