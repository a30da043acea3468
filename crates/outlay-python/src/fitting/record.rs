//! Fits as JSON.

use outlay::Curve;
use outlay::fit::{Candidate, Fitted};
use outlay_report::fit::{TaskData as Data, TaskFit};
use serde::Serialize;

use super::mean_spend;

#[derive(Serialize)]
pub(super) struct Record {
    pub(super) budget: f64,
    pub(super) reward_max: f64,
    pub(super) tasks: Vec<TaskRecord>,
}

#[derive(Serialize)]
pub(super) struct TaskRecord {
    task: String,
    trials: Option<f64>,
    successes: Option<f64>,
    rows: Option<f64>,
    completions: Option<f64>,
    family: Option<String>,
    curve: Option<Curve>,
    volume: Option<f64>,
    dispersion: Option<f64>,
    mean_spend: Option<f64>,
    parameters: Vec<(&'static str, f64, Option<f64>, Option<f64>)>,
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

/// The range of spends with data.
#[derive(Serialize)]
struct Covers {
    from: f64,
    /// Absent if unlimited.
    to: Option<f64>,
    /// The share of the budget that it covers.
    share: f64,
}

/// A family that was compared with the chosen one.
#[derive(Serialize)]
struct CandidateRecord {
    family: String,
    parameters: usize,
    log_loss: f64,
    worse_by: f64,
    error: f64,
}

fn covers(data: &Data, budget: f64) -> Option<Covers> {
    let (from, to) = data.observed_range()?;
    let share = ((to.min(budget) - from) / budget).clamp(0.0, 1.0);
    Some(Covers { from, to: Some(to).filter(|to| to.is_finite()), share })
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

pub(super) fn record(task: TaskFit, budget: f64) -> TaskRecord {
    let TaskFit { log, fitted, .. } = task;
    let size = (log.data.trials(), log.data.successes());
    let is_counts = matches!(log.data, Data::Counts(_));
    let (trials, counts) = if is_counts { (None, Some(size)) } else { (Some(size), None) };
    let counted = fitted.as_ref().and_then(|fitted| fitted.counts);
    let warnings = match &fitted {
        Some(fitted) => fitted.warnings.iter().map(ToString::to_string).collect(),
        None => vec!["no data: omitted from the problem".to_owned()],
    };
    let parameters = fitted.iter().flat_map(|fitted| &fitted.parameters);
    TaskRecord {
        trials: trials.map(|(trials, _)| trials),
        successes: trials.map(|(_, successes)| successes),
        rows: counts.map(|(rows, _)| rows),
        completions: counts.map(|(_, completions)| completions),
        volume: counted.map(|counts| counts.volume),
        dispersion: counted.map(|counts| counts.dispersion),
        mean_spend: mean_spend(&log),
        task: log.name,
        family: fitted.as_ref().map(|fitted| fitted.kind.to_string()),
        parameters: parameters
            .map(|parameter| (parameter.name, parameter.value, parameter.low, parameter.high))
            .collect(),
        log_loss: fitted.as_ref().and_then(|fitted| fitted.log_loss),
        constant_log_loss: fitted.as_ref().and_then(|fitted| fitted.constant_log_loss),
        calibration: fitted.as_ref().and_then(|fitted| fitted.calibration),
        covers: covers(&log.data, budget),
        candidates: fitted
            .as_ref()
            .map(|fitted| fitted.candidates.iter().map(candidate).collect())
            .unwrap_or_default(),
        value: log.rewards.mean(),
        value_error: log.rewards.error(),
        reason: fitted.as_ref().and_then(Fitted::reason),
        curve: fitted.map(|fitted| fitted.curve),
        warnings,
    }
}
