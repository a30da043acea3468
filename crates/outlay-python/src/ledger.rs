//! The daily loop: a learner with a record of its rounds and outcomes, in the state file of the
//! command line.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use outlay::campaign::Guards;
use outlay::learner::LearnerSpec;
use outlay::ledger::{
    Entry, IssuedRound, Ledger as EngineLedger, LedgerError, Reported, RoundRequest, Settings,
    TaskStatus, Undone,
};
use outlay::plan::frontier;
use outlay_report::decision::frontier_budgets;
use outlay_report::status;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::errors::{self, AllocationError, LearnerError, ObservationError, StateError};
use crate::labels::is_frame;
use crate::learner::Issuer;
use crate::problem::Problem;
use crate::report::frame::rows;
use crate::report::{Arguments, TaskReport};
use crate::round::Round;
use crate::values::RoundCurves;

/// A ledger. `outlay.Ledger` adds files and tables.
#[pyclass(subclass, frozen, module = "outlay._outlay")]
pub(crate) struct Ledger {
    ledger: Mutex<EngineLedger>,
}

/// The settings of a ledger, as the caller wrote them.
#[derive(FromPyObject)]
pub(crate) struct Given {
    learner: String,
    horizon: Option<u64>,
    seed: u64,
    max_change: Option<f64>,
    floor: Option<f64>,
    min_move: Option<f64>,
    ignore_seen: bool,
}

impl Given {
    fn settings(self) -> PyResult<Settings> {
        let Self { learner, horizon, seed, max_change, floor, min_move, ignore_seen } = self;
        let learner: Result<LearnerSpec, outlay::learner::LearnerError> = learner.parse();
        let learner = learner.map_err(|error| LearnerError::new_err(error.to_string()))?;
        let guards = Guards { max_change, floor, min_move };
        Ok(Settings { learner, horizon, seed, guards, ignore_seen })
    }
}

#[pymethods]
impl Ledger {
    /// The ledger of a saved state, or a new one.
    #[new]
    #[pyo3(signature = (problem, settings, state=None))]
    fn new(
        problem: Option<PyRef<'_, Problem>>,
        settings: Option<Given>,
        state: Option<&str>,
    ) -> PyResult<Self> {
        let ledger = match (problem.zip(settings), state) {
            (_, Some(state)) => EngineLedger::from_json(state)
                .map_err(|error| StateError::new_err(error.to_string()))?,
            (Some((problem, settings)), None) => {
                EngineLedger::new(&problem.problem, settings.settings()?)
                    .map_err(|error| LearnerError::new_err(error.to_string()))?
            }
            (None, None) => return Err(LearnerError::new_err("problem: is missing")),
        };
        Ok(Self { ledger: Mutex::new(ledger) })
    }

    fn _problem_json(&self) -> PyResult<String> {
        text(self.locked().problem())
    }

    /// The state, as the command line writes it.
    ///
    /// Returns
    /// -------
    /// str
    ///     JSON.
    ///
    /// Examples
    /// --------
    /// >>> import json, outlay
    /// >>> json.loads(outlay.Ledger(outlay.Problem.load("power")).to_json())["learner"]
    /// 'kl-ucb-plus'
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
        self.locked().problem().tasks().iter().map(|task| task.name().to_owned()).collect()
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

    fn _next(&self, py: Python<'_>, asked: AskedRound<'_>) -> PyResult<Round> {
        let AskedRound { budget, without, key, unit, scale, volume } = asked;
        let problem = self.locked().problem().clone();
        let curves = RoundCurves::new(&problem, scale.as_ref(), volume.as_ref())?;
        let names: Vec<&str> = without.iter().map(String::as_str).collect();
        let by_name = |numbers: &Option<Vec<f64>>| -> Vec<(&str, f64)> {
            let tasks = problem.tasks().iter().map(outlay::Task::name);
            tasks.zip(numbers.iter().flatten().copied()).collect()
        };
        let (scale, volume) = (&by_name(&curves.scale), &by_name(&curves.volume));
        let (without, key) = (&names, key.as_deref());
        let request = RoundRequest { budget, without, scale, volume, key, unit };
        py.detach(|| {
            let mut ledger = self.locked();
            let issued = ledger.issue(&request).map_err(|error| {
                AllocationError::new_err(match error {
                    LedgerError::UnknownTask(name) => unknown_task("without", &name, &ledger),
                    LedgerError::Rounding(error) => format!("round: {error}"),
                    other => other.to_string(),
                })
            })?;
            Ok(round_of(&ledger, issued))
        })
    }

    /// A round that was issued before.
    fn _show(&self, round: &Bound<'_, PyAny>) -> PyResult<Round> {
        let number = self.number(round)?;
        let ledger = self.locked();
        let unknown = LedgerError::UnknownRound { round: number, last: ledger.rounds() };
        let issued = ledger.issued(number);
        let issued = issued.ok_or_else(|| ObservationError::new_err(unknown.to_string()))?;
        Ok(round_of(&ledger, issued))
    }

    fn _cancel(&self, py: Python<'_>, round: &Bound<'_, PyAny>) -> PyResult<()> {
        let round = self.number(round)?;
        let cancelled = py.detach(|| self.locked().cancel(round));
        cancelled.map_err(|error| ObservationError::new_err(error.to_string()))
    }

    /// Records outcomes: (new, repeated, revised).
    #[pyo3(signature = (round, completed, reward, completions, spend, revises))]
    fn _report(
        &self,
        round: &Bound<'_, PyAny>,
        completed: Option<&Bound<'_, PyAny>>,
        reward: Option<&Bound<'_, PyAny>>,
        completions: Option<&Bound<'_, PyAny>>,
        spend: Option<&Bound<'_, PyAny>>,
        revises: bool,
    ) -> PyResult<(usize, usize, usize)> {
        let arguments = Arguments { completed, completions, reward, spend };
        let (entries, places) = self.entries(round, &arguments)?;
        let mut ledger = self.locked();
        let reported = match revises {
            true => ledger.revise(&entries),
            false => ledger.report(&entries),
        };
        let Reported { new, repeated, revised, spends, .. } =
            reported.map_err(|error| match error {
                LedgerError::Entries(invalid) => {
                    let line = |one: &outlay::ledger::InvalidEntry| match places.get(one.position) {
                        Some(row) => format!("row {row}: {}", one.reason),
                        None => one.reason.to_string(),
                    };
                    ObservationError::new_err(
                        invalid.iter().map(line).collect::<Vec<_>>().join("\n"),
                    )
                }
                other => ObservationError::new_err(other.to_string()),
            })?;
        // An outcome with its spend replaces the one without.
        Ok((new, repeated, revised + spends))
    }

    /// Undoes the last report, or the last amendment: the number of outcomes.
    fn _undo(&self) -> PyResult<usize> {
        match self.locked().undo() {
            Ok(Undone::Outcomes(outcomes)) => Ok(outcomes),
            Ok(Undone::Amendment(_)) => Ok(0),
            Err(error) => Err(ObservationError::new_err(error.to_string())),
        }
    }

    /// Replaces the problem: the difference as JSON.
    fn _amend(&self, py: Python<'_>, problem: PyRef<'_, Problem>) -> PyResult<String> {
        let problem = problem.problem.clone();
        let amended = py.detach(|| self.locked().amend(&problem));
        text(&amended.map_err(|error| LearnerError::new_err(error.to_string()))?)
    }

    /// The status as JSON.
    fn _status(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| {
            let ledger = self.locked();
            let found = ledger.status().map_err(damaged)?;
            let tasks = ledger.problem().tasks().iter().zip(&found.tasks);
            let tasks: Vec<Value> = tasks.map(|(task, status)| row(task, status)).collect();
            text(&json!({
                "rounds": found.rounds,
                "cancelled": found.cancelled,
                "open": found.open,
                "spend": found.spend,
                "gain": found.gain,
                "clipped": found.clipped,
                "tasks": tasks,
                "summary": status::summary(&ledger, &found),
                "warnings": status::warnings(&ledger, &found),
            }))
        })
    }

    /// The page of the status.
    fn _page(&self, py: Python<'_>, title: String) -> PyResult<String> {
        py.detach(|| {
            let ledger = self.locked();
            let found = ledger.status().map_err(damaged)?;
            let (problem, values) = (ledger.problem(), status::values(&found));
            let options =
                outlay::Options { leftover: problem.leftover(), ..outlay::Options::default() };
            let budgets = frontier_budgets(problem, problem.budget(), 0.0);
            let points =
                frontier(problem, &values, &budgets, &options, |_| ControlFlow::Continue(()))
                    .map_err(|error| errors::allocation(&error))?;
            let command = "made with outlay in Python".to_owned();
            Ok(status::page(&ledger, &found, points, title, command).html())
        })
    }
}

/// A request for a round, as the caller wrote it.
#[derive(FromPyObject)]
pub(crate) struct AskedRound<'py> {
    budget: Option<f64>,
    without: Vec<String>,
    key: Option<String>,
    unit: Option<f64>,
    scale: Option<Bound<'py, PyAny>>,
    volume: Option<Bound<'py, PyAny>>,
}

fn damaged(error: LedgerError) -> PyErr {
    StateError::new_err(error.to_string())
}

/// An unknown name in an argument, with a suggestion.
fn unknown_task(argument: &str, name: &str, ledger: &EngineLedger) -> String {
    let error = ledger.problem().task_position(name).err();
    format!("{argument}: {}", error.map_or_else(|| name.to_owned(), |error| error.to_string()))
}

fn round_of(ledger: &EngineLedger, issued: IssuedRound) -> Round {
    let mask = issued.available.contains(&false).then_some(issued.available);
    let problem = Arc::new(ledger.problem().clone());
    let issuer = Issuer::of_ledger(ledger.settings());
    let volume = issued.volume.or_else(|| past_volume(ledger, issued.round));
    let curves = RoundCurves { scale: issued.scale, volume };
    let mut round =
        Round::new(problem, issued.round, issued.allocation, mask, issued.guards, issuer);
    round.curves = curves;
    round.key = ledger.key(round.round).map(str::to_owned);
    round.is_cancelled = ledger.is_cancelled(round.round);
    round
}

/// The volumes of a round that was issued before an amendment changed them.
fn past_volume(ledger: &EngineLedger, round: u64) -> Option<Vec<f64>> {
    let past = ledger.problem_of(round).tasks().iter().map(outlay::Task::volume);
    let present: Vec<f64> = ledger.problem().tasks().iter().map(outlay::Task::volume).collect();
    // Tasks that were added later come last.
    let mut volume: Vec<f64> = past.collect();
    volume.extend(present.iter().skip(volume.len()));
    Some(volume).filter(|volume| *volume != present)
}

fn row(definition: &outlay::Task, task: &TaskStatus) -> Value {
    json!({
        "task": definition.name(),
        "retired": definition.is_retired(),
        "spend": task.spend,
        "share": task.share,
        "reported": task.reported,
        "completions": task.completions,
        "expected": task.expected,
        "delivered": task.delivery.and_then(|delivery| delivery.share()),
        "proposed_max": task.delivery.and_then(|delivery| delivery.proposed_max),
        "gain": task.gain,
        "clipped": task.clipped,
        "mean": task.mean,
        "seen_completions": task.seen.map(|seen| seen.completions),
        "seen_mean": task.seen.and_then(|seen| seen.mean()),
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

    /// The number of a round.
    fn number(&self, round: &Bound<'_, PyAny>) -> PyResult<u64> {
        if let Ok(round) = round.cast::<Round>() {
            let round = round.get();
            if !round.issuer.is_same(Issuer::of_ledger(self.locked().settings())) {
                return Err(ObservationError::new_err(format!(
                    "round: round {} was not issued by this ledger; its outcomes belong elsewhere",
                    round.round
                )));
            }
            return Ok(round.round);
        }
        round.extract::<u64>().map_err(|_| {
            ObservationError::new_err("round: must be a Round, or its number from 1 on")
        })
    }

    /// The entries of a report, and the row of each if they come from a data frame.
    fn entries(
        &self,
        round: &Bound<'_, PyAny>,
        arguments: &Arguments<'_, '_>,
    ) -> PyResult<(Vec<Entry>, Vec<usize>)> {
        let framed = match arguments.counts()? {
            None if is_frame(round) => {
                arguments.refuse_beside_frame()?;
                Some((round, None))
            }
            _ => match arguments.frame()? {
                Some(frame) => Some((frame, Some(self.number(round)?))),
                None => None,
            },
        };
        let problem = self.locked().problem().clone();
        if let Some((frame, round)) = framed {
            let rows = rows(&problem, frame, round)?;
            let entries = rows.iter().map(|row| entry(row.round, row.task, row.report)).collect();
            return Ok((entries, rows.iter().map(|row| row.row).collect()));
        }
        let number = self.number(round)?;
        let issued = self.locked().issued(number);
        let available = issued.as_ref().map(|issued| issued.available.as_slice());
        let reports = arguments.tasks(&problem, available)?;
        let entries = reports
            .into_iter()
            .enumerate()
            .filter_map(|(task, report)| Some(entry(number, task, report?)));
        Ok((entries.collect(), Vec::new()))
    }
}

fn entry(round: u64, task: usize, report: TaskReport) -> Entry {
    let TaskReport { completions, reward, spend } = report;
    Entry { round, task, completions, reward, spend }
}
