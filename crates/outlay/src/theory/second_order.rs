//! The asymptotic regret of `kl-ucb-plus` per decade of rounds under diminishing returns, to second
//! order.
//!
//! Late in a run a task with success probability `f` under the best split has about `f t`
//! completions. Its index then deviates by the error of the mean, of variance `μ(1-μ)/(f t)`, and
//! by a width of about `sqrt(2 μ(1-μ) c log(1/f) / (f t))`. The loss of a split that is best for
//! slightly wrong weights is quadratic in their errors, so a round costs `C / t`, and a decade of
//! rounds `C ln 10`.

use crate::oracle::{Options, Oracle};
use crate::problem::Problem;
use crate::simulation::Environment;
use crate::simulation::ExperimentError;

/// The step of the finite differences, relative to the weights.
const STEP: f64 = 1e-3;

/// The regret that `kl-ucb-plus` with factor `c` adds per decade of rounds, in the problem's unit
/// of reward, in the limit of many rounds. It applies only under diminishing returns, if the best
/// split funds every task and if tasks complete at most once in a round.
///
/// # Errors
/// If the problem cannot be simulated.
pub fn kl_ucb_plus_regret_per_decade(problem: &Problem, c: f64) -> Result<f64, ExperimentError> {
    let environment = Environment::new(problem, 0)?;
    let means = environment.means();
    let mut oracle = Oracle::new(problem);
    let success = oracle.allocate(means, problem.budget(), &Options::default())?.success.clone();
    let spread = |task: usize| means[task] * (1.0 - means[task]) / success[task];
    let widths: Vec<f64> = (0..means.len())
        .map(|task| (2.0 * spread(task) * c * (1.0 / success[task]).ln()).sqrt())
        .collect();
    let mut per_round = curvature(problem, &mut oracle, means, &widths)?;
    for task in 0..means.len() {
        let mut direction = vec![0.0; means.len()];
        direction[task] = spread(task).sqrt();
        per_round += curvature(problem, &mut oracle, means, &direction)?;
    }
    Ok(per_round * std::f64::consts::LN_10 * problem.reward_max())
}

/// The quadratic coefficient of the loss if the weights are perturbed along a direction.
fn curvature(
    problem: &Problem,
    oracle: &mut Oracle,
    means: &[f64],
    direction: &[f64],
) -> Result<f64, ExperimentError> {
    let longest = direction.iter().fold(0.0f64, |longest, part| longest.max(part.abs()));
    if longest == 0.0 {
        return Ok(0.0);
    }
    let step = STEP / longest;
    // The cubic terms of the two sides cancel.
    Ok(0.5
        * (loss(problem, oracle, means, direction, step)?
            + loss(problem, oracle, means, direction, -step)?)
        / (step * step))
}

fn loss(
    problem: &Problem,
    oracle: &mut Oracle,
    means: &[f64],
    direction: &[f64],
    step: f64,
) -> Result<f64, ExperimentError> {
    let best = oracle.allocate(means, problem.budget(), &Options::default())?.value;
    let weights: Vec<f64> =
        means.iter().zip(direction).map(|(mean, part)| mean + step * part).collect();
    let played = oracle.allocate(&weights, problem.budget(), &Options::default())?;
    Ok(best - played.success.iter().zip(means).map(|(success, mean)| success * mean).sum::<f64>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::Instance;

    fn per_decade(instance: &str) -> f64 {
        let problem = instance.parse::<Instance>().unwrap().problem(1000, 1).unwrap();
        kl_ucb_plus_regret_per_decade(&problem, 1.1).unwrap()
    }

    /// An independent computation of the same prediction gave 18.7.
    #[test]
    fn five_power_curves() {
        assert!((per_decade("power") - 18.7).abs() < 0.1, "{}", per_decade("power"));
    }

    /// With F = √x and weights w the value is <μ, w>/|w|: the loss for weights off by d is (|d|² -
    /// <d, μ>²/|μ|²) / (2|μ|).
    #[test]
    fn square_roots_in_closed_form() {
        let means = [0.6f64, 0.4];
        let norm = means.iter().map(|mean| mean * mean).sum::<f64>().sqrt();
        let loss = |d: [f64; 2]| {
            let along = (d[0] * means[0] + d[1] * means[1]) / norm;
            (d[0] * d[0] + d[1] * d[1] - along * along) / (2.0 * norm)
        };
        let success = means.map(|mean| mean / norm);
        let spread = [0, 1].map(|task| (means[task] * (1.0 - means[task]) / success[task]).sqrt());
        let widths = [0, 1].map(|task| spread[task] * (2.2 * (1.0 / success[task]).ln()).sqrt());
        let expected = loss(widths) + loss([spread[0], 0.0]) + loss([0.0, spread[1]]);
        assert!(
            (per_decade("square-roots") / expected / std::f64::consts::LN_10 - 1.0).abs() < 1e-4
        );
    }
}
