//! How much of the price of dependence is the luck of the rows.
//!
//! The best split in hindsight knows every row, also what of them is chance: it gains more than the
//! model's even where thresholds and rewards have nothing to do with each other. How much more is
//! seen by handing each task's rewards to its rows at random.

use serde::Serialize;

use super::rank::shuffle;
use super::{Record, Replay, ReplayError, Splits, TaskRows};
use crate::random::{Draws, Purpose};

/// How often rewards are handed out anew.
const PERMUTATIONS: u32 = 99;
/// The same rows give the same answer.
const SEED: u64 = 1;

/// What dependence seems to cost where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Chance {
    /// Per round, on average over permutations of the rewards.
    pub mean: f64,
    /// The chance of a price as high as the one seen if there is no dependence.
    pub p_value: f64,
}

impl Replay<'_> {
    /// What the model's split for the recorded curves would lack of the best one by chance. Nothing
    /// for outcome rows, whose failures have no rewards to hand out.
    ///
    /// # Errors
    /// If the oracle refuses the budget.
    pub fn lost_by_chance(&self, splits: &Splits) -> Result<Option<Chance>, ReplayError> {
        if self.record.tasks().iter().any(|task| matches!(task.rows(), TaskRows::Outcomes(_))) {
            return Ok(None);
        }
        let seen = splits.lost_to_dependence();
        let (mut total, mut as_large) = (0.0, 1);
        for permutation in 1..=PERMUTATIONS {
            let record = permuted(self, permutation)?;
            // Chances and mean rewards are what they were, so the model's split is, too.
            let lost = Splits::best_gain_over(
                self.problem,
                &record,
                self.order,
                self.rounds,
                &splits.model_recorded.spend,
            )?;
            total += lost;
            as_large += u32::from(lost >= seen - 1e-12 * splits.best.gain);
        }
        let p_value = f64::from(as_large) / f64::from(PERMUTATIONS + 1);
        Ok(Some(Chance { mean: total / f64::from(PERMUTATIONS), p_value }))
    }
}

/// The record with each task's rewards in another order.
fn permuted(replay: &Replay<'_>, permutation: u32) -> Result<Record, ReplayError> {
    let draws = Draws::new(SEED, Purpose::Permutation).round(u64::from(permutation) + 1);
    let tasks = replay.record.tasks().iter().enumerate().map(|(task, record)| {
        let mut rows = record.rows().clone();
        if let TaskRows::Thresholds(rows) = &mut rows {
            let mut rewards: Vec<f64> = rows.iter().map(|row| row.reward).collect();
            shuffle(&mut rewards, &mut draws.many(task));
            rows.iter_mut().zip(rewards).for_each(|(row, reward)| row.reward = reward);
        }
        rows
    });
    Ok(Record::new(replay.problem, tasks.collect())?)
}
