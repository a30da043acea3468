//! The daily loop: a learner with a record of its rounds and outcomes, in the state file of the
//! command line.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use outlay::campaign::Guards;
use outlay::learner::LearnerSpec;
use outlay::ledger::{Entry, Ledger as EngineLedger, LedgerError, Settings, TaskStatus};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::errors::{LearnerError, ObservationError, StateError};
use crate::learner::Issuer;
use crate::observations::rows;
use crate::problem::Problem;
use crate::round::Round;

/// A ledger. `outlay.Ledger` adds files and tables.
#[pyclass(subclass, frozen, module = "outlay._outlay")]
pub(crate) struct Ledger {
    ledger: Mutex<EngineLedger>,
    problem: Arc<outlay::Problem>,
}

#[pymethods]
impl Ledger {
    #[new]
    #[pyo3(signature = (problem, learner, horizon, seed, guards, state=None))]
    fn new(
        problem: Option<PyRef<'_, Problem>>,
        learner: &str,
        horizon: Option<u64>,
        seed: u64,
        guards: (Option<f64>, Option<f64>, Option<f64>),
        state: Option<&str>,
    ) -> PyResult<Self> {
        let ledger = match (problem, state) {
            (_, Some(state)) => EngineLedger::from_json(state)
                .map_err(|error| StateError::new_err(error.to_string()))?,
            (Some(problem), None) => {
                let learner: LearnerSpec =
                    learner.parse().map_err(|error: outlay::learner::LearnerError| {
                        LearnerError::new_err(error.to_string())
                    })?;
                let (max_change, floor, min_move) = guards;
                let guards = Guards { max_change, floor, min_move };
                EngineLedger::new(
                    &problem.problem,
                    Settings { learner, horizon, seed, guards, ..Settings::default() },
                )
                .map_err(|error| LearnerError::new_err(error.to_string()))?
            }
            (None, None) => return Err(LearnerError::new_err("problem: is missing")),
        };
        let problem = Arc::new(ledger.problem().clone());
        Ok(Self { ledger: Mutex::new(ledger), problem })
    }

    fn problem_json(&self) -> PyResult<String> {
        text(&*self.problem)
    }

    /// The state as JSON, as the command line writes it.
    fn to_json(&self) -> String {
        self.locked().to_json()
    }

    /// The learner with its parameters.
    #[getter]
    fn learner(&self) -> String {
        self.locked().settings().learner.to_string()
    }

    /// The names of the tasks.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.problem.tasks().iter().map(|task| task.name().to_owned()).collect()
    }

    /// The number of rounds issued so far.
    #[getter]
    fn rounds(&self) -> u64 {
        self.locked().rounds()
    }

    /// The number of rounds with missing outcomes.
    #[getter]
    fn open_rounds(&self) -> usize {
        self.locked().open_rounds()
    }

    #[pyo3(signature = (budget, without))]
    fn _next(&self, py: Python<'_>, budget: Option<f64>, without: Vec<String>) -> PyResult<Round> {
        let names: Vec<&str> = without.iter().map(String::as_str).collect();
        let issued = py
            .detach(|| self.locked().next(budget, &names))
            .map_err(|error| crate::errors::AllocationError::new_err(error.to_string()))?;
        let mask = issued.available.contains(&false).then_some(issued.available);
        let (problem, issuer) = (Arc::clone(&self.problem), Issuer::saved(0));
        Ok(Round::new(problem, issued.round, issued.allocation, mask, issued.guards, issuer))
    }

    /// Records the rows of a data frame: (new, repeated).
    #[pyo3(signature = (frame, round=None))]
    fn _report(&self, frame: &Bound<'_, PyAny>, round: Option<u64>) -> PyResult<(usize, usize)> {
        let rows = rows(&self.problem, frame, round)?;
        let entries: Vec<Entry> = rows
            .iter()
            .map(|row| Entry {
                round: row.round,
                task: row.task,
                completions: u64::from(row.completed),
                reward: row.reward,
                spend: None,
            })
            .collect();
        let reported = self.locked().report(&entries).map_err(|error| match error {
            LedgerError::Entries(invalid) => {
                let lines =
                    invalid.iter().map(|one| format!("row {}: {}", one.position, one.reason));
                ObservationError::new_err(lines.collect::<Vec<_>>().join("\n"))
            }
            other => ObservationError::new_err(other.to_string()),
        })?;
        Ok((reported.new, reported.repeated))
    }

    fn _undo(&self) -> PyResult<usize> {
        let undone = self.locked().undo();
        undone.map(|one| one.new).map_err(|error| ObservationError::new_err(error.to_string()))
    }

    /// The status as JSON.
    fn _status(&self, py: Python<'_>) -> PyResult<String> {
        let status = py
            .detach(|| self.locked().status())
            .map_err(|error| StateError::new_err(error.to_string()))?;
        let tasks = self.problem.tasks().iter().zip(&status.tasks);
        let open = status.open.iter().map(|(round, waiting)| json!([round, waiting]));
        text(&json!({
            "rounds": status.rounds,
            "open": open.collect::<Vec<Value>>(),
            "spend": status.spend,
            "gain": status.gain,
            "tasks": tasks.map(|(task, status)| row(task.name(), status)).collect::<Vec<Value>>(),
        }))
    }
}

fn row(name: &str, task: &TaskStatus) -> Value {
    json!({
        "task": name,
        "spend": task.spend,
        "share": task.share,
        "reported": task.reported,
        "completions": task.completions,
        "expected": task.expected,
        "gain": task.gain,
        "mean": task.mean,
        "index": task.index,
        "bonus": task.bonus,
        "next": task.next,
        "misfit": task.misfit.map(|misfit| misfit.probability),
    })
}

/// A value as JSON text.
pub(crate) fn text(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| StateError::new_err(error.to_string()))
}

impl Ledger {
    fn locked(&self) -> MutexGuard<'_, EngineLedger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
