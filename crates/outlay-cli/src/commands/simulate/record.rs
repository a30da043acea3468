//! Results as JSON and CSV.

use outlay::feedback::Feedback;
use outlay::simulation::{LearnerSummary, Summary};
use serde::Serialize;

use crate::failure::Failure;
use crate::output;

/// The runs of several problems or of a grid.
#[derive(Serialize)]
struct Runs<'a> {
    runs: &'a [Summary],
}

/// One object: the run of a single problem, or a list of runs.
pub(crate) fn json(summaries: &[Summary], is_single: bool) -> Result<String, Failure> {
    match summaries {
        [summary] if is_single => output::json(summary),
        runs => output::json(&Runs { runs }),
    }
}

/// One row for each problem and learner.
pub(crate) fn csv(summaries: &[Summary]) -> Result<String, Failure> {
    let rows = summaries
        .iter()
        .flat_map(|summary| summary.learners.iter().map(|learner| Row::new(summary, learner)));
    output::csv(rows)
}

/// One row for each problem, learner and point of its curve.
pub(crate) fn curves_csv(summaries: &[Summary]) -> Result<String, Failure> {
    output::csv(curve_rows(summaries))
}

/// Every point of every curve.
pub(crate) fn curve_rows(summaries: &[Summary]) -> impl Iterator<Item = CurveRow<'_>> {
    summaries.iter().flat_map(|summary| {
        summary.learners.iter().flat_map(|learner| {
            learner.curve.iter().map(|point| CurveRow {
                problem: &summary.problem,
                learner: &learner.learner,
                round: point.round,
                mean: point.mean,
                low95: point.low95,
                high95: point.high95,
                q10: point.q10,
                q90: point.q90,
                parameter: summary.parameter.as_ref().map(|(name, _)| name.as_str()),
                parameter_value: summary.parameter.as_ref().map(|(_, value)| *value),
            })
        })
    })
}

#[derive(Serialize)]
pub(crate) struct CurveRow<'a> {
    pub(crate) problem: &'a str,
    pub(crate) learner: &'a str,
    pub(crate) round: u64,
    pub(crate) mean: f64,
    pub(crate) low95: Option<f64>,
    pub(crate) high95: Option<f64>,
    pub(crate) q10: f64,
    pub(crate) q90: f64,
    /// Parameter of the grid, if there is one.
    pub(crate) parameter: Option<&'a str>,
    pub(crate) parameter_value: Option<f64>,
}

#[derive(Serialize)]
struct Row<'a> {
    problem: &'a str,
    parameter: Option<&'a str>,
    parameter_value: Option<f64>,
    tasks: usize,
    horizon: u64,
    replications: u64,
    seed: u64,
    learner: &'a str,
    feedback: Feedback,
    regret_mean: f64,
    regret_std_error: Option<f64>,
    regret_low95: Option<f64>,
    regret_high95: Option<f64>,
    regret_median: f64,
    regret_q10: f64,
    regret_q90: f64,
    realised_regret_mean: f64,
    realised_regret_std_error: Option<f64>,
    optimum_value: f64,
    share_of_optimum: Option<f64>,
    share_of_even_split_regret: Option<f64>,
    oracle_gap: f64,
    pending: f64,
}

impl<'a> Row<'a> {
    fn new(summary: &'a Summary, learner: &'a LearnerSummary) -> Self {
        let regret = &learner.regret;
        Self {
            problem: &summary.problem,
            parameter: summary.parameter.as_ref().map(|(name, _)| name.as_str()),
            parameter_value: summary.parameter.as_ref().map(|(_, value)| *value),
            tasks: summary.tasks.len(),
            horizon: summary.horizon,
            replications: summary.replications,
            seed: summary.seed,
            learner: &learner.learner,
            feedback: learner.feedback,
            regret_mean: regret.mean,
            regret_std_error: regret.std_error,
            regret_low95: regret.low95,
            regret_high95: regret.high95,
            regret_median: regret.median,
            regret_q10: regret.q10,
            regret_q90: regret.q90,
            realised_regret_mean: learner.realised_regret.mean,
            realised_regret_std_error: learner.realised_regret.std_error,
            optimum_value: summary.optimum.value,
            share_of_optimum: share_of_optimum(summary, learner),
            share_of_even_split_regret: share_of_even_split_regret(summary, learner),
            oracle_gap: learner.oracle_gap,
            pending: learner.pending,
        }
    }
}

/// Expected reward relative to the optimal split; none if the optimum is zero.
pub(crate) fn share_of_optimum(summary: &Summary, learner: &LearnerSummary) -> Option<f64> {
    let optimum = summary.optimum.value * summary.horizon as f64;
    (optimum > 0.0).then(|| 1.0 - learner.regret.mean / optimum)
}

/// Regret relative to the even split: that of `uniform` if it was simulated, else its expected
/// regret.
pub(crate) fn share_of_even_split_regret(
    summary: &Summary,
    learner: &LearnerSummary,
) -> Option<f64> {
    let uniform = summary
        .learners
        .iter()
        .find(|learner| learner.learner == "uniform")
        .map(|uniform| uniform.regret.mean);
    let even = uniform.unwrap_or(summary.uniform_regret_per_round * summary.horizon as f64);
    // Ignore rounding errors of the optimum.
    let is_regret = even > 1e-9 * summary.optimum.value * summary.horizon as f64;
    is_regret.then(|| learner.regret.mean / even)
}
