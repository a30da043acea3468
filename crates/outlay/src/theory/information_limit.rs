//! The information limit: what learning must cost in the long run, whatever the learner.
//!
//! Two cases have a known constant of ln T. If the best split funds every task strictly between its
//! bounds with curvature, rewards are estimated from the completions of the best split
//! itself, and the error of the estimates costs a fixed amount per decade of rounds (our proof, not
//! peer reviewed). On M-sets the tasks outside the best M must be tried again and again (Lai and
//! Robbins 1985; Anantharam, Varaiya and Walrand 1987).

use serde::Serialize;

use super::applicable_bounds::rounds_alike;
use super::bounds::NotApplicable;
use super::curvature::relative_curvature;
use super::special_families::plays;
use crate::numeric::compensated::sum;
use crate::oracle::{AllocationError, Options, Oracle};
use crate::problem::{Problem, RewardLaw, Task};

/// The argument behind an [`InformationLimit`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitKind {
    /// The best split funds every task strictly between its bounds.
    Interior,
    /// The best M of K tasks with equal thresholds.
    MSet,
}

/// The regret that every learner has per factor e of rounds, in the limit of many rounds, unless it
/// does much worse for other means nearby.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InformationLimit {
    /// The argument.
    pub kind: LimitKind,
    /// The coefficient of ln T, in multiples of the largest reward.
    pub per_log: f64,
}

crate::names::names!(LimitKind, "limit", Interior = "interior", MSet = "m-set");

impl InformationLimit {
    /// The regret per decade of rounds, in multiples of the largest reward.
    #[must_use]
    pub fn per_decade(&self) -> f64 {
        self.per_log * std::f64::consts::LN_10
    }
}

/// The information limit of a problem for given means (shares of the largest reward), or the reason
/// why none is known.
///
/// # Errors
/// If the oracle returns an error.
pub fn information_limit(
    problem: &Problem,
    means: &[f64],
) -> Result<Result<InformationLimit, NotApplicable>, AllocationError> {
    if let Err(reason) = rounds_alike(problem) {
        return Ok(Err(reason));
    }
    match plays(problem) {
        Some(plays) => Ok(m_set(problem, means, plays)),
        None => interior(problem, means),
    }
}

/// Σ (μ_(M) − μ_k) / kl(μ_k, μ_(M)) over the tasks outside the best M.
fn m_set(
    problem: &Problem,
    means: &[f64],
    plays: usize,
) -> Result<InformationLimit, NotApplicable> {
    if let Some(task) = problem.tasks().iter().find(|task| !has_bernoulli_rewards(task)) {
        return Err(NotApplicable::OtherRewards(task.name().to_owned()));
    }
    let mut ranked = means.to_vec();
    ranked.sort_unstable_by(|one, other| other.total_cmp(one));
    let last = ranked[plays - 1];
    if ranked.get(plays).is_some_and(|next| *next == last) {
        return Err(NotApplicable::SeveralBestSplits);
    }
    let terms = ranked[plays..].iter().map(|mean| (last - mean) / divergence(*mean, last));
    Ok(InformationLimit { kind: LimitKind::MSet, per_log: sum(terms) })
}

/// kl(p, q) of two Bernoulli laws, p < q.
fn divergence(p: f64, q: f64) -> f64 {
    let term = |p: f64, q: f64| if p > 0.0 { p * (p / q).ln() } else { 0.0 };
    term(p, q) + term(1.0 - p, 1.0 - q)
}

/// C* = ½ Σ (σ²/f) (g²/h) (1 − w), with the slopes g, the curvatures h of μ F, the success
/// probabilities f of the best split, the variances σ² of the rewards and w = (1/h) / Σ (1/h).
fn interior(
    problem: &Problem,
    means: &[f64],
) -> Result<Result<InformationLimit, NotApplicable>, AllocationError> {
    let mut oracle = Oracle::new(problem);
    let best = oracle.allocate(means, problem.budget(), &Options::default())?;
    let mut funded = Vec::new();
    for (place, task) in problem.tasks().iter().enumerate() {
        let bounds = task.bounds();
        if bounds.min == bounds.max {
            continue;
        }
        let spend = best.spend[place];
        let slope = task.curve().slope(spend);
        let curvature =
            means[place] * slope * relative_curvature(task.curve(), spend).unwrap_or(0.0);
        if !(spend > bounds.min && spend < bounds.max && curvature > 0.0) {
            return Ok(Err(NotApplicable::AtBoundary(task.name().to_owned())));
        }
        funded.push(Funded {
            slope,
            curvature,
            variance: variance(task, means[place], problem.reward_max()),
            success: best.success[place],
        });
    }
    let per_log = interior_constant(&funded);
    Ok(Ok(InformationLimit { kind: LimitKind::Interior, per_log }))
}

/// A task at its best spend.
struct Funded {
    slope: f64,
    /// Minus the second derivative of its expected reward.
    curvature: f64,
    variance: f64,
    success: f64,
}

fn interior_constant(funded: &[Funded]) -> f64 {
    let total = sum(funded.iter().map(|task| 1.0 / task.curvature));
    0.5 * sum(funded.iter().map(|task| {
        let own_part = 1.0 - 1.0 / (task.curvature * total);
        task.variance / task.success * task.slope * task.slope / task.curvature * own_part
    }))
}

fn has_bernoulli_rewards(task: &Task) -> bool {
    matches!(task.reward(), None | Some(RewardLaw::Bernoulli { .. }))
}

/// The variance of one reward, as a share of the largest reward. A task with a `value` and no law
/// has Bernoulli rewards.
fn variance(task: &Task, mean: f64, reward_max: f64) -> f64 {
    match task.reward() {
        None | Some(RewardLaw::Bernoulli { .. }) => mean * (1.0 - mean),
        Some(RewardLaw::Beta { concentration, .. }) => {
            // Beta(a, 1) has the mean a / (a + 1), so a + b = 1 / (1 - mean).
            let concentration = concentration.unwrap_or(1.0 / (1.0 - mean));
            mean * (1.0 - mean) / (1.0 + concentration)
        }
        Some(RewardLaw::Constant { .. }) => 0.0,
        Some(RewardLaw::Uniform { low, high }) => ((high - low) / reward_max).powi(2) / 12.0,
        Some(RewardLaw::Empirical { samples }) => {
            let squares = samples.iter().map(|sample| (sample / reward_max - mean).powi(2));
            sum(squares) / samples.len() as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::Instance;
    use crate::{Curve, ProblemSpec, TaskSpec};

    fn limit(problem: &Problem) -> Result<InformationLimit, NotApplicable> {
        let means: Vec<f64> =
            super::super::means(problem).into_iter().collect::<Option<_>>().unwrap();
        information_limit(problem, &means).unwrap()
    }

    fn instance(name: &str) -> Problem {
        name.parse::<Instance>().unwrap().problem(1000, 1).unwrap()
    }

    fn problem(budget: f64, tasks: Vec<(Curve, f64)>) -> Problem {
        let task = |(place, (curve, value)): (usize, (Curve, f64))| TaskSpec {
            value: Some(value),
            ..TaskSpec::new(format!("t{place}"), curve)
        };
        let tasks = tasks.into_iter().enumerate().map(task).collect();
        ProblemSpec { budget, tasks, ..ProblemSpec::default() }.check().unwrap()
    }

    /// The loss per round, times the number of rounds, of the split that is best for the observed
    /// means, by finite differences of the oracle.
    fn loss_of_estimates(problem: &Problem, means: &[f64]) -> f64 {
        const STEP: f64 = 1e-4;
        let mut oracle = Oracle::new(problem);
        let mut split = |weights: &[f64]| {
            oracle.allocate(weights, problem.budget(), &Options::default()).unwrap().clone()
        };
        let best = split(means);
        let worth = |success: &[f64]| -> f64 {
            success.iter().zip(means).map(|(success, mean)| success * mean).sum()
        };
        let mut total = 0.0;
        for task in 0..means.len() {
            for sign in [-1.0, 1.0] {
                let mut weights = means.to_vec();
                weights[task] += sign * STEP;
                let loss = best.value - worth(&split(&weights).success);
                let variance = means[task] * (1.0 - means[task]) / best.success[task];
                total += 0.5 * loss * variance / (STEP * STEP);
            }
        }
        total
    }

    #[test]
    fn the_interior_limit_is_the_loss_of_estimated_means() {
        let mixed = vec![
            (Curve::exponential(3.0).unwrap(), 0.6),
            (Curve::hill(2.0, 2.0).unwrap().with_ceiling(0.9).unwrap(), 0.5),
            (Curve::logistic(1.0, 0.8).unwrap().with_floor(0.05).unwrap(), 0.45),
            (Curve::power(0.4, 20.0).unwrap(), 0.7),
        ];
        for problem in [instance("power"), instance("square-roots"), problem(12.0, mixed)] {
            let means: Vec<f64> =
                super::super::means(&problem).into_iter().collect::<Option<_>>().unwrap();
            let limit = limit(&problem).unwrap();
            let loss = loss_of_estimates(&problem, &means);
            assert_eq!(limit.kind, LimitKind::Interior);
            assert!((limit.per_log / loss - 1.0).abs() < 1e-3, "{} {loss}", limit.per_log);
        }
    }

    /// An independent computation gave 3.61 for the five power curves.
    #[test]
    fn the_limit_of_five_power_curves() {
        assert!((limit(&instance("power")).unwrap().per_decade() - 3.61).abs() < 0.005);
    }

    #[test]
    fn m_sets_have_the_constant_of_lai_and_robbins() {
        let threshold = || Curve::threshold(1.0).unwrap();
        let arms = |budget: f64| {
            problem(budget, [0.5, 0.4, 0.2, 0.6].map(|mean| (threshold(), mean)).to_vec())
        };
        let kl = |p: f64, q: f64| p * (p / q).ln() + (1.0 - p) * ((1.0 - p) / (1.0 - q)).ln();
        let one = 0.1 / kl(0.5, 0.6) + 0.2 / kl(0.4, 0.6) + 0.4 / kl(0.2, 0.6);
        let two = 0.1 / kl(0.4, 0.5) + 0.3 / kl(0.2, 0.5);
        for (budget, expected) in [(1.0, one), (2.0, two), (4.0, 0.0)] {
            let limit = limit(&arms(budget)).unwrap();
            assert!((limit.per_log - expected).abs() < 1e-12, "{limit:?}, not {expected}");
        }
    }

    #[test]
    fn reasons_are_named() {
        let equal = vec![(Curve::threshold(1.0).unwrap(), 0.5); 3];
        assert_eq!(limit(&problem(1.0, equal)), Err(NotApplicable::SeveralBestSplits));
        let steep = (Curve::exponential(1.0).unwrap(), 0.9);
        let poor = (Curve::exponential(50.0).unwrap(), 0.1);
        let unfunded = Err(NotApplicable::AtBoundary("t1".to_owned()));
        assert_eq!(limit(&problem(1.0, vec![steep, poor])), unfunded);
    }
}
