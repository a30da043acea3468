//! Bounds as JSON and CSV, with rewards in the problem's unit.

use outlay::theory::{Bound, PolylogBound, Quantities, Side};
use outlay_report::bound::MeasuredLearner;
use serde::Serialize;

use super::Answer;

#[derive(Serialize)]
pub(super) struct Record<'a> {
    problem: &'a str,
    tasks: usize,
    horizon: u64,
    reward_max: f64,
    /// Expected reward per round of the optimal split; null if a mean is unknown or budgets vary.
    optimum: Option<f64>,
    /// The largest possible regret of any learner.
    trivial: f64,
    unknown_means: &'a [String],
    diminishing_returns: DiminishingRecord,
    bounds: Vec<BoundRecord<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<RunRecord<'a>>,
}

#[derive(Serialize)]
struct DiminishingRecord {
    holds: bool,
    /// The failed conditions by task.
    failures: Vec<String>,
    /// The quantities in the bound of Theorem 1.
    theorem_1: Option<Theorem1Record>,
    /// Slopes and curvatures above a share of the budget.
    quantities: Option<Quantities>,
}

#[derive(Serialize)]
struct Theorem1Record {
    least_mean: f64,
    least_share: f64,
    least_success: f64,
    early_share: f64,
    early_success: f64,
}

#[derive(Serialize)]
struct BoundRecord<'a> {
    bound: &'a str,
    source: &'a str,
    regret_is: Side,
    value: Option<f64>,
    vacuous: Option<bool>,
    /// The reason if there is no value.
    reason: Option<String>,
    learners: &'a str,
    about: &'a str,
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
    let reward_max = answer.problem.reward_max();
    let found = &answer.guarantees;
    let failures = found
        .diminishing
        .as_ref()
        .err()
        .map(|failures| failures.iter().map(ToString::to_string).collect());
    Record {
        problem: &answer.name,
        tasks: answer.problem.tasks().len(),
        horizon: answer.horizon,
        reward_max,
        optimum: found.optimum.map(|optimum| optimum * reward_max),
        trivial: found.trivial * reward_max,
        unknown_means: &found.unknown,
        diminishing_returns: DiminishingRecord {
            holds: found.diminishing.is_ok(),
            failures: failures.unwrap_or_default(),
            theorem_1: found.polylog.map(Theorem1Record::new),
            quantities: answer.quantities,
        },
        bounds: found.bounds.iter().map(|bound| BoundRecord::new(bound, reward_max)).collect(),
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

impl Theorem1Record {
    fn new(bound: PolylogBound) -> Self {
        let PolylogBound {
            least_mean, least_share, least_success, early_share, early_success, ..
        } = bound;
        Self { least_mean, least_share, least_success, early_share, early_success }
    }
}

impl<'a> BoundRecord<'a> {
    fn new(bound: &'a Bound, reward_max: f64) -> Self {
        Self {
            bound: bound.name,
            source: bound.source,
            regret_is: bound.side,
            value: bound.value.as_ref().ok().map(|value| value * reward_max),
            vacuous: bound.vacuous,
            reason: bound.value.as_ref().err().map(ToString::to_string),
            learners: bound.learners,
            about: &bound.about,
        }
    }
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
