//! Summary of the replications of a replay.

use serde::Serialize;

use super::{Order, PermutationBaseline, Replay, ReplayError, ReplayRun, Splits};
use crate::feedback::Feedback;
use crate::numeric::compensated::sum;
use crate::simulation::{CurvePoint, Statistics, trace_rounds};

/// The summary of one learner on a record.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LearnerReplay {
    /// The learner as specified.
    pub learner: String,
    /// Its feedback.
    pub feedback: Feedback,
    /// Gain per round.
    pub gain: Statistics,
    /// Gain per round in the last tenth of the rounds.
    pub late_gain: Statistics,
    /// The regret against the best fixed allocation, over all rounds.
    pub regret: Statistics,
    /// The loss per round against the model's best allocation; negative if the learner did better.
    pub lost_to_learning: f64,
    /// The share of all spends outside the recorded range.
    pub outside: f64,
    /// The largest optimality gap of the allocations played.
    pub oracle_gap: f64,
    /// Spend per round of each task.
    pub spend: Vec<f64>,
    /// Regret over time.
    pub curve: Vec<CurvePoint>,
}

/// All learners on one record.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReplaySummary {
    /// Names of the tasks.
    pub tasks: Vec<String>,
    /// Rows of each task.
    pub rows: Vec<usize>,
    /// The number of rows whose reward was above the largest one and was clipped.
    pub clipped: u64,
    /// The order of the rows.
    pub order: Order,
    /// The number of rounds.
    pub rounds: u64,
    /// The number of replications.
    pub replications: u64,
    /// Seed of the first replication.
    pub seed: u64,
    /// The fixed allocations.
    pub splits: Splits,
    /// The loss per round of the model's best allocation.
    pub lost_to_model: f64,
    /// The loss per round of the model's best allocation for the recorded curves: the cost of
    /// dependence alone.
    pub lost_to_dependence: f64,
    /// The part of that loss that is sampling noise; `None` for outcome rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_by_chance: Option<PermutationBaseline>,
    /// The learners, in the order of the replay.
    pub learners: Vec<LearnerReplay>,
}

impl Replay<'_> {
    /// Summarises the replications; `results[learner]` holds them in order.
    ///
    /// # Errors
    /// If the oracle returns an error.
    pub fn summary(
        &self,
        splits: &Splits,
        results: &[Vec<ReplayRun>],
    ) -> Result<ReplaySummary, ReplayError> {
        let learners = self.learners.iter().zip(results);
        Ok(ReplaySummary {
            tasks: self.problem.tasks().iter().map(|task| task.name().to_owned()).collect(),
            rows: self.record.tasks().iter().map(|task| task.len()).collect(),
            clipped: self.record.clipped(),
            order: self.order,
            rounds: self.rounds,
            replications: self.replications,
            seed: self.seed,
            lost_to_model: splits.lost_to_model(),
            lost_to_dependence: splits.lost_to_dependence(),
            lost_by_chance: self.lost_by_chance(splits)?,
            splits: splits.clone(),
            learners: learners
                .map(|(learner, runs)| {
                    self.learner(&learner.to_string(), learner.entry().feedback, splits, runs)
                })
                .collect(),
        })
    }

    fn learner(
        &self,
        name: &str,
        feedback: Feedback,
        splits: &Splits,
        runs: &[ReplayRun],
    ) -> LearnerReplay {
        let of = |number: fn(&ReplayRun) -> f64| {
            Statistics::of(&runs.iter().map(number).collect::<Vec<f64>>())
        };
        let gain = of(|run| run.gain);
        let spend =
            |task: usize| sum(runs.iter().map(|run| run.spend[task])) / runs.len().max(1) as f64;
        LearnerReplay {
            learner: name.to_owned(),
            feedback,
            lost_to_learning: splits.model.gain - gain.mean,
            gain,
            late_gain: of(|run| run.late_gain),
            regret: of(|run| run.regret),
            outside: of(|run| run.outside).mean,
            oracle_gap: runs.iter().map(|run| run.oracle_gap).fold(0.0, f64::max),
            spend: (0..self.problem.tasks().len()).map(spend).collect(),
            curve: self.curve(runs),
        }
    }

    fn curve(&self, runs: &[ReplayRun]) -> Vec<CurvePoint> {
        let point = |(place, round): (usize, u64)| {
            let sample: Vec<f64> =
                runs.iter().filter_map(|run| run.trace.get(place).copied()).collect();
            let Statistics { mean, low95, high95, q10, q90, .. } = Statistics::of(&sample);
            CurvePoint { round, mean, low95, high95, q10, q90 }
        };
        trace_rounds(self.rounds).into_iter().enumerate().map(point).collect()
    }
}
