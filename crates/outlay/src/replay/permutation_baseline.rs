//! The part of the cost of dependence that is sampling noise.
//!
//! The best allocation in hindsight is fitted to the rows, so it gains more than the model's even
//! if thresholds and rewards are independent. Permuting the rewards of each task over its rows
//! measures this excess.

use serde::Serialize;

use super::rank_tests::shuffle;
use super::{Record, Replay, ReplayError, Splits, TaskRows};
use crate::random::{Draws, Purpose};

/// The number of permutations.
const PERMUTATIONS: u32 = 99;
/// A fixed seed, so that the same rows give the same result.
const SEED: u64 = 1;

/// The apparent cost of dependence when there is none.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PermutationBaseline {
    /// Per round, on average over permutations of the rewards.
    pub mean: f64,
    /// The p-value of the observed cost under independence.
    pub p_value: f64,
}

impl Replay<'_> {
    /// The cost under permuted rewards. `None` unless all rows have thresholds, because failures
    /// have no rewards, and if the curves change from round to round.
    ///
    /// # Errors
    /// If the oracle returns an error.
    pub fn lost_by_chance(
        &self,
        splits: &Splits,
    ) -> Result<Option<PermutationBaseline>, ReplayError> {
        let has_thresholds =
            self.record.tasks().iter().all(|task| matches!(task.rows(), TaskRows::Thresholds(_)));
        if !has_thresholds || splits.season.is_some() {
            return Ok(None);
        }
        let seen = splits.lost_to_dependence();
        let (mut total, mut as_large) = (0.0, 1);
        for permutation in 1..=PERMUTATIONS {
            let record = permuted(self, permutation)?;
            // Success probabilities and mean rewards are unchanged, so the model's split is, too.
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
        Ok(Some(PermutationBaseline { mean: total / f64::from(PERMUTATIONS), p_value }))
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
