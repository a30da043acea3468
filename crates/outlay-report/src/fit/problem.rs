//! The problem of fitted tasks.

use outlay::fit::CountFit;
use outlay::problem::{EnvironmentSpec, ProblemErrors, Seen};
use outlay::{Problem, ProblemSpec, TaskSpec};

use super::{TaskData, TaskFit};

/// The problem with all fitted tasks; tasks without a fit are omitted.
///
/// # Errors
/// If the problem is invalid.
pub fn problem(tasks: &[TaskFit], budget: f64, reward_max: f64) -> Result<Problem, ProblemErrors> {
    let counts: Vec<CountFit> =
        tasks.iter().filter_map(|task| task.fitted.as_ref()?.counts).collect();
    let environment = EnvironmentSpec {
        completions: (!counts.is_empty()).then(|| CountFit::completion_law(&counts)),
        ..EnvironmentSpec::default()
    };
    let tasks = tasks.iter().filter_map(task_spec).collect();
    ProblemSpec { budget, reward_max, tasks, environment, ..ProblemSpec::default() }.check()
}

/// The task of a problem; `None` if it could not be fitted. A task with counts keeps the summary of
/// its log.
fn task_spec(task: &TaskFit) -> Option<TaskSpec> {
    let (fitted, rewards) = (task.fitted.as_ref()?, &task.log.rewards);
    let plain = TaskSpec {
        value: rewards.mean(),
        ..TaskSpec::new(task.log.name.clone(), fitted.curve.clone())
    };
    let (TaskData::Counts(log), Some(counts)) = (&task.log.data, fitted.counts) else {
        return Some(plain);
    };
    Some(TaskSpec {
        volume: Some(counts.volume),
        current: log.mean_spend(),
        covers: log.range().map(|(low, high)| [low, high]),
        seen: rewards
            .mean()
            .map(|_| Seen { completions: log.count() as u64, reward: rewards.total() }),
        ..plain
    })
}
