//! Fits the tasks in parallel; the results do not depend on the number of threads.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use outlay::fit::{Choice, FitError, Fitted, Options, fit, fit_counts, fit_requirements};

use outlay_report::fit::{Drawing, TaskData, TaskFit, TaskLog};

use crate::output::progress::{Work, with_progress};

/// How to fit the tasks.
pub(super) struct Request {
    pub(super) choice: Choice,
    pub(super) options: Options,
    pub(super) threads: NonZeroUsize,
    /// The tasks that are drawn in the report.
    pub(super) drawn: Vec<bool>,
    pub(super) quiet: bool,
}

pub(super) fn fit_all(logs: Vec<TaskLog>, request: &Request) -> Result<Vec<TaskFit>, FitError> {
    let work = Work {
        steps_name: "tasks",
        steps: logs.len(),
        steps_done: 0,
        unit: Some("trials"),
        total: logs.iter().map(|log| log.data.trials()).sum(),
        done: 0.0,
    };
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Result<Found, FitError>>>> =
        logs.iter().map(|_| Mutex::new(None)).collect();
    with_progress(work, request.quiet, |progress| {
        std::thread::scope(|scope| {
            for _ in 0..request.threads.get().min(logs.len()) {
                scope.spawn(|| {
                    loop {
                        let position = next.fetch_add(1, Ordering::Relaxed);
                        let Some(log) = logs.get(position) else { break };
                        *results[position].lock().unwrap_or_else(PoisonError::into_inner) =
                            Some(found(log, request, request.drawn[position]));
                        progress.step_by(log.data.trials());
                    }
                });
            }
        });
    });
    let finished = |(log, result): (TaskLog, Mutex<Option<Result<Found, FitError>>>)| {
        let result = result.into_inner().unwrap_or_else(PoisonError::into_inner);
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
        TaskData::Outcomes(outcomes) => fit(outcomes, request.choice, &request.options)?,
        TaskData::Counts(counts) => fit_counts(counts, request.choice, &request.options)?,
        TaskData::Requirements(needs) => fit_requirements(needs, &request.options)?,
    };
    let drawing = drawn.then(|| Drawing::new(&log.data, &fitted, &request.options));
    Ok((Some(fitted), drawing))
}
