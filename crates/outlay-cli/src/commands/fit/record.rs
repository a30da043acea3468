//! Fits as JSON and CSV.

use outlay::Curve;
use outlay::fit::{Candidate, Fitted, Parameter};
use serde::Serialize;

use super::Answer;
use crate::input;
use outlay_report::fit::{CAUTION, TaskData, TaskFit};

#[derive(Serialize)]
pub(super) struct Record<'a> {
    log: String,
    budget: f64,
    reward_max: f64,
    tasks: Vec<TaskRecord<'a>>,
    caution: &'static str,
}

#[derive(Serialize)]
struct TaskRecord<'a> {
    task: &'a str,
    #[serde(flatten)]
    size: Size,
    family: Option<String>,
    curve: Option<&'a Curve>,
    #[serde(flatten)]
    counts: Option<CountsRecord>,
    parameters: Vec<ParameterRecord>,
    log_loss: Option<f64>,
    constant_log_loss: Option<f64>,
    calibration: Option<f64>,
    covers: Option<Covers>,
    value: Option<f64>,
    value_error: Option<f64>,
    candidates: Vec<CandidateRecord>,
    reason: Option<String>,
    warnings: Vec<String>,
}

/// The size of a task's log.
#[derive(Serialize, Clone, Copy)]
#[serde(untagged)]
enum Size {
    Trials { trials: f64, successes: f64 },
    Counts { rows: f64, completions: f64 },
}

impl Size {
    fn of(data: &TaskData) -> Self {
        let (rows, successes) = (data.trials(), data.successes());
        match data {
            TaskData::Counts(_) => Self::Counts { rows, completions: successes },
            _ => Self::Trials { trials: rows, successes },
        }
    }
}

/// The parts of a fit that only counts have.
#[derive(Serialize, Clone, Copy)]
struct CountsRecord {
    volume: f64,
    dispersion: f64,
    mean_spend: Option<f64>,
}

impl CountsRecord {
    fn of(task: &TaskFit) -> Option<Self> {
        let counts = task.fitted.as_ref()?.counts?;
        let mean_spend = match &task.log.data {
            TaskData::Counts(log) => log.mean_spend(),
            _ => None,
        };
        Some(Self { volume: counts.volume, dispersion: counts.dispersion, mean_spend })
    }
}

#[derive(Serialize)]
struct ParameterRecord {
    name: &'static str,
    value: f64,
    low: Option<f64>,
    high: Option<f64>,
}

#[derive(Serialize)]
struct Covers {
    from: f64,
    /// Absent if unlimited.
    to: Option<f64>,
    share: f64,
}

#[derive(Serialize)]
struct CandidateRecord {
    family: String,
    parameters: usize,
    log_loss: f64,
    worse_by: f64,
    error: f64,
}

pub(super) fn record<'a>(answer: &'a Answer<'_>) -> Record<'a> {
    Record {
        log: input::display_name(answer.log),
        budget: answer.amounts.budget,
        reward_max: answer.amounts.reward_max,
        tasks: answer.tasks.iter().map(|task| task_record(task, answer.amounts.budget)).collect(),
        caution: CAUTION,
    }
}

fn task_record(task: &TaskFit, budget: f64) -> TaskRecord<'_> {
    let (data, fitted) = (&task.log.data, task.fitted.as_ref());
    TaskRecord {
        task: &task.log.name,
        size: Size::of(data),
        counts: CountsRecord::of(task),
        family: fitted.map(|fitted| fitted.kind.to_string()),
        curve: fitted.map(|fitted| &fitted.curve),
        parameters: fitted
            .map(|fitted| fitted.parameters.iter().map(parameter).collect())
            .unwrap_or_default(),
        log_loss: fitted.and_then(|fitted| fitted.log_loss),
        constant_log_loss: fitted.and_then(|fitted| fitted.constant_log_loss),
        calibration: fitted.and_then(|fitted| fitted.calibration),
        covers: covers(task, budget),
        value: task.log.rewards.mean(),
        value_error: task.log.rewards.error(),
        candidates: fitted
            .map(|fitted| fitted.candidates.iter().map(candidate).collect())
            .unwrap_or_default(),
        reason: fitted.and_then(Fitted::reason),
        warnings: warnings(fitted),
    }
}

fn parameter(parameter: &Parameter) -> ParameterRecord {
    ParameterRecord {
        name: parameter.name,
        value: parameter.value,
        low: parameter.low,
        high: parameter.high,
    }
}

fn candidate(candidate: &Candidate) -> CandidateRecord {
    CandidateRecord {
        family: candidate.form.to_string(),
        parameters: candidate.parameters,
        log_loss: candidate.log_loss,
        worse_by: candidate.worse_by,
        error: candidate.error,
    }
}

fn covers(task: &TaskFit, budget: f64) -> Option<Covers> {
    let (from, to) = task.log.data.observed_range()?;
    Some(Covers {
        from,
        to: Some(to).filter(|to| to.is_finite()),
        share: ((to.min(budget) - from) / budget).clamp(0.0, 1.0),
    })
}

fn warnings(fitted: Option<&Fitted>) -> Vec<String> {
    match fitted {
        Some(fitted) => fitted.warnings.iter().map(ToString::to_string).collect(),
        None => vec!["no data: omitted from the problem".to_owned()],
    }
}

/// One row per task; lists are separated by semicolons.
#[derive(Serialize)]
pub(super) struct TaskRow<'a> {
    task: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    trials: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    successes: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completions: Option<f64>,
    family: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    volume: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dispersion: Option<f64>,
    parameters: String,
    low95: String,
    high95: String,
    log_loss: Option<f64>,
    constant_log_loss: Option<f64>,
    calibration: Option<f64>,
    covers_from: Option<f64>,
    covers_to: Option<f64>,
    value: Option<f64>,
    value_error: Option<f64>,
    warnings: String,
}

pub(super) fn rows<'a>(answer: &'a Answer<'_>) -> Vec<TaskRow<'a>> {
    answer.tasks.iter().map(|task| row(task_record(task, answer.amounts.budget))).collect()
}

fn row(task: TaskRecord<'_>) -> TaskRow<'_> {
    let listed = |number: fn(&ParameterRecord) -> Option<f64>| {
        let written = |parameter: &ParameterRecord| {
            Some(format!("{}={}", parameter.name, number(parameter)?))
        };
        task.parameters.iter().filter_map(written).collect::<Vec<_>>().join(";")
    };
    let (trials, counted) = match task.size {
        Size::Trials { trials, successes } => (Some((trials, successes)), None),
        Size::Counts { rows, completions } => (None, Some((rows, completions))),
    };
    TaskRow {
        trials: trials.map(|(trials, _)| trials),
        successes: trials.map(|(_, successes)| successes),
        rows: counted.map(|(rows, _)| rows),
        completions: counted.map(|(_, completions)| completions),
        volume: task.counts.map(|counts| counts.volume),
        dispersion: task.counts.map(|counts| counts.dispersion),
        parameters: listed(|parameter| Some(parameter.value)),
        low95: listed(|parameter| parameter.low),
        high95: listed(|parameter| parameter.high),
        task: task.task,
        family: task.family,
        log_loss: task.log_loss,
        constant_log_loss: task.constant_log_loss,
        calibration: task.calibration,
        covers_from: task.covers.as_ref().map(|covers| covers.from),
        covers_to: task.covers.as_ref().and_then(|covers| covers.to),
        value: task.value,
        value_error: task.value_error,
        warnings: task.warnings.join(";"),
    }
}
