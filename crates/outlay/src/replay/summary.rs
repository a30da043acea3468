//! What the replications of a replay add up to.

use serde::Serialize;

use super::{Chance, Order, Replay, ReplayError, ReplayRun, Splits};
use crate::feedback::Feedback;
use crate::simulation::{CurvePoint, Statistics, trace_rounds};
use crate::sum::sum;

/// What one learner made of a record.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LearnerReplay {
    /// The learner as asked for.
    pub learner: String,
    /// What it was shown.
    pub feedback: Feedback,
    /// Gain per round.
    pub gain: Statistics,
    /// Gain per round in the last tenth of the rounds.
    pub late_gain: Statistics,
    /// What the best fixed split gained more, over all rounds.
    pub regret: Statistics,
    /// What the model's best split gains more per round; negative if the learner found something
    /// better.
    pub lost_to_learning: f64,
    /// The share of all spends where the record does not say what they would bring.
    pub outside: f64,
    /// The largest relative gap of the splits played.
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
    /// Which rows were replayed when.
    pub order: Order,
    /// Rounds.
    pub rounds: u64,
    /// Replications.
    pub replications: u64,
    /// Seed of the first replication.
    pub seed: u64,
    /// The fixed splits.
    pub splits: Splits,
    /// What the model's best split lacks per round of the best one.
    pub lost_to_model: f64,
    /// What the model's best split would lack with the recorded curves: the price of dependence
    /// alone.
    pub lost_to_dependence: f64,
    /// What of that would be seen without any dependence; absent for outcome rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_by_chance: Option<Chance>,
    /// The learners, in the order asked for.
    pub learners: Vec<LearnerReplay>,
}

impl Replay<'_> {
    /// What the replications add up to: `results[learner]` holds them in their order.
    ///
    /// # Errors
    /// If the oracle refuses the budget.
    pub fn summary(
        &self,
        splits: &Splits,
        results: &[Vec<ReplayRun>],
    ) -> Result<ReplaySummary, ReplayError> {
        let learners = self.learners.iter().zip(results);
        Ok(ReplaySummary {
            tasks: self.problem.tasks().iter().map(|task| task.name().to_owned()).collect(),
            rows: self.record.tasks().iter().map(|task| task.len()).collect(),
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
