//! Regret bounds, the check of a problem, and the claims of the paper.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use outlay::claims::{CLAIMS, Claim, Evidence, Results, Scale, Setting, Value as Cell, Verdict};
use outlay::instance::Instance;
use outlay::simulation::{Experiment, ExperimentError, Job, Replication};
use outlay::theory::{guarantees, means};
use outlay_report::bound::{BoundsRecord, MeasuredLearner, Measurements};
use outlay_report::check::ProblemCheck;
use outlay_report::reproduction::{self, JudgedClaim};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::errors::{self, ProblemError, SimulationError};
use crate::ledger::text;
use crate::problem::Problem;
use crate::simulation::source;
use crate::waiting::interruptibly;

/// The check of a problem as JSON, as `outlay check` writes it.
#[pyfunction]
pub(crate) fn check_problem(problem: PyRef<'_, Problem>) -> PyResult<String> {
    text(&ProblemCheck::new(&problem.problem))
}

/// The bounds that apply to a problem as JSON, as `outlay bound` writes them.
#[pyfunction]
#[pyo3(signature = (problem, source, name, horizon, share, run=None))]
pub(crate) fn bound(
    problem: PyRef<'_, Problem>,
    source: &str,
    name: &str,
    horizon: u64,
    share: Option<f64>,
    run: Option<Run>,
) -> PyResult<String> {
    let refuse = |error: outlay::instance::InstanceError| ProblemError::new_err(error.to_string());
    let seed = run.as_ref().map_or(1, |run| run.seed);
    // An instance depends on the horizon.
    let instance = match source.starts_with('{') {
        true => None,
        false => Some(source.parse::<Instance>().and_then(|one| one.problem(horizon, seed))),
    };
    let instance = instance.transpose().map_err(refuse)?;
    let problem = instance.as_ref().unwrap_or(&problem.problem);
    let found = guarantees(problem, &means(problem), horizon)
        .map_err(|error| SimulationError::new_err(error.to_string()))?;
    let share = share.or(found.polylog.map(|bound| bound.least_share));
    let quantities =
        found.diminishing.as_ref().ok().zip(share).map(|(one, share)| one.quantities(share));
    let measured = run.map(|run| run.measured(problem, horizon, found.trivial)).transpose()?;
    let bounds = BoundsRecord::new(name, (problem, horizon), &found, quantities);
    let mut record = json!(bounds);
    if let (Some(measured), Some(record)) = (measured, record.as_object_mut()) {
        record.insert("run".to_owned(), measured);
    }
    text(&record)
}

/// A run of a simulation.
#[derive(FromPyObject)]
pub(crate) struct Run {
    /// Its folder, or another name.
    folder: String,
    seed: u64,
    cases: Vec<RunCase>,
}

/// One problem of a run.
#[derive(FromPyObject)]
struct RunCase {
    label: String,
    /// The problem as JSON, or the name of an instance.
    problem: String,
    horizon: u64,
    /// Names of learners with the regret and the success mass of every replication.
    learners: Vec<(String, Vec<f64>, Vec<f64>)>,
}

impl Run {
    /// The learners that were run on this problem with this horizon.
    fn measured(&self, problem: &outlay::Problem, horizon: u64, trivial: f64) -> PyResult<Value> {
        let about = self.cases.iter().filter(|case| case.is_about(problem, self.seed));
        let about: Vec<&RunCase> = about.collect();
        let folder = &self.folder;
        if about.is_empty() {
            let names: Vec<&str> = self.cases.iter().map(|case| case.label.as_str()).collect();
            let message =
                format!("run: {folder} is a run of another problem: {}", names.join(", "));
            return Err(SimulationError::new_err(message));
        }
        let cases: Vec<&&RunCase> = about.iter().filter(|case| case.horizon == horizon).collect();
        if cases.is_empty() {
            let mut known: Vec<String> =
                about.iter().map(|case| case.horizon.to_string()).collect();
            known.dedup();
            return Err(SimulationError::new_err(format!(
                "run: {folder} is a run over {} rounds, not {horizon}: give horizon",
                known.join(" or ")
            )));
        }
        let mut learners = Vec::new();
        for case in cases {
            for (learner, regret, success_mass) in &case.learners {
                if regret.is_empty() || regret.len() != success_mass.len() {
                    continue;
                }
                let measured = MeasuredLearner::new(
                    (case.label.clone(), learner),
                    Measurements { regret, success_mass },
                    (problem, horizon),
                    trivial,
                );
                learners.push(measured_record(&measured, problem));
            }
        }
        if learners.is_empty() {
            let message = format!("run: {folder} has no finished replications yet");
            return Err(SimulationError::new_err(message));
        }
        Ok(json!({ "folder": folder, "learners": learners }))
    }
}

impl RunCase {
    /// Whether it is this problem. The horizon of a run does not identify the problem.
    fn is_about(&self, problem: &outlay::Problem, seed: u64) -> bool {
        let made = source(&self.problem).ok();
        let made = made.and_then(|source| source.problem(self.horizon, seed).ok());
        let without_horizon = |problem: &outlay::Problem| {
            let mut value = serde_json::to_value(problem).ok()?;
            value.as_object_mut()?.remove("horizon");
            Some(value)
        };
        let asked = without_horizon(problem);
        asked.is_some() && made.is_some_and(|made| without_horizon(&made) == asked)
    }
}

fn measured_record(measured: &MeasuredLearner, problem: &outlay::Problem) -> Value {
    json!({
        "problem": measured.problem,
        "learner": measured.learner,
        "replications": measured.replications,
        "regret_mean": measured.regret.mean,
        "regret_low95": measured.regret.low95,
        "regret_high95": measured.regret.high95,
        "success_mass": measured.success_mass,
        "bound": measured.bound.as_ref().map(|bound| bound.name),
        "value": measured.bound_value(problem),
        "vacuous": measured.bound.as_ref().and_then(|bound| bound.vacuous),
        "ratio": measured.ratio(problem),
    })
}

/// The names of the claims.
#[pyfunction]
pub(crate) fn claims() -> Vec<&'static str> {
    CLAIMS.iter().map(|claim| claim.name).collect()
}

/// Tests claims by experiments: JSON as `outlay reproduce` writes it, and the page.
#[pyfunction]
pub(crate) fn reproduce(
    py: Python<'_>,
    names: Vec<String>,
    quick: bool,
    threads: Option<usize>,
) -> PyResult<(String, String)> {
    let known = |name: &String| {
        CLAIMS.iter().find(|claim| claim.name == name).copied().ok_or_else(|| {
            let names: Vec<&str> = CLAIMS.iter().map(|claim| claim.name).collect();
            SimulationError::new_err(format!(
                "claims: there is no claim {name}; expected one of {}",
                names.join(", ")
            ))
        })
    };
    let chosen: Vec<Claim> = match names.is_empty() {
        true => CLAIMS.to_vec(),
        false => names.iter().map(known).collect::<PyResult<_>>()?,
    };
    let setting = Setting::new(if quick { Scale::Quick } else { Scale::Full });
    let threads = threads
        .and_then(NonZeroUsize::new)
        .or_else(|| std::thread::available_parallelism().ok())
        .unwrap_or(NonZeroUsize::MIN);
    let stop = AtomicBool::new(false);
    let judged = interruptibly(py, &stop, || {
        chosen
            .iter()
            .map(|claim| judge(claim, &setting, threads, &stop))
            .collect::<Result<Vec<_>, _>>()
    })?;
    let judged = judged.map_err(|error| errors::experiment(&error))?;
    let mut words = vec!["outlay reproduce".to_owned()];
    words.extend(names);
    words.extend(quick.then(|| "--quick".to_owned()));
    let command = words.join(" ");
    let records = judged.iter().map(record).collect::<Vec<Value>>();
    let version = env!("CARGO_PKG_VERSION");
    let result = json!({ "outlay": version, "command": command, "claims": records });
    Ok((text(&result)?, reproduction::page(&command, &judged).html))
}

fn judge(
    claim: &Claim,
    setting: &Setting,
    threads: NonZeroUsize,
    stop: &AtomicBool,
) -> Result<JudgedClaim, ExperimentError> {
    let experiments = claim.experiments(setting)?;
    let mut results: Vec<Results> = Vec::with_capacity(experiments.len());
    for experiment in &experiments {
        results.push(played(experiment, threads, stop)?);
    }
    let finding =
        claim.judge(&Evidence { setting, experiments: &experiments, results: &results })?;
    let most = experiments.iter().map(|experiment| experiment.replications).max();
    Ok(JudgedClaim {
        verdict: Verdict::of(claim.strength, &finding.checks),
        seeds: most
            .zip(experiments.first())
            .map(|(most, first)| (first.seed, first.seed + most - 1)),
        runs: experiments.iter().map(|experiment| experiment.jobs().count()).sum(),
        seconds: 0.0,
        claim: *claim,
        finding,
    })
}

/// The replications of an experiment by case and learner.
fn played(
    experiment: &Experiment,
    threads: NonZeroUsize,
    stop: &AtomicBool,
) -> Result<Vec<Vec<Vec<Replication>>>, ExperimentError> {
    let jobs: Vec<Job> = experiment.jobs().collect();
    let mut finished: Vec<(Job, Replication)> = Vec::with_capacity(jobs.len());
    experiment.run(&jobs, threads, stop, |job, replication| finished.push((job, replication)))?;
    finished.sort_unstable_by_key(|(job, _)| *job);
    let mut results = vec![vec![Vec::new(); experiment.learners.len()]; experiment.cases.len()];
    for (job, replication) in finished {
        results[job.case][job.learner].push(replication);
    }
    Ok(results)
}

fn record(judged: &JudgedClaim) -> Value {
    let cell = |cell: &Cell| match cell {
        Cell::Text(text) => json!(text),
        Cell::Number(number) => json!(number),
        Cell::Mean(mean, half) => json!({ "mean": mean, "half95": half }),
    };
    let rows = judged.finding.table.rows.iter();
    let rows: Vec<Vec<Value>> = rows.map(|row| row.iter().map(cell).collect()).collect();
    let checks = judged.finding.checks.iter().map(|check| {
        json!({
            "what": check.what,
            "measured": check.measured,
            "wanted": check.wanted,
            "passed": check.passed(),
        })
    });
    json!({
        "claim": judged.claim.name,
        "title": judged.claim.title,
        "source": judged.claim.source,
        "statement": judged.claim.statement,
        "criterion": judged.claim.criterion,
        "verdict": judged.verdict.as_str(),
        "runs": judged.runs,
        "seeds": judged.seeds,
        "checks": checks.collect::<Vec<Value>>(),
        "table": { "columns": judged.finding.table.columns, "rows": rows },
    })
}
