//! Recognises the special families of the paper in a problem.

use crate::curve::{Curve, Family};
use crate::problem::{Bounds, Problem};

/// The relative error within which thresholds are equal and fit the budget: three times 1/3 is not
/// exactly 1.
const ROUNDING: f64 = 1e-9;

/// The exponents, if every curve is a pure power on the whole budget: `(x/budget)^exponent` with an
/// exponent below one, no bounds.
pub(super) fn pure_powers(problem: &Problem) -> Option<Vec<f64>> {
    let exponent = |curve: &Curve| match curve.family() {
        Family::Power(power)
            if power.scale() == problem.budget() && power.exponent() < 1.0 && is_bare(curve) =>
        {
            Some(power.exponent())
        }
        _ => None,
    };
    let tasks = problem.tasks().iter();
    tasks.map(|task| exponent(task.curve()).filter(|_| task.bounds() == Bounds::NONE)).collect()
}

/// Whether the problem consists of two square-root curves over the whole budget.
pub(super) fn is_two_square_roots(problem: &Problem) -> bool {
    pure_powers(problem).is_some_and(|exponents| exponents == [0.5, 0.5])
}

/// The number of tasks that can succeed in a round if all have the same threshold and no bounds (an
/// M-set): between 1 and all of them.
pub(super) fn plays(problem: &Problem) -> Option<usize> {
    let thresholds: Vec<f64> = problem
        .tasks()
        .iter()
        .map(|task| match task.curve().family() {
            Family::Threshold(threshold)
                if is_bare(task.curve()) && task.bounds() == Bounds::NONE =>
            {
                Some(threshold.at())
            }
            _ => None,
        })
        .collect::<Option<_>>()?;
    let first = *thresholds.first()?;
    let are_equal = thresholds.iter().all(|at| (at - first).abs() <= ROUNDING * first);
    // A threshold at zero costs nothing, so there is no choice.
    let fit = (problem.budget() / first * (1.0 + ROUNDING)).floor();
    (are_equal && first > 0.0 && fit >= 1.0).then(|| (fit as usize).min(thresholds.len()))
}

/// Whether the curve has neither floor nor ceiling.
fn is_bare(curve: &Curve) -> bool {
    curve.floor() == 0.0 && curve.ceiling() == 1.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ProblemSpec, TaskSpec};

    fn problem(budget: f64, curves: Vec<Curve>) -> Problem {
        let tasks = curves
            .into_iter()
            .enumerate()
            .map(|(place, curve)| TaskSpec::new(format!("t{place}"), curve))
            .collect();
        ProblemSpec { budget, tasks, ..ProblemSpec::default() }.check().unwrap()
    }

    #[test]
    fn powers_must_end_with_the_budget() {
        let root = |scale: f64| Curve::power(0.5, scale).unwrap();
        assert!(is_two_square_roots(&problem(7.0, vec![root(7.0), root(7.0)])));
        assert!(!is_two_square_roots(&problem(7.0, vec![root(7.0), root(8.0)])));
        assert!(!is_two_square_roots(&problem(7.0, vec![root(7.0); 3])));
        let lower = root(7.0).with_ceiling(0.5).unwrap();
        assert_eq!(pure_powers(&problem(7.0, vec![root(7.0), lower])), None);
        assert_eq!(
            pure_powers(&problem(1.0, vec![root(1.0), Curve::power(0.25, 1.0).unwrap()])),
            Some(vec![0.5, 0.25])
        );
    }

    #[test]
    fn plays_is_the_number_of_thresholds_in_the_budget() {
        let thresholds = |at: f64, tasks: usize| vec![Curve::threshold(at).unwrap(); tasks];
        for plays_of in 1..=40 {
            assert_eq!(
                plays(&problem(1.0, thresholds(1.0 / f64::from(plays_of), 50))),
                Some(plays_of as usize)
            );
        }
        assert_eq!(
            plays(&problem(10.0, thresholds(4.0, 5))),
            Some(2),
            "the residual budget has no effect"
        );
        assert_eq!(plays(&problem(10.0, thresholds(1.0, 5))), Some(5));
        assert_eq!(plays(&problem(10.0, thresholds(11.0, 5))), None);
        assert_eq!(plays(&problem(10.0, thresholds(0.0, 5))), None);
        assert_eq!(
            plays(&problem(
                10.0,
                vec![Curve::threshold(1.0).unwrap(), Curve::threshold(2.0).unwrap()]
            )),
            None
        );
    }
}
