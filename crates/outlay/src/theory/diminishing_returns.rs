//! The constants of strong diminishing returns (the paper's Assumption 2) and the O(log² T) bound
//! that follows (`thm:boost`).

use serde::Serialize;

use super::curvature::relative_curvature;
use crate::curve::{Curve, DiminishingReturnsFailure, Family};
use crate::learner::log_term;
use crate::problem::{Bounds, Problem};

/// A reason why the assumption does not hold.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AssumptionFailure {
    /// A task's curve violates the assumption.
    #[error("{task}: {}", .failures.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    Curve {
        /// The task.
        task: String,
        /// The parts of the assumption that fail.
        failures: Vec<DiminishingReturnsFailure>,
    },
    /// A task has bounds, but the theorem is about all splits of the budget.
    #[error("{task}: has bounds")]
    Bounds {
        /// The task.
        task: String,
    },
    /// There is only one task.
    #[error("there is only one task")]
    OneTask,
}

/// Curves under Assumption 2, with spends as shares of the budget.
#[derive(Debug, Clone)]
pub struct DiminishingReturns {
    curves: Vec<Curve>,
    budget: f64,
}

/// The bound of `thm:boost` at `δ = 1/(KT)²` with its constants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PolylogBound {
    /// `μ_inf`: the smallest mean.
    pub least_mean: f64,
    /// `u_inf`: every task gets at least this share of the budget once the indices are near the
    /// means.
    pub least_share: f64,
    /// Lipschitz constant there.
    pub lipschitz: f64,
    /// Strong concavity there.
    pub strong_concavity: f64,
    /// The smallest probability of success there.
    pub least_success: f64,
    /// Before that, some under-explored task gets at least this share in enough rounds.
    pub early_share: f64,
    /// The smallest probability of success there.
    pub early_success: f64,
    /// The bound on the regret.
    pub regret: f64,
}

/// The constants of Assumption 2 at one share of the budget, with spends as shares.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Quantities {
    /// `ε`: the share.
    pub share: f64,
    /// `M(ε)`: a Lipschitz constant of every curve from there on.
    pub lipschitz: f64,
    /// `α(ε)`: the strong concavity of every curve from there on.
    pub strong_concavity: f64,
    /// `D_min(ε)`: the smallest slope of any curve up to there.
    pub d_min: f64,
    /// `D_max(ε)`: the largest slope of any curve from there on.
    pub d_max: f64,
    /// The smallest probability of success there.
    pub least_success: f64,
}

impl DiminishingReturns {
    /// The curves of a problem, if Assumption 2 holds for them up to the budget.
    ///
    /// # Errors
    /// Every violation, task by task.
    pub fn new(problem: &Problem) -> Result<Self, Vec<AssumptionFailure>> {
        let budget = problem.budget();
        let mut failures = Vec::new();
        if problem.tasks().len() < 2 {
            failures.push(AssumptionFailure::OneTask);
        }
        for task in problem.tasks() {
            let parts = task.curve().diminishing_returns_failures(budget);
            if !parts.is_empty() {
                failures.push(AssumptionFailure::Curve {
                    task: task.name().to_owned(),
                    failures: parts,
                });
            }
            if task.bounds() != Bounds::NONE {
                failures.push(AssumptionFailure::Bounds { task: task.name().to_owned() });
            }
        }
        if failures.is_empty() {
            Ok(Self {
                curves: problem.tasks().iter().map(|task| task.curve().clone()).collect(),
                budget,
            })
        } else {
            Err(failures)
        }
    }

    fn slopes(&self, share: f64) -> impl Iterator<Item = f64> {
        let spend = share * self.budget;
        self.curves.iter().map(move |curve| slope_before(curve, spend) * self.budget)
    }

    /// `D_min(ε)`: the smallest slope of any curve up to the share ε. Slopes decrease, so it is the
    /// slope at ε.
    #[must_use]
    pub fn d_min(&self, share: f64) -> f64 {
        self.slopes(share).fold(f64::INFINITY, f64::min)
    }

    /// `D_max(ε)`: the largest slope of any curve from the share ε on.
    #[must_use]
    pub fn d_max(&self, share: f64) -> f64 {
        self.slopes(share).fold(0.0, f64::max)
    }

    /// `M(ε)`: a Lipschitz constant of all curves from the share ε on; the largest slope there.
    #[must_use]
    pub fn lipschitz(&self, share: f64) -> f64 {
        self.d_max(share)
    }

    /// `α(ε)`: the strong concavity of every curve from the share ε on. The curvature of these
    /// families is smallest at the budget.
    #[must_use]
    pub fn strong_concavity(&self, _share: f64) -> f64 {
        self.curves
            .iter()
            .map(|curve| curvature_at(curve, self.budget) * self.budget * self.budget)
            .fold(f64::INFINITY, f64::min)
    }

    /// `D_min⁻¹(y)`: the smallest share at which `D_min` is at most `y`; 1 if there is none.
    #[must_use]
    pub fn d_min_inverse(&self, slope: f64) -> f64 {
        if self.d_min(1.0) > slope {
            return 1.0;
        }
        // D_min decreases: bisection in the logarithm of the share.
        let (mut low, mut high) = (f64::MIN_POSITIVE.ln(), 0.0f64);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if self.d_min(middle.exp()) <= slope { high = middle } else { low = middle }
        }
        high.exp()
    }

    /// All constants at one share.
    #[must_use]
    pub fn quantities(&self, share: f64) -> Quantities {
        Quantities {
            share,
            lipschitz: self.lipschitz(share),
            strong_concavity: self.strong_concavity(share),
            d_min: self.d_min(share),
            d_max: self.d_max(share),
            least_success: self.least_success(share),
        }
    }

    fn least_success(&self, share: f64) -> f64 {
        self.curves.iter().map(|curve| curve.success(share * self.budget)).fold(1.0, f64::min)
    }

    /// The bound of `thm:boost` for means (shares of the largest reward). `None` below three
    /// rounds, if a mean is zero, or if the horizon is too short for the theorem's condition on δ.
    #[must_use]
    pub fn polylog_bound(&self, means: &[f64], horizon: u64) -> Option<PolylogBound> {
        let least_mean = means.iter().copied().fold(f64::INFINITY, f64::min);
        let tasks = self.curves.len();
        let log_horizon = (horizon as f64).ln();
        if !(horizon >= 3 && least_mean > 0.0 && is_long_enough(tasks, horizon)) {
            return None;
        }
        let count = tasks as f64;
        let least_share = self.d_min_inverse(2.0 / least_mean * self.d_max(1.0 / count));
        let (lipschitz, strong_concavity) =
            (self.lipschitz(least_share), self.strong_concavity(least_share));
        let least_success = self.least_success(least_share);
        let slow = 32.0 * lipschitz * lipschitz * log_term(tasks, horizon) * count
            / (least_mean * strong_concavity * least_success);
        let early_share = self.d_min_inverse(2.0 / least_mean * self.d_max(1.0 / (count * count)));
        let early_success = self.least_success(early_share);
        let early = 4.0 * count * count * (100.0 * log_horizon * log_horizon + 1.0) / early_success;
        let regret = slow * log_horizon + 5.0 * count * count + early;
        Some(PolylogBound {
            least_mean,
            least_share,
            lipschitz,
            strong_concavity,
            least_success,
            early_share,
            early_success,
            regret,
        })
    }
}

/// The theorem's condition on δ = 1/(KT)², which must be at least 2 exp(-50 log² T), in logarithms.
fn is_long_enough(tasks: usize, horizon: u64) -> bool {
    let log_horizon = (horizon as f64).ln();
    log_term(tasks, horizon) <= 50.0 * log_horizon * log_horizon
}

/// The shortest horizon, of at least three rounds, that `thm:boost` covers.
pub(super) fn shortest_horizon(tasks: usize) -> u64 {
    // The root of the condition as a quadratic in log T, up to rounding.
    let root = (1.0 + (1.0 + 50.0 * log_term(tasks, 1)).sqrt()) / 50.0;
    let first = (root.exp() as u64).max(3);
    (first..).find(|&horizon| is_long_enough(tasks, horizon)).unwrap_or(u64::MAX)
}

/// The left derivative at a spend: beyond its end, a power curve is constant.
fn slope_before(curve: &Curve, spend: f64) -> f64 {
    match curve.family() {
        Family::Power(power) => {
            let relative = spend.min(power.scale()) / power.scale();
            curve.height() * power.exponent() / power.scale()
                * relative.powf(power.exponent() - 1.0)
        }
        _ => curve.slope(spend),
    }
}

/// Minus the second derivative, for the families that the assumption admits.
fn curvature_at(curve: &Curve, spend: f64) -> f64 {
    slope_before(curve, spend) * relative_curvature(curve, spend).unwrap_or(0.0)
}

/// The Proposition: the same bound for pure power curves on the whole budget, in closed form, but
/// larger.
#[must_use]
pub fn power_proposition(exponents: &[f64], least_mean: f64, horizon: u64) -> Option<f64> {
    let (least, most) = exponents.iter().fold((1.0f64, 0.0f64), |(least, most), exponent| {
        (least.min(*exponent), most.max(*exponent))
    });
    let is_covered =
        exponents.len() >= 2 && least > 0.0 && most < 1.0 && least_mean > 0.0 && horizon >= 3;
    if !is_covered {
        return None;
    }
    let (count, log_horizon) = (exponents.len() as f64, (horizon as f64).ln());
    let base = least * least_mean / (2.0 * most);
    let flattest = exponents.iter().map(|exponent| exponent * (1.0 - exponent)).fold(1.0, f64::min);
    let power = (2.0 * (1.0 - least) + most) / (1.0 - most);
    let slow =
        32.0 * count.powf(1.0 + power * (1.0 - least)) / (base.powf(power) * least_mean * flattest);
    let early = 4.0
        * (100.0 * log_horizon * log_horizon + 1.0)
        * count.powf(2.0 + 2.0 * most * (1.0 - least) / (1.0 - most))
        / base.powf(most / (1.0 - most));
    Some(slow * log_term(exponents.len(), horizon) * log_horizon + 5.0 * count * count + early)
}

/// Lemma `explicit:Ktwo`: two square roots with means of at least 1/4.
///
/// ```
/// assert!((outlay::theory::explicit_two_square_roots(1000) - 164_043_080.87).abs() < 0.01);
/// ```
#[must_use]
pub fn explicit_two_square_roots(horizon: u64) -> f64 {
    let log_horizon = (horizon as f64).ln();
    1_048_576.0 * std::f64::consts::SQRT_2 * (8f64.ln() + 2.0 * log_horizon) * log_horizon
        + 20.0
        + 256.0 * (100.0 * log_horizon * log_horizon + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ProblemSpec, TaskSpec};

    fn returns(budget: f64, curves: Vec<Curve>) -> DiminishingReturns {
        let tasks = curves
            .into_iter()
            .enumerate()
            .map(|(place, curve)| TaskSpec::new(format!("t{place}"), curve))
            .collect();
        DiminishingReturns::new(
            &ProblemSpec { budget, tasks, ..ProblemSpec::default() }.check().unwrap(),
        )
        .unwrap()
    }

    #[test]
    fn the_shortest_horizon_is_long_enough_and_the_one_before_is_not() {
        assert_eq!([1, 10, 1_000_000].map(shortest_horizon), [3; 3]);
        for tasks in [1usize << 45, 1 << 55, 1 << 63] {
            let shortest = shortest_horizon(tasks);
            assert!(shortest > 3 && is_long_enough(tasks, shortest), "{tasks}: {shortest}");
            assert!(!is_long_enough(tasks, shortest - 1), "{tasks}: {shortest}");
        }
    }

    #[test]
    fn the_lemma_is_the_proposition_at_a_quarter() {
        for horizon in [3, 1000, 1_000_000] {
            let proposition = power_proposition(&[0.5, 0.5], 0.25, horizon).unwrap();
            assert!((proposition / explicit_two_square_roots(horizon) - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn the_general_bound_is_below_the_closed_form() {
        for exponents in [vec![0.5, 0.5], vec![0.3, 0.5, 0.7], vec![0.2; 6]] {
            let curves =
                exponents.iter().map(|exponent| Curve::power(*exponent, 7.0).unwrap()).collect();
            let general = returns(7.0, curves)
                .polylog_bound(&vec![0.4; exponents.len()], 5000)
                .unwrap()
                .regret;
            let closed = power_proposition(&exponents, 0.4, 5000).unwrap();
            assert!(
                general <= closed * (1.0 + 1e-9) && general > 0.0,
                "{exponents:?}: {general} {closed}"
            );
        }
    }

    #[test]
    fn quantities_are_those_of_the_curves() {
        // F = sqrt(u): F' = 1/(2 sqrt u), -F'' = 1/4 at 1.
        let roots =
            returns(10.0, vec![Curve::power(0.5, 10.0).unwrap(), Curve::power(0.5, 10.0).unwrap()]);
        assert!((roots.d_min(0.25) - 1.0).abs() < 1e-12 && (roots.d_max(0.25) - 1.0).abs() < 1e-12);
        assert!((roots.strong_concavity(0.5) - 0.25).abs() < 1e-12);
        assert!((roots.d_min_inverse(1.0) - 0.25).abs() < 1e-9 && roots.d_min_inverse(0.1) == 1.0);
        // u_inf = D_min⁻¹((2/μ) D_max(1/2)): slope 2/μ · 0.7071, u = (μ/(4 · 0.7071))².
        let bound = roots.polylog_bound(&[0.5, 0.9], 1000).unwrap();
        assert!(
            (bound.least_share - (0.5f64 / (4.0 * 0.5f64.sqrt())).powi(2)).abs() < 1e-9,
            "{bound:?}"
        );
    }

    #[test]
    fn curvatures_are_smallest_at_the_end() {
        let hill = Curve::hill(2.0, 0.6).unwrap().with_ceiling(0.8).unwrap();
        for curve in [Curve::power(0.4, 5.0).unwrap(), hill] {
            let curvatures: Vec<f64> =
                (1..=50).map(|place| curvature_at(&curve, 0.1 * f64::from(place))).collect();
            assert!(curvatures.is_sorted_by(|one, other| one >= other), "{curve:?}");
            assert!(curvatures[49] > 0.0, "{curve:?}");
        }
    }

    #[test]
    fn every_failure_is_listed() {
        let tasks = vec![
            TaskSpec::new("fine", Curve::power(0.5, 1.0).unwrap()),
            TaskSpec { max: Some(0.5), ..TaskSpec::new("capped", Curve::power(0.5, 1.0).unwrap()) },
            TaskSpec::new("line", Curve::saturating(2.0).unwrap()),
        ];
        let problem = ProblemSpec { tasks, ..ProblemSpec::default() }.check().unwrap();
        let failures: Vec<String> = DiminishingReturns::new(&problem)
            .unwrap_err()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            failures,
            ["capped: has bounds", "line: finite slope at zero, not strongly concave"]
        );
    }
}
