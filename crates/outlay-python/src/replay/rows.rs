//! Recorded rows from the columns of a data frame.

use outlay::replay::{CensoredRow, CountRow, OutcomeRow, RowConditions, TaskRows, ThresholdRow};
use pyo3::prelude::*;

use crate::arrays::{flags, numbers};
use crate::errors::SimulationError;

/// The columns of recorded rows.
#[derive(FromPyObject)]
pub(crate) struct Columns<'py> {
    /// The number of each row in the data, for messages.
    row: Vec<usize>,
    /// The task of each row, counted from 0.
    task: Vec<usize>,
    /// The required spend, or the spend that was tried.
    amount: Bound<'py, PyAny>,
    /// Whether `amount` is the required spend.
    is_threshold: bool,
    /// Whether the spend succeeded; absent if every row has its required spend, and for counts.
    success: Option<Bound<'py, PyAny>>,
    /// The number of completions.
    count: Option<Bound<'py, PyAny>>,
    /// The reward, or the sum of the rewards of the completions; NaN if unknown.
    reward: Bound<'py, PyAny>,
    /// The scale and the volume of the round of each row, if they are given.
    scale: Option<Bound<'py, PyAny>>,
    volume: Option<Bound<'py, PyAny>>,
    /// Whether a row belongs to the first part, if the rows are divided.
    pub(super) first: Option<Vec<bool>>,
    /// The name of the rows in the report.
    pub(super) name: String,
}

/// Largest number of completions of a row, as in CSV files: larger floats skip whole numbers.
const MAX_WHOLE: f64 = 9_007_199_254_740_992.0;

/// The rows of each task and, for each of them, whether it belongs to the first part.
pub(super) struct Rows {
    pub(super) tasks: Vec<TaskRows>,
    pub(super) first: Option<Vec<Vec<bool>>>,
    pub(super) conditions: Option<Vec<RowConditions>>,
}

pub(super) fn task_rows(problem: &outlay::Problem, columns: &Columns<'_>) -> PyResult<Rows> {
    let refuse = SimulationError::new_err::<String>;
    let amounts = numbers(&columns.amount, "spend", refuse)?;
    let rewards = numbers(&columns.reward, "reward", refuse)?;
    let success = columns.success.as_ref().map(|given| flags(given, "success", refuse));
    let success = success.transpose()?;
    let counts = columns.count.as_ref().map(|given| numbers(given, "count", refuse)).transpose()?;
    let scale = columns.scale.as_ref().map(|given| numbers(given, "scale", refuse)).transpose()?;
    let volume =
        columns.volume.as_ref().map(|given| numbers(given, "volume", refuse)).transpose()?;
    let scale = scale.as_ref().map(|scale| scale.as_slice());
    let volume = volume.as_ref().map(|volume| volume.as_slice());
    let success = success.as_ref().map(|success| success.as_slice());
    let counts = counts.as_ref().map(|counts| counts.as_slice());
    let (amounts, rewards) = (amounts.as_slice(), rewards.as_slice());
    let lengths = [
        Some(columns.row.len()),
        Some(amounts.len()),
        Some(rewards.len()),
        success.map(<[bool]>::len),
        counts.map(<[f64]>::len),
        scale.map(<[f64]>::len),
        volume.map(<[f64]>::len),
        columns.first.as_ref().map(Vec::len),
    ];
    if lengths.into_iter().flatten().any(|length| length != columns.task.len()) {
        return Err(refuse("data: the columns have different lengths".to_owned()));
    }
    let no_rows = || match (columns.is_threshold, success, counts) {
        (_, _, Some(_)) => TaskRows::Counts(Vec::new()),
        (true, None, None) => TaskRows::Thresholds(Vec::new()),
        (true, Some(_), None) => TaskRows::Censored(Vec::new()),
        (false, _, None) => TaskRows::Outcomes(Vec::new()),
    };
    let mut tasks: Vec<TaskRows> = problem.tasks().iter().map(|_| no_rows()).collect();
    let has_conditions = scale.is_some() || volume.is_some();
    let mut conditions = has_conditions.then(|| vec![RowConditions::default(); tasks.len()]);
    let mut first = columns.first.as_ref().map(|_| vec![Vec::new(); tasks.len()]);
    for (place, &task) in columns.task.iter().enumerate() {
        let cells = Cells {
            amount: amounts[place],
            success: success.is_none_or(|success| success[place]),
            count: counts.map_or(1.0, |counts| counts[place]),
            reward: rewards[place],
            reward_max: problem.reward_max(),
            clips: problem.reward_over_max().clips(),
        };
        let row = |message: String| refuse(format!("row {}: {message}", columns.row[place]));
        let rows = tasks.get_mut(task).ok_or_else(|| row("task: is unknown".to_owned()))?;
        cells.add_to(rows).map_err(row)?;
        if let Some(conditions) = &mut conditions {
            let (scale, volume) = (scale.map(|all| all[place]), volume.map(|all| all[place]));
            let checked = problem.check_task_in_round(task, scale, volume);
            checked.map_err(|error| row(error.to_string()))?;
            conditions[task].scale.extend(scale);
            conditions[task].volume.extend(volume);
        }
        if let (Some(first), Some(given)) = (&mut first, &columns.first) {
            first[task].push(given[place]);
        }
    }
    Ok(Rows { tasks, first, conditions })
}

/// The cells of a row.
struct Cells {
    amount: f64,
    success: bool,
    count: f64,
    reward: f64,
    reward_max: f64,
    /// Whether larger rewards are clipped when the rows are replayed.
    clips: bool,
}

impl Cells {
    fn add_to(&self, rows: &mut TaskRows) -> Result<(), String> {
        let (amount, success) = (self.amount, self.success);
        match rows {
            TaskRows::Thresholds(rows) => {
                rows.push(ThresholdRow { threshold: amount, reward: self.reward()? });
            }
            TaskRows::Outcomes(rows) => {
                rows.push(OutcomeRow { spend: amount, success, reward: self.known_reward()? });
            }
            TaskRows::Censored(rows) => {
                let reward = self.known_reward()?;
                rows.push(CensoredRow { threshold: amount, is_censored: !success, reward });
            }
            TaskRows::Counts(rows) => {
                let (completions, reward) = self.counted()?;
                rows.push(CountRow { spend: amount, completions, reward });
            }
            _ => {}
        }
        Ok(())
    }

    fn reward(&self) -> Result<f64, String> {
        let Self { reward, reward_max, clips, .. } = self;
        if reward > reward_max && !clips {
            return Err(format!(
                "reward: {reward} is above reward_max {reward_max} of the problem; increase \
                 reward_max, or set reward_over_max to clip"
            ));
        }
        Ok(*reward)
    }

    /// The reward, which may be unknown for a failure.
    fn known_reward(&self) -> Result<Option<f64>, String> {
        let is_unknown = !self.success && self.reward.is_nan();
        if is_unknown { Ok(None) } else { self.reward().map(Some) }
    }

    /// The number of completions and the sum of their rewards, which may be unknown if there are
    /// none.
    fn counted(&self) -> Result<(u64, f64), String> {
        let Self { count, reward: revenue, reward_max, clips, .. } = self;
        if count.fract() != 0.0 || !(0.0..=MAX_WHOLE).contains(count) {
            return Err(format!("count: must be a whole number of at least 0, not {count}"));
        }
        if *count == 0.0 && revenue.is_nan() {
            return Ok((0, 0.0));
        }
        if *count == 0.0 && *revenue > 0.0 {
            return Err(format!(
                "revenue: {revenue}, but count is 0; a row without completions has no revenue"
            ));
        }
        if *revenue > count * reward_max && !clips {
            return Err(format!(
                "revenue: {revenue} is above {count} times reward_max = {reward_max} of the \
                 problem; increase reward_max, or set reward_over_max to clip"
            ));
        }
        Ok((*count as u64, *revenue))
    }
}
