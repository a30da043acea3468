//! Replications of one learner on one problem. Inputs and results are plain data, so any process
//! can run any of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use numpy::{PyArray1, PyArray2, PyArray3, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3};
use outlay::feedback::Feedback;
use outlay::learner::{LEARNERS, LearnerChoice, LearnerSpec};
use outlay::problem::NoFiles;
use outlay::simulation::{
    Case, Experiment, ExperimentError, Play, Replication, Source, trace_rounds,
};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::custom_learner::{Failure, custom};
use crate::environment::CustomEnvironment;
use crate::errors::{self, LearnerError, ProblemError, SimulationError};
use crate::waiting::{Stop, interruptibly};

/// The problem that a text names: JSON, or an instance.
pub(crate) fn source(text: &str) -> PyResult<Source> {
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

/// A built-in learner by name, or a Python class, and whether it chooses allocations.
pub(crate) fn learner(
    given: &Bound<'_, PyAny>,
    failure: &Failure,
) -> PyResult<(LearnerChoice, bool)> {
    let Ok(text) = given.extract::<String>() else { return custom(given, failure) };
    let spec: LearnerSpec = text
        .parse()
        .map_err(|error: outlay::learner::LearnerError| LearnerError::new_err(error.to_string()))?;
    Ok((spec.into(), spec.chooses_allocation()))
}

/// One problem and these learners.
fn experiment(
    problem: &str,
    learners: &[Bound<'_, PyAny>],
    case: (u64, u64, u64),
    observed: Option<&str>,
    failure: &Failure,
) -> PyResult<Experiment> {
    let (rounds, seed, replications) = case;
    let case =
        Case { name: String::new(), source: source(problem)?, horizon: rounds, parameter: None };
    let learners = learners
        .iter()
        .map(|given| learner(given, failure).map(|(choice, _)| choice))
        .collect::<PyResult<_>>()?;
    let feedback = feedback(observed)?;
    Ok(Experiment { cases: vec![case], learners, feedback, replications, seed })
}

/// Checks that everything can be played. Returns the learners' names with their parameters.
#[pyfunction]
#[pyo3(signature = (problem, learners, rounds, seed, replications, feedback=None))]
pub(crate) fn check(
    problem: &str,
    learners: Vec<Bound<'_, PyAny>>,
    rounds: u64,
    seed: u64,
    replications: u64,
    feedback: Option<&str>,
) -> PyResult<Vec<String>> {
    let failure = Failure::default();
    let case = (rounds, seed, replications);
    let experiment = experiment(problem, &learners, case, feedback, &failure)?;
    let names: Vec<String> = experiment.learners.iter().map(ToString::to_string).collect();
    if let Some((_, twice)) =
        names.iter().enumerate().find(|(position, name)| names[..*position].contains(name))
    {
        return Err(SimulationError::new_err(format!("learner {twice} is given twice")));
    }
    let checked = experiment.check();
    failure.raise()?;
    checked.map_err(|error| errors::experiment(&error))?;
    Ok(names)
}

/// The rounds at which regret is traced: about 200, geometrically spaced.
#[pyfunction]
pub(crate) fn checkpoints(py: Python<'_>, rounds: u64) -> Bound<'_, PyArray1<u64>> {
    PyArray1::from_vec(py, trace_rounds(rounds))
}

/// Every learner: name, parameters, feedback, whether it needs a horizon, its guarantee.
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
/// `problem` is JSON (`Problem.to_json`) or the name of an instance, `learner` a name or a Python
/// class, `environment` a Python class in place of the problem's environment. Every row of the
/// arrays belongs to a replication and depends on these and on its seed alone: replications that
/// are played in parts, anywhere, are the same together.
#[pyfunction]
#[pyo3(signature = (problem, learner, rounds, seed, first, count, *, feedback=None,
    environment=None, stop=None))]
#[allow(clippy::too_many_arguments, reason = "plain data, by name")]
pub(crate) fn play<'py>(
    py: Python<'py>,
    problem: &str,
    learner: Bound<'py, PyAny>,
    rounds: u64,
    seed: u64,
    first: u64,
    count: u64,
    feedback: Option<&str>,
    environment: Option<Py<PyAny>>,
    stop: Option<&Stop>,
) -> PyResult<Bound<'py, PyDict>> {
    let failure = Failure::default();
    let case = (rounds, seed, first.saturating_add(count));
    let experiment = experiment(problem, &[learner], case, feedback, &failure)?;
    let checked = experiment.check();
    failure.raise()?;
    checked.map_err(|error| errors::experiment(&error))?;
    let flag = stop.map_or_else(|| Arc::new(AtomicBool::new(false)), |stop| Arc::clone(&stop.flag));
    let one = |replication: u64| {
        replicate(&experiment, seed.wrapping_add(replication), &environment, &failure, &flag)
    };
    let played = interruptibly(py, &flag, || {
        (first..first.saturating_add(count)).map(one).collect::<Result<Option<Vec<_>>, _>>()
    })?;
    failure.raise()?;
    match played.map_err(|error| errors::experiment(&error))? {
        Some(replications) if !flag.load(Ordering::Relaxed) => arrays(py, &replications),
        _ => Err(PyKeyboardInterrupt::new_err("stopped")),
    }
}

/// Plays one replication, in the given environment or the problem's own.
fn replicate(
    experiment: &Experiment,
    seed: u64,
    environment: &Option<Py<PyAny>>,
    failure: &Failure,
    stop: &AtomicBool,
) -> Result<Option<Replication>, ExperimentError> {
    let (Some(case), Some(learner)) = (experiment.cases.first(), experiment.learners.first())
    else {
        return Err(ExperimentError::Empty);
    };
    let problem = case.source.problem(case.horizon, seed)?;
    let feedback = experiment.feedback_of(learner);
    let play = Play { problem: &problem, learner, feedback, horizon: case.horizon, seed };
    let Some(factory) = environment else { return play.run(stop) };
    let made = Python::attach(|py| {
        CustomEnvironment::new(factory.bind(py), &problem, seed, feedback, failure.clone())
    });
    match made {
        Ok(mut custom) => play.run_with(&mut custom, stop),
        Err(error) => {
            failure.set(error);
            Ok(None)
        }
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

/// The arrays of `play` for one learner, as replications again.
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

/// The summary of several learners on one problem, as `outlay simulate --format json` writes it.
/// `results` holds the arrays of `play` for each learner, all replications in their order.
#[pyfunction]
#[pyo3(signature = (problem, name, parameter, learners, rounds, seed, replications, feedback, results))]
#[allow(clippy::too_many_arguments, reason = "plain data, by name")]
pub(crate) fn summarise(
    problem: &str,
    name: &str,
    parameter: Option<(String, f64)>,
    learners: Vec<Bound<'_, PyAny>>,
    rounds: u64,
    seed: u64,
    replications: u64,
    feedback: Option<&str>,
    results: Vec<Bound<'_, PyDict>>,
) -> PyResult<String> {
    let summary = summary_of(
        problem,
        (name.to_owned(), parameter),
        &learners,
        (rounds, seed, replications),
        feedback,
        &results,
    )?;
    serde_json::to_string(&summary).map_err(|error| SimulationError::new_err(error.to_string()))
}

/// The arguments of `summarise`, for one problem of a report.
type CaseResults<'py> = (
    String,
    String,
    Option<(String, f64)>,
    Vec<Bound<'py, PyAny>>,
    u64,
    u64,
    u64,
    Option<String>,
    Vec<Bound<'py, PyDict>>,
);

/// The page of a simulation.
#[pyfunction]
pub(crate) fn simulation_page(
    title: &str,
    command: &str,
    cases: Vec<CaseResults<'_>>,
) -> PyResult<String> {
    let mut summaries = Vec::with_capacity(cases.len());
    for case in cases {
        let (problem, name, parameter, learners, rounds, seed, replications, feedback, results) =
            case;
        summaries.extend(summary_of(
            &problem,
            (name, parameter),
            &learners,
            (rounds, seed, replications),
            feedback.as_deref(),
            &results,
        )?);
    }
    Ok(outlay_report::simulation::page(title, command, &summaries).html)
}

fn summary_of(
    problem: &str,
    (name, parameter): (String, Option<(String, f64)>),
    learners: &[Bound<'_, PyAny>],
    case: (u64, u64, u64),
    feedback: Option<&str>,
    results: &[Bound<'_, PyDict>],
) -> PyResult<Option<outlay::simulation::Summary>> {
    let mut experiment = experiment(problem, learners, case, feedback, &Failure::default())?;
    for case in &mut experiment.cases {
        (case.name, case.parameter) = (name.clone(), parameter.clone());
    }
    let results = results.iter().map(self::replications).collect::<PyResult<Vec<_>>>()?;
    let summaries = experiment.summaries(&[results]).map_err(|error| errors::experiment(&error))?;
    Ok(summaries.into_iter().next())
}
