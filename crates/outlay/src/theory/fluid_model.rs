//! The fluid model of a learner: completions grow deterministically at their success probability
//! and the means are known, so only the widths of the indices remain. On smooth curves it predicts
//! the mean regret within a few percent, and it runs to T = 10¹⁵. On thresholds randomness decides
//! between close tasks, and the prediction is rougher: within 15 % on M-sets.

use crate::learner::{LearnerSpec, fluid_index};
use crate::oracle::{Options, Oracle};
use crate::problem::Problem;
use crate::simulation::Environment;
use crate::simulation::ExperimentError;

/// The regret of the fluid model after a number of rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FluidPoint {
    /// The number of rounds.
    pub round: f64,
    /// Regret, in the problem's unit of reward.
    pub regret: f64,
}

/// A step is at most this share of the rounds so far, and at least one round.
const STEP: f64 = 0.01;

/// The regret of the fluid model of a learner up to `horizon`, with about a hundred points per
/// decade. `None` for learners without a fluid form (randomised ones, `explore-then-commit` and
/// those with bandit feedback) and for tasks that may complete more than once.
///
/// # Errors
/// If the problem cannot be simulated.
pub fn fluid(
    problem: &Problem,
    learner: &LearnerSpec,
    horizon: f64,
) -> Result<Option<Vec<FluidPoint>>, ExperimentError> {
    if problem.has_counts() {
        return Ok(None);
    }
    let environment = Environment::new(problem, 0)?;
    let means = environment.means();
    let tasks = means.len();
    let mut oracle = Oracle::new(problem);
    let best = oracle.allocate(means, problem.budget(), &Options::default())?.value;
    let mut completions = vec![0.0; tasks];
    let mut weights = vec![0.0; tasks];
    let (mut round, mut regret) = (0.0, 0.0);
    let mut points = Vec::new();
    while round < horizon {
        let step = f64::min((STEP * round).floor().max(1.0), horizon - round);
        for ((weight, mean), completions) in weights.iter_mut().zip(means).zip(&completions) {
            // At the middle of the step, the average over its rounds.
            let Some(index) = fluid_index(
                learner,
                *mean,
                *completions,
                round + 0.5 * (step + 1.0),
                tasks,
                horizon,
            ) else {
                return Ok(None);
            };
            *weight = index;
        }
        let split = oracle.allocate(&weights, problem.budget(), &Options::default())?;
        let mut value = 0.0;
        for ((completions, success), mean) in completions.iter_mut().zip(&split.success).zip(means)
        {
            *completions += step * success;
            value += mean * success;
        }
        round += step;
        regret += step * (best - value) * problem.reward_max();
        points.push(FluidPoint { round, regret });
    }
    Ok(Some(points))
}
