//! Recorded rows of each task, and the row that a round replays.
//!
//! There are two kinds of rows. A *threshold* row has the spend that success needs. It can be
//! replayed at any spend and succeeds if the spend reaches it. An *outcome* row has only the
//! outcome at the spend that was tried, so a round with spend x replays a row with the nearest
//! spend below x: a success there is a success with more spend, and a failure is assumed to fail
//! again. Gains are therefore never overstated.

use super::Order;
use super::step_function::{StepFunction, isotonic_pools};
use crate::feedback::{Outcome, Reward};
use crate::problem::{Problem, max_total};
use crate::text::one_line;

/// The spend that success needs, and its reward.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThresholdRow {
    /// The smallest spend that succeeds.
    pub threshold: f64,
    /// The reward of the success.
    pub reward: f64,
}

/// The outcome at one spend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OutcomeRow {
    /// The spend.
    pub spend: f64,
    /// Whether the task succeeded.
    pub success: bool,
    /// The reward of the success. For a failure it is the reward that a success would have had, if
    /// known.
    pub reward: Option<f64>,
}

/// The rows of one task, in recorded order.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskRows {
    /// Rows with thresholds.
    Thresholds(Vec<ThresholdRow>),
    /// Rows with outcomes at the spends that were tried.
    Outcomes(Vec<OutcomeRow>),
}

/// An error of a record.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The record and the problem have different numbers of tasks.
    #[error("a record of {got} tasks for a problem of {expected}")]
    TaskCount {
        /// The number of tasks of the problem.
        expected: usize,
        /// The number of tasks of the record.
        got: usize,
    },
    /// A task has no rows.
    #[error("task {task}: has no rows")]
    NoRows {
        /// The name of the task.
        task: String,
    },
    /// A threshold or spend is invalid.
    #[error("task {task}: row {row}: must be finite and not negative, not {amount}")]
    Amount {
        /// The name of the task.
        task: String,
        /// The row, counted from 1.
        row: usize,
        /// The threshold or spend.
        amount: f64,
    },
    /// A reward is invalid.
    #[error(
        "task {task}: row {row}: reward must be between 0 and reward_max = {reward_max}, \
         not {reward}"
    )]
    Reward {
        /// The name of the task.
        task: String,
        /// The row, counted from 1.
        row: usize,
        /// The reward.
        reward: f64,
        /// The largest reward of the problem.
        reward_max: f64,
    },
    /// A success has no reward.
    #[error("task {task}: row {row}: a success without a reward")]
    MissingReward {
        /// The name of the task.
        task: String,
        /// The row, counted from 1.
        row: usize,
    },
    /// A learner with full feedback needs the rewards of failures, and some rows have none.
    #[error(
        "learner {learner} needs the rewards that failures would have had, which some rows do \
         not have: add them, or leave out the learner"
    )]
    ForgoneRewards {
        /// The learner.
        learner: String,
    },
    /// The rows do not form a curve, which should not happen.
    #[error("the record does not form a curve: {0}")]
    Curve(#[from] crate::curve::CurveError),
}

/// The record of every task of a problem, in the problem's order.
#[derive(Debug, Clone)]
pub struct Record {
    tasks: Vec<TaskRecord>,
}

/// The record of one task.
#[derive(Debug, Clone)]
pub struct TaskRecord {
    rows: TaskRows,
    /// Rewards relative to the largest reward.
    rewards: Vec<Option<Reward>>,
    /// The pools of rows by spend: a row can be replayed from the spend of its pool up to that of
    /// the next. Threshold rows form one pool from 0 on.
    pools: Vec<Pool>,
    /// The largest spend with a known outcome.
    known_to: f64,
    mean_reward: f64,
}

#[derive(Debug, Clone)]
struct Pool {
    /// The smallest spend that replays these rows.
    from: f64,
    /// The rows in recorded order.
    rows: Vec<usize>,
}

impl Record {
    /// Builds the record of a problem's tasks, with one entry per task.
    ///
    /// # Errors
    /// If a task has no rows, an amount is negative or not finite, or a reward is missing or above
    /// the problem's largest.
    pub fn new(problem: &Problem, tasks: Vec<TaskRows>) -> Result<Self, RecordError> {
        if tasks.len() != problem.tasks().len() {
            let (expected, got) = (problem.tasks().len(), tasks.len());
            return Err(RecordError::TaskCount { expected, got });
        }
        let named = problem.tasks().iter().zip(tasks);
        let tasks = named
            .map(|(task, rows)| TaskRecord::new(one_line(task.name()), rows, problem.reward_max()));
        Ok(Self { tasks: tasks.collect::<Result<_, _>>()? })
    }

    /// One record per task.
    #[must_use]
    pub fn tasks(&self) -> &[TaskRecord] {
        &self.tasks
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tasks.iter().map(TaskRecord::len).sum()
    }

    /// Whether there is nothing to replay.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The smallest number of rows of a task. That many rounds use no row twice.
    #[must_use]
    pub fn shortest(&self) -> usize {
        self.tasks.iter().map(TaskRecord::len).min().unwrap_or(0)
    }

    /// Whether every row has a reward, as full feedback requires.
    #[must_use]
    pub fn knows_forgone(&self) -> bool {
        self.tasks.iter().all(|task| task.rewards.iter().all(Option::is_some))
    }
}

impl TaskRecord {
    fn new(task: String, rows: TaskRows, reward_max: f64) -> Result<Self, RecordError> {
        let given: Vec<(f64, Option<f64>)> = match &rows {
            TaskRows::Thresholds(rows) => {
                rows.iter().map(|row| (row.threshold, Some(row.reward))).collect()
            }
            TaskRows::Outcomes(rows) => rows.iter().map(|row| (row.spend, row.reward)).collect(),
        };
        if given.is_empty() {
            return Err(RecordError::NoRows { task });
        }
        for (position, &(spend, reward)) in given.iter().enumerate() {
            let row = position + 1;
            if !(spend >= 0.0 && spend.is_finite()) {
                return Err(RecordError::Amount { task, row, amount: spend });
            }
            if let Some(reward) = reward.filter(|reward| !(0.0..=reward_max).contains(reward)) {
                return Err(RecordError::Reward { task, row, reward, reward_max });
            }
        }
        if let TaskRows::Outcomes(rows) = &rows
            && let Some(row) = rows.iter().position(|row| row.success && row.reward.is_none())
        {
            return Err(RecordError::MissingReward { task, row: row + 1 });
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

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rewards.len()
    }

    /// Always false, because a task without rows is an error.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rewards.is_empty()
    }

    /// The rows as given.
    #[must_use]
    pub fn rows(&self) -> &TaskRows {
        &self.rows
    }

    /// The mean reward relative to the largest: over all threshold rows, or over the successful
    /// outcome rows.
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

    /// The gain of an outcome row at the spend that was tried.
    fn gain_of(&self, row: usize) -> Reward {
        match &self.rows {
            TaskRows::Outcomes(rows) if !rows[row].success => Reward::ZERO,
            _ => self.rewards[row].unwrap_or(Reward::ZERO),
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
                isotonic_pools(&tried).into_iter().map(|(from, rows)| Pool { from, rows }).collect()
            }
        }
    }

    /// The pool that a spend replays; `None` below the smallest spend tried.
    fn pool(&self, spend: f64) -> Option<&Pool> {
        let reached = self.pools.partition_point(|pool| pool.from <= spend);
        reached.checked_sub(1).map(|last| &self.pools[last])
    }

    /// The row that a round replays; `None` below the smallest spend tried. `uniform` draws it
    /// unless rows are replayed in recorded order.
    #[must_use]
    pub fn row(&self, spend: f64, round: u64, order: Order, uniform: f64) -> Option<usize> {
        let rows = &self.pool(spend)?.rows;
        let place = match order {
            Order::Recorded => (round.wrapping_sub(1) % rows.len() as u64) as usize,
            Order::Shuffled => ((uniform * rows.len() as f64) as usize).min(rows.len() - 1),
        };
        Some(rows[place])
    }

    /// The outcome of a row replayed at a spend.
    #[must_use]
    pub fn outcome(&self, row: usize, spend: f64) -> Outcome {
        let is_done = match &self.rows {
            TaskRows::Thresholds(rows) => rows[row].threshold <= spend,
            TaskRows::Outcomes(rows) => rows[row].success,
        };
        match self.rewards[row] {
            Some(reward) if is_done => Outcome::Done(reward),
            Some(reward) => Outcome::Forgone(reward),
            None => Outcome::Failed,
        }
    }

    /// Whether a spend lies outside those that were tried, so that its outcome is unknown.
    #[must_use]
    pub fn is_outside(&self, spend: f64) -> bool {
        spend > 0.0 && (self.pool(spend).is_none() || spend > max_total(self.known_to))
    }

    /// The mean gain per round relative to the largest reward, as a function of the spend; in
    /// recorded order over `rounds` rounds.
    #[must_use]
    pub fn gains(&self, order: Order, rounds: u64) -> StepFunction {
        match &self.rows {
            TaskRows::Thresholds(rows) => {
                let plays = plays(rows.len(), order, rounds);
                let weighed = rows.iter().zip(&plays).enumerate();
                let gains = weighed.map(|(row, (needed, plays))| {
                    (needed.threshold, self.gain_of(row).units() as f64 * plays)
                });
                StepFunction::adding_up(
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
                StepFunction::new(self.pools.iter().map(level))
            }
        }
    }

    /// The share of rows that succeed, as a function of the spend; for outcome rows, the isotonic
    /// regression.
    #[must_use]
    pub fn successes(&self) -> StepFunction {
        match &self.rows {
            TaskRows::Thresholds(rows) => StepFunction::adding_up(
                rows.iter().map(|row| (row.threshold, 1.0)).collect(),
                rows.len() as f64,
            ),
            TaskRows::Outcomes(rows) => {
                let tried: Vec<(f64, u64)> =
                    rows.iter().map(|row| (row.spend, u64::from(row.success))).collect();
                let share = |pool: &[usize]| {
                    pool.iter().filter(|row| rows[**row].success).count() as f64 / pool.len() as f64
                };
                StepFunction::new(
                    isotonic_pools(&tried).into_iter().map(|(from, pool)| (from, share(&pool))),
                )
            }
        }
    }
}

/// The weight of each of `count` rows over `rounds` rounds: equal for drawn rows, the number of
/// replays for rows in recorded order.
fn plays(count: usize, order: Order, rounds: u64) -> Vec<f64> {
    let all = count as u64;
    match order {
        Order::Shuffled => vec![1.0; count],
        Order::Recorded => {
            (0..all).map(|row| (rounds / all + u64::from(row < rounds % all)) as f64).collect()
        }
    }
}
