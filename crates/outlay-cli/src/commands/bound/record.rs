//! Bounds as JSON and CSV, with rewards in the problem's unit.

use outlay::theory::{Bound, Side};
use outlay_report::bound::{BoundRecord, BoundsRecord, MeasuredLearner};
use serde::Serialize;

use super::Answer;

#[derive(Serialize)]
pub(super) struct Record<'a> {
    #[serde(flatten)]
    bounds: BoundsRecord<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<RunRecord<'a>>,
}

#[derive(Serialize)]
struct RunRecord<'a> {
    folder: String,
    learners: Vec<RunLearnerRecord<'a>>,
}

#[derive(Serialize)]
struct RunLearnerRecord<'a> {
    problem: &'a str,
    learner: &'a str,
    replications: usize,
    regret_mean: f64,
    regret_low95: Option<f64>,
    regret_high95: Option<f64>,
    success_mass: f64,
    bound: Option<&'a str>,
    value: Option<f64>,
    vacuous: Option<bool>,
    /// Regret as a share of the bound.
    ratio: Option<f64>,
}

/// The same with flat columns; the columns of a run are empty for bounds that do not need one.
#[derive(Serialize)]
pub(super) struct Row<'a> {
    bound: &'a str,
    source: &'a str,
    regret_is: Option<Side>,
    value: Option<f64>,
    vacuous: Option<bool>,
    reason: String,
    learners: &'a str,
    about: &'a str,
    replications: Option<usize>,
    regret_mean: Option<f64>,
    regret_low95: Option<f64>,
    regret_high95: Option<f64>,
    success_mass: Option<f64>,
    ratio: Option<f64>,
}

pub(super) fn record(answer: &Answer) -> Record<'_> {
    let about = (&answer.problem, answer.horizon);
    Record {
        bounds: BoundsRecord::new(&answer.name, about, &answer.guarantees, answer.quantities),
        run: answer.measured.as_ref().map(|measured| RunRecord {
            folder: measured.path.display().to_string(),
            learners: measured
                .learners
                .iter()
                .map(|learner| RunLearnerRecord::new(learner, answer))
                .collect(),
        }),
    }
}

/// One row per bound, then one per learner of the run.
pub(super) fn rows(answer: &Answer) -> Vec<Row<'_>> {
    let reward_max = answer.problem.reward_max();
    let mut rows: Vec<Row<'_>> =
        answer.guarantees.bounds.iter().map(|bound| Row::new(bound, reward_max)).collect();
    rows.extend(
        answer.measured.iter().flat_map(|measured| {
            measured.learners.iter().map(|learner| Row::of_run(learner, answer))
        }),
    );
    rows
}

impl<'a> RunLearnerRecord<'a> {
    fn new(measured: &'a MeasuredLearner, answer: &Answer) -> Self {
        Self {
            problem: &measured.problem,
            learner: &measured.learner,
            replications: measured.replications,
            regret_mean: measured.regret.mean,
            regret_low95: measured.regret.low95,
            regret_high95: measured.regret.high95,
            success_mass: measured.success_mass,
            bound: measured.bound.as_ref().map(|bound| bound.name),
            value: measured.bound_value(&answer.problem),
            vacuous: measured.bound.as_ref().and_then(|bound| bound.vacuous),
            ratio: measured.ratio(&answer.problem),
        }
    }
}

impl<'a> Row<'a> {
    fn new(bound: &'a Bound, reward_max: f64) -> Self {
        let BoundRecord { bound, source, regret_is, value, vacuous, reason, learners, about } =
            BoundRecord::new(bound, reward_max);
        Self {
            bound,
            source,
            regret_is: Some(regret_is),
            value,
            vacuous,
            reason: reason.unwrap_or_default(),
            learners,
            about,
            replications: None,
            regret_mean: None,
            regret_low95: None,
            regret_high95: None,
            success_mass: None,
            ratio: None,
        }
    }

    fn of_run(measured: &'a MeasuredLearner, answer: &Answer) -> Self {
        let record = RunLearnerRecord::new(measured, answer);
        let bound = measured.bound.as_ref();
        let reason = bound.map_or(Some("no bound for this learner".to_owned()), |bound| {
            bound.value.as_ref().err().map(ToString::to_string)
        });
        Self {
            bound: record.bound.unwrap_or_default(),
            source: bound.map(|bound| bound.source).unwrap_or_default(),
            regret_is: bound.map(|bound| bound.side),
            value: record.value,
            vacuous: record.vacuous,
            reason: reason.unwrap_or_default(),
            learners: record.learner,
            about: record.problem,
            replications: Some(record.replications),
            regret_mean: Some(record.regret_mean),
            regret_low95: record.regret_low95,
            regret_high95: record.regret_high95,
            success_mass: Some(record.success_mass),
            ratio: record.ratio,
        }
    }
}
