//! The rows of a record.

use crate::problem::{Problem, RoundCurvesError};

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

/// The spend that success needs, or the spend at which the task was stopped without success.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CensoredRow {
    /// The smallest spend that succeeds; if the row is censored, a spend that did not succeed.
    pub threshold: f64,
    /// Whether success needs more than `threshold`.
    pub is_censored: bool,
    /// The reward of the success. For a censored row it is the reward that a success would have
    /// had, if known.
    pub reward: Option<f64>,
}

/// The completions at one spend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CountRow {
    /// The spend.
    pub spend: f64,
    /// The number of completions.
    pub completions: u64,
    /// The sum of their rewards.
    pub reward: f64,
}

/// The rows of one task, in recorded order.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum TaskRows {
    /// Rows with thresholds.
    Thresholds(Vec<ThresholdRow>),
    /// Rows with outcomes at the spends that were tried.
    Outcomes(Vec<OutcomeRow>),
    /// Rows with thresholds, some of which are only known to be larger than an amount.
    Censored(Vec<CensoredRow>),
    /// Rows with the number of completions at the spends that were tried.
    Counts(Vec<CountRow>),
}

impl TaskRows {
    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Thresholds(rows) => rows.len(),
            Self::Outcomes(rows) => rows.len(),
            Self::Censored(rows) => rows.len(),
            Self::Counts(rows) => rows.len(),
        }
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether each row has the outcome at one spend only.
    #[must_use]
    pub fn are_trials(&self) -> bool {
        matches!(self, Self::Outcomes(_) | Self::Counts(_))
    }

    /// The rows in two parts: those that belong to the first, and the others.
    #[must_use]
    pub fn partition(self, mut is_first: impl FnMut(usize) -> bool) -> (Self, Self) {
        fn parts<R>(rows: Vec<R>, is_first: &mut dyn FnMut(usize) -> bool) -> (Vec<R>, Vec<R>) {
            let (mut first, mut second) = (Vec::new(), Vec::new());
            for (position, row) in rows.into_iter().enumerate() {
                if is_first(position) { first.push(row) } else { second.push(row) }
            }
            (first, second)
        }
        macro_rules! both {
            ($kind:ident, $rows:expr) => {{
                let (first, second) = parts($rows, &mut is_first);
                (Self::$kind(first), Self::$kind(second))
            }};
        }
        match self {
            Self::Thresholds(rows) => both!(Thresholds, rows),
            Self::Outcomes(rows) => both!(Outcomes, rows),
            Self::Censored(rows) => both!(Censored, rows),
            Self::Counts(rows) => both!(Counts, rows),
        }
    }

    /// Every row's threshold or spend and, if known, its reward: the sum for counts.
    pub(super) fn amounts(&self) -> Vec<(f64, Option<f64>)> {
        match self {
            Self::Thresholds(rows) => {
                rows.iter().map(|row| (row.threshold, Some(row.reward))).collect()
            }
            Self::Outcomes(rows) => rows.iter().map(|row| (row.spend, row.reward)).collect(),
            Self::Censored(rows) => rows.iter().map(|row| (row.threshold, row.reward)).collect(),
            Self::Counts(rows) => rows.iter().map(|row| (row.spend, Some(row.reward))).collect(),
        }
    }

    /// Replaces rewards above the largest one by it, if the problem clips them, and returns their
    /// number. Infinite rewards stay and are errors of the record.
    pub fn clip(&mut self, problem: &Problem) -> u64 {
        if !problem.reward_over_max().clips() {
            return 0;
        }
        let mut clipped = 0;
        let mut clip = |completions: u64, reward: &mut f64| {
            if problem.clips_reward(completions, *reward) {
                *reward = problem.clipped_reward(completions, *reward);
                clipped += 1;
            }
        };
        match self {
            Self::Thresholds(rows) => rows.iter_mut().for_each(|row| clip(1, &mut row.reward)),
            Self::Outcomes(rows) => {
                rows.iter_mut().filter_map(|row| row.reward.as_mut()).for_each(|one| clip(1, one));
            }
            Self::Censored(rows) => {
                rows.iter_mut().filter_map(|row| row.reward.as_mut()).for_each(|one| clip(1, one));
            }
            Self::Counts(rows) => {
                // Without completions there is no reward to clip.
                let counted = rows.iter_mut().filter(|row| row.completions > 0);
                counted.for_each(|row| clip(row.completions, &mut row.reward));
            }
        }
        clipped
    }

    /// Divides every threshold or spend by the scale of its row.
    pub(super) fn at_usual_scale(&mut self, scale: &[f64]) {
        let divide = |(amount, scale): (&mut f64, &f64)| *amount /= scale;
        match self {
            Self::Thresholds(rows) => {
                rows.iter_mut().map(|row| &mut row.threshold).zip(scale).for_each(divide);
            }
            Self::Outcomes(rows) => {
                rows.iter_mut().map(|row| &mut row.spend).zip(scale).for_each(divide);
            }
            Self::Censored(rows) => {
                rows.iter_mut().map(|row| &mut row.threshold).zip(scale).for_each(divide);
            }
            Self::Counts(rows) => {
                rows.iter_mut().map(|row| &mut row.spend).zip(scale).for_each(divide);
            }
        }
    }

    /// The largest reward that a row may have, in multiples of the largest reward of a completion.
    pub(super) fn most_rewards(&self, row: usize) -> f64 {
        match self {
            Self::Counts(rows) => rows[row].completions as f64,
            _ => 1.0,
        }
    }

    /// Whether a row succeeded but has no reward.
    pub(super) fn lacks_reward(&self, row: usize) -> bool {
        match self {
            Self::Outcomes(rows) => rows[row].success && rows[row].reward.is_none(),
            Self::Censored(rows) => !rows[row].is_censored && rows[row].reward.is_none(),
            Self::Thresholds(_) | Self::Counts(_) => false,
        }
    }
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
        "task {task}: row {row}: reward must be between 0 and {} = {reward_max}, not {reward}",
        limit_name(*.completions)
    )]
    Reward {
        /// The name of the task.
        task: String,
        /// The row, counted from 1.
        row: usize,
        /// The reward.
        reward: f64,
        /// The largest possible reward of the row.
        reward_max: f64,
        /// The number of completions of the row.
        completions: u64,
    },
    /// The rows have counts but the problem does not, or the other way round.
    #[error(
        "task {task}: {}",
        if *.has_counts {
            "its rows have counts, but the problem has no volumes: fit it with --count, or set volume"
        } else {
            "it may complete more than once in a round, but its rows have single outcomes"
        }
    )]
    Counts {
        /// The name of the task.
        task: String,
        /// Whether the rows have counts.
        has_counts: bool,
    },
    /// A task does not have one scale or volume per row.
    #[error("task {task}: {got} entries of {what} for {expected} rows")]
    ConditionCount {
        /// The name of the task.
        task: String,
        /// `scale` or `volume`.
        what: &'static str,
        /// The number of rows.
        expected: usize,
        /// The number of entries.
        got: usize,
    },
    /// A scale or volume that a round cannot have.
    #[error("task {task}: row {row}: {error}")]
    Condition {
        /// The name of the task.
        task: String,
        /// The row, counted from 1.
        row: usize,
        /// The reason.
        error: Box<RoundCurvesError>,
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

/// The name of the limit of a row's reward.
fn limit_name(completions: u64) -> String {
    match completions {
        1 => "reward_max".to_owned(),
        count => format!("{count} · reward_max"),
    }
}
