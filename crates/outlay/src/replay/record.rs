//! Recorded rows of each task, and the row that a round replays.
//!
//! A *threshold* row has the spend that success needs. It can be replayed at any spend and succeeds
//! if the spend reaches it. A *censored* row has only a spend at which the task was stopped without
//! success; it fails at every spend. An *outcome* row has only the outcome at the spend that was
//! tried, and a *count* row the number of completions. For these, a round with spend x replays a row
//! with the nearest spend below x: a success there is a success with more spend, and a failure is
//! assumed to fail again. Gains are therefore never overstated.

use super::Order;
use super::conditions::{RoundCurves, RowConditions, usual_spend};
use super::rows::{CountRow, RecordError, TaskRows};
use super::step_function::{StepFunction, isotonic_pools};
use crate::feedback::{Completions, Outcome, Reward};
use crate::problem::{Problem, Task, max_total};
use crate::text::one_line;

/// Parts of a completion, for counts at the usual volume.
const COUNT_UNITS: u64 = 1_000_000;

/// The record of every task of a problem, in the problem's order.
///
/// Rows may have been recorded in rounds with other curves ([`Record::with_conditions`]). They are
/// kept at scale 1 and at the usual volume of their task. A replayed round takes its conditions from
/// a position of the record, and learners know them before they decide, unless the problem's
/// environment hides them.
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
    conditions: RowConditions,
    /// The usual volume.
    volume: f64,
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
    pub fn new(problem: &Problem, tasks: Vec<TaskRows>) -> Result<Self, RecordError> {
        let usual = vec![RowConditions::default(); tasks.len()];
        Self::with_conditions(problem, tasks, usual)
    }

    /// As [`Record::new`], with the scales and volumes of the rounds in which the rows were
    /// recorded, one entry per task. Replayed rounds have these conditions: see [`Record`].
    ///
    /// # Errors
    /// As [`Record::new`], or if a scale or volume is invalid.
    pub fn with_conditions(
        problem: &Problem,
        mut tasks: Vec<TaskRows>,
        conditions: Vec<RowConditions>,
    ) -> Result<Self, RecordError> {
        if conditions.len() != problem.tasks().len() {
            let (expected, got) = (problem.tasks().len(), conditions.len());
            return Err(RecordError::TaskCount { expected, got });
        }
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
        for (position, (rows, conditions)) in tasks.iter().zip(&conditions).enumerate() {
            conditions.check(problem, position, rows.len())?;
        }
        let named = problem.tasks().iter().zip(tasks.into_iter().zip(conditions));
        let tasks = named.map(|(task, rows)| TaskRecord::new(task, rows, problem.reward_max()));
        Ok(Self { tasks: tasks.collect::<Result<_, _>>()?, clipped })
    }

    /// One record per task.
    #[must_use]
    pub fn tasks(&self) -> &[TaskRecord] {
        &self.tasks
    }

    /// Whether the rows were recorded in rounds with curves or volumes of their own.
    #[must_use]
    pub fn has_conditions(&self) -> bool {
        self.tasks.iter().any(|task| task.conditions != RowConditions::default())
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
    fn new(
        definition: &Task,
        (mut rows, conditions): (TaskRows, RowConditions),
        reward_max: f64,
    ) -> Result<Self, RecordError> {
        let task = one_line(definition.name());
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
        rows.at_usual_scale(&conditions.scale);
        let spends: Vec<f64> = rows.amounts().into_iter().map(|(spend, _)| spend).collect();
        let mut record = Self {
            rows,
            rewards,
            completions,
            pools: Vec::new(),
            known_to: f64::INFINITY,
            mean_reward: 0.0,
            conditions,
            volume: definition.volume(),
        };
        record.pools = record.pooled();
        if !matches!(record.rows, TaskRows::Thresholds(_)) {
            record.known_to = spends.iter().copied().fold(0.0, f64::max);
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

    /// The rows, with clipped rewards and with thresholds and spends at scale 1. Counts are as
    /// recorded.
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

    /// The scales and volumes of the rounds in which the rows were recorded.
    #[must_use]
    pub fn conditions(&self) -> &RowConditions {
        &self.conditions
    }

    /// The scale of a row.
    #[must_use]
    pub fn scale(&self, row: usize) -> f64 {
        self.conditions.scale.get(row).copied().unwrap_or(1.0)
    }

    /// The volume of a row in multiples of the usual one.
    #[must_use]
    pub fn ratio(&self, row: usize) -> f64 {
        self.conditions.volume.get(row).map_or(1.0, |volume| volume / self.volume)
    }

    /// An amount of a row at the usual volume, rounded.
    fn at_usual_volume(&self, row: usize, amount: u64) -> u64 {
        let ratio = self.ratio(row);
        if ratio == 1.0 { amount } else { (amount as f64 / ratio + 0.5) as u64 }
    }

    /// The gain of a row where it succeeds at the usual volume, in billionths of the largest
    /// reward.
    fn gain_of(&self, row: usize) -> u64 {
        self.at_usual_volume(row, self.recorded_gain(row))
    }

    fn recorded_gain(&self, row: usize) -> u64 {
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

    /// The outcome of a task in a round with these conditions, and its gain in billionths of the
    /// largest reward. Counts of another volume are rounded up with the probability that keeps
    /// their mean, by a second uniform number; the gain is not rounded to whole completions.
    pub(super) fn outcome_in(
        &self,
        task: usize,
        spend: f64,
        (round, order): (u64, Order),
        (uniform, fraction): (f64, f64),
        curves: Option<&RoundCurves>,
    ) -> (Outcome, u64) {
        let spend = usual_spend(spend, curves.map_or(1.0, |curves| curves.scale(task)));
        let Some(row) = self.row(spend, round, order, uniform) else {
            return (Outcome::Failed, 0);
        };
        let outcome = self.outcome(row, spend);
        let recorded = outcome.completions();
        let factor = curves.map_or(1.0, |curves| curves.ratio[task]) / self.ratio(row);
        if factor == 1.0 || !matches!(self.rows, TaskRows::Counts(_)) {
            return (outcome, recorded.reward_sum());
        }
        let (count, sum) = (recorded.count() as f64, recorded.reward_sum() as f64);
        let whole = ((factor * count + fraction) as u64).min(Completions::MAX);
        let reward_sum = if count > 0.0 { (sum / count * whole as f64) as u64 } else { 0 };
        let scaled = Completions::new(whole, reward_sum.min(whole * Reward::UNITS));
        (Outcome::of(scaled.unwrap_or_default()), (factor * sum + 0.5) as u64)
    }

    /// Whether the outcome at a spend is unknown in a round with these conditions.
    pub(super) fn is_unknown_in(
        &self,
        task: usize,
        spend: f64,
        (round, order): (u64, Order),
        uniform: f64,
        curves: Option<&RoundCurves>,
    ) -> bool {
        let spend = usual_spend(spend, curves.map_or(1.0, |curves| curves.scale(task)));
        let row = self.row(spend, round, order, uniform);
        self.is_outside(spend) || row.is_some_and(|row| self.is_censored_below(row, spend))
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
    /// completions at the usual volume. For rows with the outcome at one spend it is the isotonic
    /// regression.
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
            TaskRows::Counts(rows) if self.conditions.volume.is_empty() => {
                rows.iter().map(|row| (row.spend, row.completions)).collect()
            }
            TaskRows::Counts(rows) => {
                let usual = |(row, count): (usize, &CountRow)| {
                    let units = count.completions.saturating_mul(COUNT_UNITS);
                    (count.spend, self.at_usual_volume(row, units))
                };
                rows.iter().enumerate().map(usual).collect()
            }
        };
        let is_counted = matches!(self.rows, TaskRows::Counts(_));
        let has_units = is_counted && !self.conditions.volume.is_empty();
        let unit = if has_units { COUNT_UNITS as f64 } else { 1.0 };
        let mean = |pool: &[usize]| {
            pool.iter().map(|&row| tried[row].1 as f64 / unit).sum::<f64>() / pool.len() as f64
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::Curve;
    use crate::problem::{ProblemSpec, TaskSpec};

    /// A row of 3 completions at volume 10, replayed at volume 5: one or two, 1.5 on average.
    #[test]
    fn counts_of_another_volume_keep_their_mean() {
        let task =
            TaskSpec { volume: Some(10.0), ..TaskSpec::new("a", Curve::exponential(4.0).unwrap()) };
        let problem = ProblemSpec { tasks: vec![task], ..ProblemSpec::default() }.check().unwrap();
        let rows = TaskRows::Counts(vec![CountRow { spend: 2.0, completions: 3, reward: 1.5 }]);
        let usual = RowConditions { scale: vec![2.0], volume: vec![10.0] };
        let record = Record::with_conditions(&problem, vec![rows], vec![usual]).unwrap();
        let curves =
            RoundCurves { scale: Some(vec![4.0]), volume: Some(vec![5.0]), ratio: vec![0.5] };
        let played = |spend: f64, fraction: f64| {
            let of_round = (1, Order::Shuffled);
            record.tasks()[0].outcome_in(0, spend, of_round, (0.5, fraction), Some(&curves))
        };
        // The row was recorded at spend 1 of scale 1, which is 4 in this round.
        assert_eq!(played(3.9, 0.5), (Outcome::Failed, 0));
        for (fraction, count) in [(0.0, 1), (0.49, 1), (0.5, 2), (0.99, 2)] {
            let (outcome, gain) = played(4.0, fraction);
            assert_eq!(outcome.completions().count(), count);
            assert_eq!(outcome.completions().reward_sum(), count * Reward::UNITS / 2);
            assert_eq!(gain, 3 * Reward::UNITS / 4);
        }
    }
}
