//! Replications of one learner on one problem: plain data in, plain arrays out, so that any process
//! anywhere can play any of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use numpy::{PyArray1, PyArray2, PyArray3, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3};
use outlay::feedback::Feedback;
use outlay::learner::{LEARNERS, LearnerSpec};
use outlay::problem::NoFiles;
use outlay::simulation::{Case, Experiment, Job, Replication, Source, trace_rounds};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{self, LearnerError, ProblemError, SimulationError};
use crate::waiting::{Stop, interruptibly};

/// The problem that a text names: JSON, or an instance.
fn source(text: &str) -> PyResult<Source> {
    if text.trim_start().starts_with('{') {
        let problem = outlay::Problem::from_json(text, &NoFiles)
            .map_err(|errors| errors::problem("the problem", &errors))?;
        return Ok(Source::Problem(Arc::new(problem)));
    }
    text.parse()
        .map(Source::Instance)
        .map_err(|error: outlay::instance::InstanceError| ProblemError::new_err(error.to_string()))
}

pub(crate) fn feedback(word: Option<&str>) -> PyResult<Option<Feedback>> {
    let Some(word) = word else { return Ok(None) };
    let found = word.parse().map(Some);
    found.map_err(|error: outlay::UnknownName| LearnerError::new_err(error.to_string()))
}

pub(crate) fn learner(text: &str) -> PyResult<LearnerSpec> {
    text.parse()
        .map_err(|error: outlay::learner::LearnerError| LearnerError::new_err(error.to_string()))
}

/// One problem and these learners.
fn experiment(
    problem: &str,
    learners: &[String],
    rounds: u64,
    seed: u64,
    replications: u64,
    shown: Option<&str>,
) -> PyResult<Experiment> {
    let case =
        Case { name: String::new(), source: source(problem)?, horizon: rounds, parameter: None };
    let learners =
        learners.iter().map(|text| learner(text).map(Into::into)).collect::<PyResult<_>>()?;
    Ok(Experiment { cases: vec![case], learners, feedback: feedback(shown)?, replications, seed })
}

/// Refuses what could not be played, before anything is. Returns the learners' names in full.
#[pyfunction]
#[pyo3(signature = (problem, learners, rounds, seed, replications, feedback=None))]
pub(crate) fn check(
    problem: &str,
    learners: Vec<String>,
    rounds: u64,
    seed: u64,
    replications: u64,
    feedback: Option<&str>,
) -> PyResult<Vec<String>> {
    let experiment = experiment(problem, &learners, rounds, seed, replications, feedback)?;
    let specs = &experiment.learners;
    if let Some((_, twice)) =
        specs.iter().enumerate().find(|(position, learner)| specs[..*position].contains(learner))
    {
        return Err(SimulationError::new_err(format!("learner {twice} is given twice")));
    }
    experiment.check().map_err(|error| errors::experiment(&error))?;
    Ok(specs.iter().map(ToString::to_string).collect())
}

/// The rounds after which a replication's regret is kept: about 200, evenly spaced by ratio.
#[pyfunction]
pub(crate) fn checkpoints(py: Python<'_>, rounds: u64) -> Bound<'_, PyArray1<u64>> {
    PyArray1::from_vec(py, trace_rounds(rounds))
}

/// Every learner: name, parameters, feedback, whether it needs a horizon, what is proved of it.
#[pyfunction]
pub(crate) fn learners() -> Vec<(&'static str, &'static str, &'static str, bool, &'static str)> {
    LEARNERS
        .iter()
        .map(|entry| {
            (
                entry.name,
                entry.parameters,
                entry.feedback.as_str(),
                entry.needs_horizon,
                entry.guarantee,
            )
        })
        .collect()
}

/// Plays the replications `first` to `first + count - 1` of one learner on one problem; replication
/// r has the seed `seed + r`.
///
/// `problem` is JSON (`Problem.to_json`) or the name of an instance. Every row of the arrays
/// belongs to a replication and depends on the problem, the learner, the rounds, the feedback and
/// its seed alone: what is played in parts, anywhere, is the same put together.
#[pyfunction]
#[pyo3(signature = (problem, learner, rounds, seed, first, count, *, feedback=None, stop=None))]
#[allow(clippy::too_many_arguments, reason = "plain data, by name")]
pub(crate) fn play<'py>(
    py: Python<'py>,
    problem: &str,
    learner: String,
    rounds: u64,
    seed: u64,
    first: u64,
    count: u64,
    feedback: Option<&str>,
    stop: Option<&Stop>,
) -> PyResult<Bound<'py, PyDict>> {
    let experiment =
        experiment(problem, &[learner], rounds, seed, first.saturating_add(count), feedback)?;
    experiment.check().map_err(|error| errors::experiment(&error))?;
    let jobs: Vec<Job> = (first..first.saturating_add(count))
        .map(|replication| Job { case: 0, learner: 0, replication })
        .collect();
    let flag = stop.map_or_else(|| Arc::new(AtomicBool::new(false)), |stop| Arc::clone(&stop.flag));
    let played = interruptibly(py, &flag, || {
        jobs.iter().map(|&job| experiment.play(job, &flag)).collect::<Result<Option<Vec<_>>, _>>()
    })?;
    match played.map_err(|error| errors::experiment(&error))? {
        Some(replications) if !flag.load(Ordering::Relaxed) => arrays(py, &replications),
        _ => Err(PyKeyboardInterrupt::new_err("stopped")),
    }
}

/// The replications as arrays with one row each.
fn arrays<'py>(py: Python<'py>, replications: &[Replication]) -> PyResult<Bound<'py, PyDict>> {
    let numbers = |number: fn(&Replication) -> f64| {
        PyArray1::from_vec(py, replications.iter().map(number).collect())
    };
    let counts = |count: fn(&Replication) -> u64| {
        PyArray1::from_vec(py, replications.iter().map(count).collect())
    };
    let rows = |row: fn(&Replication) -> &Vec<f64>| -> Vec<Vec<f64>> {
        replications.iter().map(|one| row(one).clone()).collect()
    };
    let refuse = |error: numpy::FromVecError| SimulationError::new_err(error.to_string());
    let spend: Vec<Vec<Vec<f64>>> = replications.iter().map(|one| one.spend.clone()).collect();
    let completions: Vec<Vec<u64>> =
        replications.iter().map(|one| one.completions.clone()).collect();
    let record = PyDict::new(py);
    record.set_item("seed", counts(|one| one.seed))?;
    record.set_item("regret", numbers(|one| one.regret))?;
    record.set_item("realised_regret", numbers(|one| one.realised_regret))?;
    record.set_item("optimum", numbers(|one| one.optimum))?;
    record.set_item("success_mass", numbers(|one| one.success_mass))?;
    record.set_item("oracle_gap", numbers(|one| one.oracle_gap))?;
    record.set_item("pending", counts(|one| one.pending))?;
    record.set_item("completions", PyArray2::from_vec2(py, &completions).map_err(refuse)?)?;
    record.set_item("trace", PyArray2::from_vec2(py, &rows(|one| &one.trace)).map_err(refuse)?)?;
    record.set_item("spend", PyArray3::from_vec3(py, &spend).map_err(refuse)?)?;
    Ok(record)
}

/// What `play` gave for one learner, as replications again.
fn replications(played: &Bound<'_, PyDict>) -> PyResult<Vec<Replication>> {
    let get = |key: &str| {
        played.get_item(key)?.ok_or_else(|| {
            SimulationError::new_err(format!(
                "results: `{key}` is missing: give what `play` returned"
            ))
        })
    };
    let numbers = |key: &str| -> PyResult<Vec<f64>> {
        Ok(get(key)?.extract::<PyReadonlyArray1<'_, f64>>()?.as_array().to_vec())
    };
    let counts = |key: &str| -> PyResult<Vec<u64>> {
        Ok(get(key)?.extract::<PyReadonlyArray1<'_, u64>>()?.as_array().to_vec())
    };
    let (seed, pending) = (counts("seed")?, counts("pending")?);
    let (regret, realised_regret, optimum) =
        (numbers("regret")?, numbers("realised_regret")?, numbers("optimum")?);
    let (success_mass, oracle_gap) = (numbers("success_mass")?, numbers("oracle_gap")?);
    let (completions, trace, spend) = (get("completions")?, get("trace")?, get("spend")?);
    let completions = completions.extract::<PyReadonlyArray2<'_, u64>>()?;
    let trace = trace.extract::<PyReadonlyArray2<'_, f64>>()?;
    let spend = spend.extract::<PyReadonlyArray3<'_, f64>>()?;
    let (completions, trace, spend) = (completions.as_array(), trace.as_array(), spend.as_array());
    let rows = seed.len();
    let lengths = [
        regret.len(),
        realised_regret.len(),
        optimum.len(),
        success_mass.len(),
        oracle_gap.len(),
        pending.len(),
    ];
    if lengths
        .iter()
        .chain(&[completions.nrows(), trace.nrows(), spend.shape()[0]])
        .any(|length| *length != rows)
    {
        return Err(SimulationError::new_err(
            "results: arrays of different lengths: give what `play` returned, put together row by row",
        ));
    }
    let one = |row: usize| Replication {
        seed: seed[row],
        regret: regret[row],
        realised_regret: realised_regret[row],
        optimum: optimum[row],
        completions: completions.row(row).to_vec(),
        success_mass: success_mass[row],
        oracle_gap: oracle_gap[row],
        pending: pending[row],
        trace: trace.row(row).to_vec(),
        spend: spend
            .outer_iter()
            .nth(row)
            .map(|points| points.outer_iter().map(|point| point.to_vec()).collect())
            .unwrap_or_default(),
    };
    Ok((0..rows).map(one).collect())
}

/// What the replications of several learners on one problem add up to: the JSON that `outlay
/// simulate --format json` writes. `results` has what `play` gave for each learner, all its
/// replications in their order.
#[pyfunction]
#[pyo3(signature = (problem, name, parameter, learners, rounds, seed, replications, feedback, results))]
#[allow(clippy::too_many_arguments, reason = "plain data, by name")]
pub(crate) fn summarise(
    problem: &str,
    name: &str,
    parameter: Option<(String, f64)>,
    learners: Vec<String>,
    rounds: u64,
    seed: u64,
    replications: u64,
    feedback: Option<&str>,
    results: Vec<Bound<'_, PyDict>>,
) -> PyResult<String> {
    let mut experiment = experiment(problem, &learners, rounds, seed, replications, feedback)?;
    for case in &mut experiment.cases {
        (case.name, case.parameter) = (name.to_owned(), parameter.clone());
    }
    let results = results.iter().map(self::replications).collect::<PyResult<Vec<_>>>()?;
    let summaries = experiment.summaries(&[results]).map_err(|error| errors::experiment(&error))?;
    serde_json::to_string(&summaries.first())
        .map_err(|error| SimulationError::new_err(error.to_string()))
}
