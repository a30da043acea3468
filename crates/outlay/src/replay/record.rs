//! What was recorded of each task, and what a round with some spend replays of it.
//!
//! Rows come in two kinds. A *threshold* row says what success needed: it is replayed at any spend,
//! and succeeds if the spend reaches it. An *outcome* row says only what happened at the spend that
//! was tried, so a round with spend x replays a row that was tried with the nearest spend below x:
//! what succeeded there succeeds with more, and what failed is taken to fail again. Gains are
//! understated by this, never overstated.

use super::Order;
use super::staircase::{Staircase, rising_pools};
use crate::curve::JUMP_TOLERANCE;
use crate::feedback::{Outcome, Reward};
use crate::problem::Problem;
use crate::text::one_line;

/// What success needed, and what it brought or would have brought.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThresholdRow {
    /// The least spend that succeeds.
    pub threshold: f64,
    /// The reward of the success.
    pub reward: f64,
}

/// What happened at one spend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OutcomeRow {
    /// What was spent.
    pub spend: f64,
    /// Whether that succeeded.
    pub success: bool,
    /// What it brought, or would have brought; of a failure it may be unknown.
    pub reward: Option<f64>,
}

/// The rows of one task, in recorded order.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskRows {
    /// What success needed.
    Thresholds(Vec<ThresholdRow>),
    /// What happened at the spends that were tried.
    Outcomes(Vec<OutcomeRow>),
}

/// A record that cannot be replayed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RecordError(pub String);

/// The record of every task of a problem, in the problem's order.
#[derive(Debug, Clone)]
pub struct Record {
    tasks: Vec<TaskRecord>,
}

/// The record of one task.
#[derive(Debug, Clone)]
pub struct TaskRecord {
    rows: TaskRows,
    /// Rewards as shares of the largest.
    rewards: Vec<Option<Reward>>,
    /// Where a row may be replayed: from the spend of its pool to that of the next. Threshold rows
    /// are one pool from 0 on.
    pools: Vec<Pool>,
    /// The largest spend of which something is known.
    known_to: f64,
    mean_reward: f64,
}

#[derive(Debug, Clone)]
struct Pool {
    /// The least spend that replays these rows.
    from: f64,
    /// In recorded order.
    rows: Vec<usize>,
}

impl Record {
    /// The record of a problem's tasks, one entry a task.
    ///
    /// # Errors
    /// If a task has no rows, an amount is negative or not finite, or a reward is missing or above
    /// the problem's largest.
    pub fn new(problem: &Problem, tasks: Vec<TaskRows>) -> Result<Self, RecordError> {
        if tasks.len() != problem.tasks().len() {
            return Err(RecordError(format!(
                "a record of {} tasks for a problem of {}",
                tasks.len(),
                problem.tasks().len()
            )));
        }
        let named = problem.tasks().iter().zip(tasks);
        let tasks = named.map(|(task, rows)| {
            let record = TaskRecord::new(rows, problem.reward_max());
            record.map_err(|message| {
                RecordError(format!("task {}: {message}", one_line(task.name())))
            })
        });
        Ok(Self { tasks: tasks.collect::<Result<_, _>>()? })
    }

    /// One a task.
    #[must_use]
    pub fn tasks(&self) -> &[TaskRecord] {
        &self.tasks
    }

    /// All rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tasks.iter().map(TaskRecord::len).sum()
    }

    /// Whether there is nothing to replay.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows of the task that has fewest: so many rounds use no row twice.
    #[must_use]
    pub fn shortest(&self) -> usize {
        self.tasks.iter().map(TaskRecord::len).min().unwrap_or(0)
    }

    /// Whether every row says what it brought or would have brought: what full feedback shows.
    #[must_use]
    pub fn knows_forgone(&self) -> bool {
        self.tasks.iter().all(|task| task.rewards.iter().all(Option::is_some))
    }
}

impl TaskRecord {
    fn new(rows: TaskRows, reward_max: f64) -> Result<Self, String> {
        let given: Vec<(f64, Option<f64>)> = match &rows {
            TaskRows::Thresholds(rows) => {
                rows.iter().map(|row| (row.threshold, Some(row.reward))).collect()
            }
            TaskRows::Outcomes(rows) => rows.iter().map(|row| (row.spend, row.reward)).collect(),
        };
        if given.is_empty() {
            return Err("has no rows".to_owned());
        }
        for (position, &(spend, reward)) in given.iter().enumerate() {
            let row = position + 1;
            if !(spend >= 0.0 && spend.is_finite()) {
                return Err(format!("row {row}: must be finite and not negative, not {spend}"));
            }
            if let Some(reward) = reward.filter(|reward| !(0.0..=reward_max).contains(reward)) {
                return Err(format!(
                    "row {row}: reward must be between 0 and reward_max = {reward_max}, not {reward}"
                ));
            }
        }
        if let TaskRows::Outcomes(rows) = &rows
            && let Some(row) = rows.iter().position(|row| row.success && row.reward.is_none())
        {
            return Err(format!("row {}: a success without a reward", row + 1));
        }
        let rewards: Vec<Option<Reward>> = given
            .iter()
            .map(|(_, reward)| Some(Reward::from_share((*reward)? / reward_max)))
            .collect();
        let mut record =
            Self { rows, rewards, pools: Vec::new(), known_to: f64::INFINITY, mean_reward: 0.0 };
        record.pools = record.pooled();
        if let TaskRows::Outcomes(rows) = &record.rows {
            record.known_to = rows.iter().map(|row| row.spend).fold(0.0, f64::max);
        }
        record.mean_reward = record.mean_of_rewards();
        Ok(record)
    }

    /// How many rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rewards.len()
    }

    /// Never: a task without rows is no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rewards.is_empty()
    }

    /// As they were given.
    #[must_use]
    pub fn rows(&self) -> &TaskRows {
        &self.rows
    }

    /// The mean reward as a share of the largest: of all threshold rows, of the outcome rows that
    /// succeeded.
    #[must_use]
    pub fn mean_reward(&self) -> f64 {
        self.mean_reward
    }

    fn mean_of_rewards(&self) -> f64 {
        let counts = |row: &usize| match &self.rows {
            TaskRows::Thresholds(_) => true,
            TaskRows::Outcomes(rows) => rows[*row].success,
        };
        let counted: Vec<u64> = (0..self.len())
            .filter(counts)
            .filter_map(|row| self.rewards[row])
            .map(Reward::units)
            .collect();
        if counted.is_empty() {
            0.0
        } else {
            counted.iter().sum::<u64>() as f64 / counted.len() as f64 / Reward::UNITS as f64
        }
    }

    /// What an outcome row brought at the spend that was tried.
    fn gain_of(&self, row: usize) -> Reward {
        match &self.rows {
            TaskRows::Outcomes(rows) if !rows[row].success => Reward::NONE,
            _ => self.rewards[row].unwrap_or(Reward::NONE),
        }
    }

    fn pooled(&self) -> Vec<Pool> {
        match &self.rows {
            TaskRows::Thresholds(rows) => vec![Pool { from: 0.0, rows: (0..rows.len()).collect() }],
            TaskRows::Outcomes(rows) => {
                let tried: Vec<(f64, u64)> = rows
                    .iter()
                    .enumerate()
                    .map(|(row, tried)| (tried.spend, self.gain_of(row).units()))
                    .collect();
                rising_pools(&tried).into_iter().map(|(from, rows)| Pool { from, rows }).collect()
            }
        }
    }

    /// The pool that a spend replays; none if nothing was tried with so little.
    fn pool(&self, spend: f64) -> Option<&Pool> {
        let reached = self.pools.partition_point(|pool| pool.from * JUMP_TOLERANCE <= spend);
        reached.checked_sub(1).map(|last| &self.pools[last])
    }

    /// The row that a round replays; none if nothing was tried with so little. `uniform` draws it
    /// unless rows come in their order.
    #[must_use]
    pub fn row(&self, spend: f64, round: u64, order: Order, uniform: f64) -> Option<usize> {
        let rows = &self.pool(spend)?.rows;
        let place = match order {
            Order::Recorded => (round.wrapping_sub(1) % rows.len() as u64) as usize,
            Order::Shuffled => ((uniform * rows.len() as f64) as usize).min(rows.len() - 1),
        };
        Some(rows[place])
    }

    /// What a row comes to when it is replayed with a spend.
    #[must_use]
    pub fn outcome(&self, row: usize, spend: f64) -> Outcome {
        let is_done = match &self.rows {
            TaskRows::Thresholds(rows) => rows[row].threshold * JUMP_TOLERANCE <= spend,
            TaskRows::Outcomes(rows) => rows[row].success,
        };
        match self.rewards[row] {
            Some(reward) if is_done => Outcome::Done(reward),
            Some(reward) => Outcome::Forgone(reward),
            None => Outcome::Failed,
        }
    }

    /// Whether a spend lies outside those that were tried, so that what it would bring is not
    /// known.
    #[must_use]
    pub fn is_outside(&self, spend: f64) -> bool {
        spend > 0.0 && (self.pool(spend).is_none() || spend * JUMP_TOLERANCE > self.known_to)
    }

    /// Mean gain per round as a share of the largest reward, by spend; in recorded order over so
    /// many rounds.
    #[must_use]
    pub fn gains(&self, order: Order, rounds: u64) -> Staircase {
        match &self.rows {
            TaskRows::Thresholds(rows) => {
                let plays = plays(rows.len(), order, rounds);
                let weighed = rows.iter().zip(&plays).enumerate();
                let gains = weighed.map(|(row, (needed, plays))| {
                    (needed.threshold, self.gain_of(row).units() as f64 * plays)
                });
                Staircase::adding_up(
                    gains.collect(),
                    plays.iter().sum::<f64>() * Reward::UNITS as f64,
                )
            }
            TaskRows::Outcomes(_) => {
                let level = |pool: &Pool| {
                    let plays = plays(pool.rows.len(), order, rounds);
                    let gains = pool
                        .rows
                        .iter()
                        .zip(&plays)
                        .map(|(&row, plays)| self.gain_of(row).units() as f64 * plays);
                    (
                        pool.from,
                        gains.sum::<f64>() / plays.iter().sum::<f64>() / Reward::UNITS as f64,
                    )
                };
                Staircase::new(self.pools.iter().map(level))
            }
        }
    }

    /// The share of rows that succeed, by spend: of outcome rows the nondecreasing one that fits
    /// best.
    #[must_use]
    pub fn successes(&self) -> Staircase {
        match &self.rows {
            TaskRows::Thresholds(rows) => Staircase::adding_up(
                rows.iter().map(|row| (row.threshold, 1.0)).collect(),
                rows.len() as f64,
            ),
            TaskRows::Outcomes(rows) => {
                let tried: Vec<(f64, u64)> =
                    rows.iter().map(|row| (row.spend, u64::from(row.success))).collect();
                let share = |pool: &[usize]| {
                    pool.iter().filter(|row| rows[**row].success).count() as f64 / pool.len() as f64
                };
                Staircase::new(
                    rising_pools(&tried).into_iter().map(|(from, pool)| (from, share(&pool))),
                )
            }
        }
    }
}

/// How often each of `count` rows is played in so many rounds: drawn rows equally often, rows in
/// their order as it comes out.
fn plays(count: usize, order: Order, rounds: u64) -> Vec<f64> {
    let all = count as u64;
    match order {
        Order::Shuffled => vec![1.0; count],
        Order::Recorded => {
            (0..all).map(|row| (rounds / all + u64::from(row < rounds % all)) as f64).collect()
        }
    }
}
