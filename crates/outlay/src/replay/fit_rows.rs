//! Curves fitted to recorded rows, so that a plan can be made from one part of a record and judged
//! on the other.

use super::{ReplayError, TaskRows};
use crate::fit::{
    Choice, CountFit, CountLog, FitError, Fitted, Observations, Options, Requirements, Rewards,
    fit, fit_counts, fit_requirements,
};
use crate::problem::{EnvironmentSpec, Problem, ProblemSpec, Seen, Task, TaskSpec};
use crate::text::one_line;

/// A problem with curves and values from recorded rows.
#[derive(Debug, Clone)]
pub struct FittedProblem {
    /// The problem: budget, names and bounds of the one that was given; curves, values, volumes,
    /// `covers`, `seen` and `current` from the rows.
    pub problem: Problem,
    /// The fit of each task.
    pub fits: Vec<Fitted>,
    /// The number of rows whose reward was above the largest one and was clipped.
    pub clipped: u64,
}

/// Fits the curve of each task to its rows, and takes its value from the rewards of the rows.
///
/// # Errors
/// If a task has no rows, no success or rows that cannot be fitted.
pub fn fit_rows(
    problem: &Problem,
    rows: &[TaskRows],
    options: &Options,
) -> Result<FittedProblem, ReplayError> {
    let (mut fits, mut tasks) = (Vec::new(), Vec::new());
    let mut clipped = 0;
    for (task, rows) in problem.tasks().iter().zip(rows) {
        let name = one_line(task.name());
        let mut rows = rows.clone();
        clipped += rows.clip(problem);
        let fitted = fit_task(&rows, options);
        let (fitted, spec) =
            fitted.map_err(|error| ReplayError::Fit { task: name.clone(), error })?;
        if spec.value.is_none() {
            return Err(ReplayError::NoSuccess { task: name });
        }
        tasks.push(TaskSpec { name: task.name().to_owned(), ..bounded(spec, task) });
        fits.push(fitted);
    }
    let counts: Vec<CountFit> = fits.iter().filter_map(|fitted: &Fitted| fitted.counts).collect();
    let completions = (!counts.is_empty()).then(|| CountFit::completion_law(&counts));
    let spec = ProblemSpec {
        budget: problem.budget(),
        horizon: problem.horizon(),
        reward_max: problem.reward_max(),
        reward_over_max: problem.reward_over_max(),
        leftover: problem.leftover(),
        units: problem.units().clone(),
        environment: EnvironmentSpec {
            completions: completions.or(problem.environment().completions),
            ..problem.environment().clone()
        },
        tasks,
    };
    Ok(FittedProblem { problem: spec.check().map_err(ReplayError::Problem)?, fits, clipped })
}

/// The task with the bounds of another one.
fn bounded(spec: TaskSpec, task: &Task) -> TaskSpec {
    let bounds = task.bounds();
    TaskSpec {
        min: Some(bounds.min),
        max: Some(bounds.max).filter(|max| max.is_finite()),
        at_least: Some(bounds.at_least).filter(|least| *least > 0.0),
        ..spec
    }
}

/// The fit of a task's rows, and a task with what they say.
fn fit_task(rows: &TaskRows, options: &Options) -> Result<(Fitted, TaskSpec), FitError> {
    let mut rewards = Rewards::default();
    let mut spends = Spends::default();
    let (fitted, completions) = match rows {
        TaskRows::Thresholds(rows) => {
            rows.iter().for_each(|row| rewards.add(1.0, row.reward));
            let needs = rows.iter().map(|row| (row.threshold, true));
            (fit_requirements(&Requirements::new(needs)?, options)?, rows.len() as u64)
        }
        TaskRows::Censored(rows) => {
            let exact = || rows.iter().filter(|row| !row.is_censored);
            exact().filter_map(|row| row.reward).for_each(|reward| rewards.add(1.0, reward));
            let needs = rows.iter().map(|row| (row.threshold, !row.is_censored));
            (fit_requirements(&Requirements::new(needs)?, options)?, exact().count() as u64)
        }
        TaskRows::Outcomes(rows) => {
            let done = || rows.iter().filter(|row| row.success);
            done().filter_map(|row| row.reward).for_each(|reward| rewards.add(1.0, reward));
            rows.iter().for_each(|row| spends.add(row.spend));
            let tried = rows.iter().map(|row| (row.spend, 1.0, f64::from(u8::from(row.success))));
            let log = Observations::new(tried)?;
            (fit(&log, Choice::Auto, options)?, done().count() as u64)
        }
        TaskRows::Counts(rows) => {
            for row in rows.iter().filter(|row| row.completions > 0) {
                let count = row.completions as f64;
                rewards.add(count, row.reward / count);
            }
            rows.iter().for_each(|row| spends.add(row.spend));
            let log = CountLog::new(rows.iter().map(|row| (row.spend, row.completions as f64)))?;
            let completions = rows.iter().map(|row| row.completions).sum();
            (fit_counts(&log, Choice::Auto, options)?, completions)
        }
    };
    let spec = TaskSpec {
        value: rewards.mean(),
        volume: fitted.counts.map(|counts| counts.volume),
        current: spends.mean(),
        covers: spends.range,
        seen: rewards.mean().map(|_| Seen { completions, reward: rewards.total() }),
        ..TaskSpec::new("", fitted.curve.clone())
    };
    Ok((fitted, spec))
}

/// The spends that were tried.
#[derive(Default)]
struct Spends {
    count: f64,
    total: f64,
    range: Option<[f64; 2]>,
}

impl Spends {
    fn add(&mut self, spend: f64) {
        let [low, high] = self.range.unwrap_or([spend, spend]);
        self.range = Some([low.min(spend), high.max(spend)]);
        self.count += 1.0;
        self.total += spend;
    }

    fn mean(&self) -> Option<f64> {
        (self.count > 0.0).then(|| self.total / self.count)
    }
}
