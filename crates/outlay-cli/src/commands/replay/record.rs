//! Results as JSON and CSV.

use outlay::feedback::Feedback;
use outlay::replay::assumptions::TaskAssumptions;
use outlay::replay::{LearnerReplay, Order, ReplaySummary};
use serde::Serialize;

use crate::failure::Failure;
use crate::output;
use outlay_report::replay::{Holdout, Replayed};

#[derive(Serialize)]
struct Output<'a> {
    runs: &'a str,
    #[serde(flatten)]
    summary: &'a ReplaySummary,
    assumptions: &'a [TaskAssumptions],
    #[serde(skip_serializing_if = "Option::is_none")]
    holdout: Option<&'a Holdout>,
}

/// One object: the splits, the learners, the assumptions.
pub(super) fn json(replayed: &Replayed) -> Result<String, Failure> {
    output::json(&Output {
        runs: &replayed.runs,
        summary: &replayed.summary,
        assumptions: &replayed.assumptions,
        holdout: replayed.holdout.as_ref(),
    })
}

/// One row per learner.
pub(super) fn csv(replayed: &Replayed) -> Result<String, Failure> {
    output::csv(replayed.summary.learners.iter().map(|learner| Row::new(replayed, learner)))
}

#[derive(Serialize)]
struct Row<'a> {
    learner: &'a str,
    feedback: Feedback,
    order: Order,
    rounds: u64,
    replications: u64,
    seed: u64,
    gain_mean: f64,
    gain_std_error: Option<f64>,
    gain_low95: Option<f64>,
    gain_high95: Option<f64>,
    late_gain_mean: f64,
    regret_mean: f64,
    regret_std_error: Option<f64>,
    lost_to_learning: f64,
    lost_to_model: f64,
    best_gain: f64,
    model_recorded_gain: f64,
    model_gain: f64,
    even_gain: f64,
    outside: f64,
    oracle_gap: f64,
    /// Empty unless the rows are divided.
    plan_gain: Option<f64>,
    current_gain: Option<f64>,
}

impl<'a> Row<'a> {
    fn new(replayed: &'a Replayed, learner: &'a LearnerReplay) -> Self {
        let (summary, holdout) = (&replayed.summary, replayed.holdout.as_ref());
        let splits = &summary.splits;
        Self {
            learner: &learner.learner,
            feedback: learner.feedback,
            order: summary.order,
            rounds: summary.rounds,
            replications: summary.replications,
            seed: summary.seed,
            gain_mean: learner.gain.mean,
            gain_std_error: learner.gain.std_error,
            gain_low95: learner.gain.low95,
            gain_high95: learner.gain.high95,
            late_gain_mean: learner.late_gain.mean,
            regret_mean: learner.regret.mean,
            regret_std_error: learner.regret.std_error,
            lost_to_learning: learner.lost_to_learning,
            lost_to_model: summary.lost_to_model,
            best_gain: splits.best.gain,
            model_recorded_gain: splits.model_recorded.gain,
            model_gain: splits.model.gain,
            even_gain: splits.even.gain,
            outside: learner.outside,
            oracle_gap: learner.oracle_gap,
            plan_gain: holdout.map(|holdout| holdout.plan.gain),
            current_gain: holdout.and_then(|holdout| Some(holdout.current.as_ref()?.gain)),
        }
    }
}
