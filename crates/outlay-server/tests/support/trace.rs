//! A problem of three tasks and random outcomes, played side by side by the library and the
//! service.

use outlay::Problem;
use outlay::feedback::{Completion, Reward};
use outlay::random::Draws;
use outlay_server::api::TaskResult;
use serde_json::json;

pub(crate) fn problem() -> serde_json::Value {
    json!({
        "budget": 100.0, "reward_max": 2.0,
        "task": [
            { "name": "tv", "curve": { "family": "hill", "half_at": 60.0, "steepness": 2.5 } },
            { "name": "web", "curve": { "family": "power", "exponent": 0.5, "scale": 80.0 } },
            { "name": "mail", "curve": { "family": "exponential", "scale": 30.0 }, "max": 70.0 },
        ],
    })
}

/// The tasks that complete in a round with this split.
pub(crate) fn outcomes(
    problem: &Problem,
    spend: &[f64],
    draws: &Draws,
    round: u64,
) -> Vec<Completion> {
    let draws = draws.round(round);
    let chances = problem.tasks().iter().zip(spend).enumerate();
    let completed = chances
        .filter(|(task, (curve, spend))| draws.uniform(*task) < curve.curve().success(**spend));
    completed
        .map(|(task, _)| Completion { task, reward: Reward::from_share(draws.uniform(10 + task)) })
        .collect()
}

/// The same outcomes as a report.
pub(crate) fn told(problem: &Problem, completed: &[Completion]) -> Vec<TaskResult> {
    let result = |(place, task): (usize, &outlay::Task)| match completed
        .iter()
        .find(|completion| completion.task == place)
    {
        Some(completion) => done(task.name(), completion.reward.share() * problem.reward_max()),
        None => failed(task.name()),
    };
    problem.tasks().iter().enumerate().map(result).collect()
}

pub(crate) fn done(task: &str, reward: f64) -> TaskResult {
    TaskResult {
        task: task.to_owned(),
        completed: Some(true),
        reward: Some(reward),
        ..TaskResult::default()
    }
}

pub(crate) fn failed(task: &str) -> TaskResult {
    TaskResult {
        task: task.to_owned(),
        completed: Some(false),
        reward: None,
        ..TaskResult::default()
    }
}
