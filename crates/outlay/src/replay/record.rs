//! Recorded rows of each task, and the row that a round replays.
//!
//! A *threshold* row has the spend that success needs. It can be replayed at any spend and succeeds
//! if the spend reaches it. A *censored* row has only a spend at which the task was stopped without
//! success; it fails at every spend. An *outcome* row has only the outcome at the spend that was
//! tried, and a *count* row the number of completions. For these, a round with spend x replays a row
//! with the nearest spend below x: a success there is a success with more spend, and a failure is
//! assumed to fail again. Gains are therefore never overstated.

use super::Order;
use super::rows::{CountRow, RecordError, TaskRows};
use super::step_function::{StepFunction, isotonic_pools};
use crate::feedback::{Completions, Outcome, Reward};
use crate::problem::{Problem, max_total};
use crate::text::one_line;

/// The record of every task of a problem, in the problem's order.
#[derive(Debug, Clone)]
pub struct Record {
    tasks: Vec<TaskRecord>,
    clipped: u64,
}

/// The record of one task.
#[derive(Debug, Clone)]
pub struct TaskRecord {
    rows: TaskRows,
    /// Rewards relative to the largest reward; none for counts.
    rewards: Vec<Option<Reward>>,
    /// The completions of count rows.
    completions: Vec<Completions>,
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
    /// the problem's largest. If the problem clips rewards, larger ones are clipped.
    pub fn new(problem: &Problem, mut tasks: Vec<TaskRows>) -> Result<Self, RecordError> {
        if tasks.len() != problem.tasks().len() {
            let (expected, got) = (problem.tasks().len(), tasks.len());
            return Err(RecordError::TaskCount { expected, got });
        }
        for (task, rows) in problem.tasks().iter().zip(&tasks) {
            let has_counts = matches!(rows, TaskRows::Counts(_));
            let is_count = if has_counts { problem.has_counts() } else { task.volume() != 1.0 };
            if has_counts != is_count {
                return Err(RecordError::Counts { task: one_line(task.name()), has_counts });
            }
        }
        let clipped = tasks.iter_mut().map(|rows| rows.clip(problem)).sum();
        let named = problem.tasks().iter().zip(tasks);
        let tasks = named
            .map(|(task, rows)| TaskRecord::new(one_line(task.name()), rows, problem.reward_max()));
        Ok(Self { tasks: tasks.collect::<Result<_, _>>()?, clipped })
    }

    /// One record per task.
    #[must_use]
    pub fn tasks(&self) -> &[TaskRecord] {
        &self.tasks
    }

    /// The number of rows whose reward was above the largest one and was clipped.
    #[must_use]
    pub fn clipped(&self) -> u64 {
        self.clipped
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
        let given = rows.amounts();
        if given.is_empty() {
            return Err(RecordError::NoRows { task });
        }
        for (position, &(spend, reward)) in given.iter().enumerate() {
            let row = position + 1;
            if !(spend >= 0.0 && spend.is_finite()) {
                return Err(RecordError::Amount { task, row, amount: spend });
            }
            let most = rows.most_rewards(position);
            let reward_max = most * reward_max;
            if let Some(reward) = reward.filter(|reward| !(0.0..=reward_max).contains(reward)) {
                let completions = most as u64;
                return Err(RecordError::Reward { task, row, reward, reward_max, completions });
            }
            if rows.lacks_reward(position) {
                return Err(RecordError::MissingReward { task, row });
            }
        }
        let share = |reward: f64| reward / reward_max;
        let (rewards, completions) = match &rows {
            TaskRows::Counts(rows) => {
                let counted = |row: &CountRow| {
                    Completions::from_share(row.completions, share(row.reward))
                        .unwrap_or(Completions::NONE)
                };
                (vec![None; rows.len()], rows.iter().map(counted).collect())
            }
            _ => {
                let rewards =
                    given.iter().map(|(_, reward)| Some(Reward::from_share(share((*reward)?))));
                (rewards.collect(), Vec::new())
            }
        };
        let mut record = Self {
            rows,
            rewards,
            completions,
            pools: Vec::new(),
            known_to: f64::INFINITY,
            mean_reward: 0.0,
        };
        record.pools = record.pooled();
        if !matches!(record.rows, TaskRows::Thresholds(_)) {
            record.known_to = given.iter().map(|(spend, _)| *spend).fold(0.0, f64::max);
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

    /// The rows, with clipped rewards.
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
            TaskRows::Outcomes(rows) => rows[*row].success,
            _ => true,
        };
        let single = (0..self.len()).filter(counts).filter_map(|row| self.rewards[row]);
        let single = single.map(|reward| (1, reward.units()));
        let counted = self.completions.iter().map(|these| (these.count(), these.reward_sum()));
        let (count, total) =
            single.chain(counted).fold((0_u128, 0_u128), |(count, total), (more, reward)| {
                (count + u128::from(more), total + u128::from(reward))
            });
        if count == 0 { 0.0 } else { total as f64 / count as f64 / Reward::UNITS as f64 }
    }

    /// The gain of a row where it succeeds, in billionths of the largest reward.
    fn gain_of(&self, row: usize) -> u64 {
        match &self.rows {
            TaskRows::Outcomes(rows) if !rows[row].success => 0,
            TaskRows::Censored(rows) if rows[row].is_censored => 0,
            TaskRows::Counts(_) => self.completions[row].reward_sum(),
            _ => self.rewards[row].unwrap_or(Reward::ZERO).units(),
        }
    }

    fn pooled(&self) -> Vec<Pool> {
        if !self.rows.are_trials() {
            return vec![Pool { from: 0.0, rows: (0..self.len()).collect() }];
        }
        let spends = self.rows.amounts().into_iter().enumerate();
        let tried: Vec<(f64, u64)> =
            spends.map(|(row, (spend, _))| (spend, self.gain_of(row))).collect();
        isotonic_pools(&tried).into_iter().map(|(from, rows)| Pool { from, rows }).collect()
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
            TaskRows::Censored(rows) => !rows[row].is_censored && rows[row].threshold <= spend,
            TaskRows::Counts(_) => return Outcome::of(self.completions[row]),
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

    /// Whether a row was stopped below a spend, so that its outcome there is unknown.
    #[must_use]
    pub fn is_censored_below(&self, row: usize, spend: f64) -> bool {
        match &self.rows {
            TaskRows::Censored(rows) => rows[row].is_censored && rows[row].threshold < spend,
            _ => false,
        }
    }

    /// The mean gain per round relative to the largest reward, as a function of the spend; in
    /// recorded order over `rounds` rounds.
    #[must_use]
    pub fn gains(&self, order: Order, rounds: u64) -> StepFunction {
        if self.rows.are_trials() {
            let level = |pool: &Pool| {
                let plays = plays(pool.rows.len(), order, rounds);
                let gains = pool
                    .rows
                    .iter()
                    .zip(&plays)
                    .map(|(&row, plays)| self.gain_of(row) as f64 * plays);
                (pool.from, gains.sum::<f64>() / plays.iter().sum::<f64>() / Reward::UNITS as f64)
            };
            return StepFunction::new(self.pools.iter().map(level));
        }
        let plays = plays(self.len(), order, rounds);
        let weighed = self.rows.amounts().into_iter().zip(&plays).enumerate();
        let gains = weighed
            .map(|(row, ((threshold, _), plays))| (threshold, self.gain_of(row) as f64 * plays));
        StepFunction::adding_up(gains.collect(), plays.iter().sum::<f64>() * Reward::UNITS as f64)
    }

    /// The share of rows that succeed, as a function of the spend; for counts, the mean number of
    /// completions. For rows with the outcome at one spend it is the isotonic regression.
    #[must_use]
    pub fn successes(&self) -> StepFunction {
        let thresholds = |exact: Vec<(f64, f64)>| StepFunction::adding_up(exact, self.len() as f64);
        let tried: Vec<(f64, u64)> = match &self.rows {
            TaskRows::Thresholds(rows) => {
                return thresholds(rows.iter().map(|row| (row.threshold, 1.0)).collect());
            }
            TaskRows::Censored(rows) => {
                let exact = rows.iter().filter(|row| !row.is_censored);
                return thresholds(exact.map(|row| (row.threshold, 1.0)).collect());
            }
            TaskRows::Outcomes(rows) => {
                rows.iter().map(|row| (row.spend, u64::from(row.success))).collect()
            }
            TaskRows::Counts(rows) => rows.iter().map(|row| (row.spend, row.completions)).collect(),
        };
        let mean = |pool: &[usize]| {
            pool.iter().map(|&row| tried[row].1 as f64).sum::<f64>() / pool.len() as f64
        };
        let pools = isotonic_pools(&tried).into_iter();
        StepFunction::new(pools.map(|(from, pool)| (from, mean(&pool))))
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
