//! Custom functions: bound and value are those of the function.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use outlay::curve::{DeclaredShape, ResponseCurve};
use outlay::{AllocationError, Curve, Options, Oracle};

use crate::support::*;

fn custom(function: impl ResponseCurve + 'static, shape: DeclaredShape) -> Curve {
    Curve::custom(Arc::new(function), shape).unwrap()
}

/// The value that a black box reaches and its bound, against the same function known as a family.
fn compare(own: Vec<Curve>, known: Vec<Curve>, tolerance: f64) {
    let values = [0.9, 0.5, 0.7];
    let options = Options { tolerance, ..Options::default() };
    let problem = problem_of(own, 1.0);
    let (found, _) = solve_with(&problem, &values, 1.0, &options);
    let (truth, _) = solve(&problem_of(known, 1.0), &values, 1.0);
    assert!(found.value <= truth.upper_bound * (1.0 + 1e-12), "{found:?} against {truth:?}");
    assert!(found.upper_bound >= truth.value * (1.0 - 1e-12), "{found:?} against {truth:?}");
    assert!(found.gap() <= tolerance, "{found:?}");
}

#[test]
fn declared_concave() {
    let known: Vec<Curve> =
        [0.3, 0.5, 0.7].map(|exponent| Curve::power(exponent, 1.0).unwrap()).to_vec();
    let own = [0.3, 0.5, 0.7]
        .map(|exponent: f64| custom(move |x: f64| x.powf(exponent), DeclaredShape::Concave))
        .to_vec();
    compare(own, known, 1e-9);
}

#[test]
fn declared_lipschitz() {
    let known: Vec<Curve> = [0.2, 0.4, 0.3].map(|half| Curve::hill(half, 3.0).unwrap()).to_vec();
    let own = [0.2, 0.4, 0.3]
        .map(|half: f64| {
            custom(
                move |x: f64| x.powi(3) / (x.powi(3) + half.powi(3)),
                DeclaredShape::Lipschitz(8.0),
            )
        })
        .to_vec();
    compare(own, known, 1e-5);
}

#[test]
fn declared_nothing() {
    let known: Vec<Curve> = [0.2, 0.4, 0.3].map(|half| Curve::hill(half, 3.0).unwrap()).to_vec();
    let own = [0.2, 0.4, 0.3]
        .map(|half: f64| {
            custom(move |x: f64| x.powi(3) / (x.powi(3) + half.powi(3)), DeclaredShape::Monotone)
        })
        .to_vec();
    compare(own, known, 1e-3);
}

#[test]
fn an_undeclared_jump_is_found() {
    let jump = |x: f64| if x >= 0.37 { 0.8 } else { 0.1 };
    let known = vec![
        Curve::steps(vec![0.0, 0.37], vec![0.1, 0.8]).unwrap(),
        Curve::exponential(0.3).unwrap(),
        Curve::exponential(0.4).unwrap(),
    ];
    let own = vec![custom(jump, DeclaredShape::Monotone), known[1].clone(), known[2].clone()];
    compare(own, known, 1e-6);
}

#[test]
fn a_limit_on_evaluations_is_respected_and_the_bound_stays_valid() {
    let count = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&count);
    let sigmoid = move |x: f64| {
        counter.fetch_add(1, Ordering::Relaxed);
        x.powi(3) / (x.powi(3) + 0.02)
    };
    let problem = problem_of(
        vec![custom(sigmoid, DeclaredShape::Monotone), Curve::exponential(0.5).unwrap()],
        1.0,
    );
    let options = Options { tolerance: 0.0, max_evaluations: 60, ..Options::default() };
    let mut oracle = Oracle::new(&problem);
    let found = oracle.allocate(&[1.0, 0.5], 1.0, &options).unwrap().clone();
    assert!(count.load(Ordering::Relaxed) < 100);
    assert_eq!(found.status, outlay::Status::Limit);
    let known = problem_of(
        vec![Curve::hill(0.02f64.cbrt(), 3.0).unwrap(), Curve::exponential(0.5).unwrap()],
        1.0,
    );
    let (truth, _) = solve(&known, &[1.0, 0.5], 1.0);
    assert!(found.value <= truth.upper_bound && truth.value <= found.upper_bound);
}

#[test]
fn false_declarations_are_detected() {
    let fails = |curve: Curve| {
        let problem = problem_of(vec![curve], 1.0);
        Oracle::new(&problem).allocate(&[1.0], 1.0, &Options::default()).map(|_| ()).unwrap_err()
    };
    assert!(matches!(
        fails(custom(|x: f64| 1.0 - x, DeclaredShape::Monotone)),
        AllocationError::Decreasing { .. }
    ));
    assert!(matches!(
        fails(custom(|x: f64| x * x, DeclaredShape::Concave)),
        AllocationError::NotAsDeclared { .. }
    ));
    assert!(matches!(
        fails(custom(|x: f64| x, DeclaredShape::Lipschitz(0.5))),
        AllocationError::NotAsDeclared { .. }
    ));
}

#[test]
fn nan_and_values_out_of_range_cause_no_panic() {
    for function in [|_: f64| f64::NAN, |_: f64| f64::INFINITY, |_: f64| -3.0, |x: f64| 100.0 * x] {
        let problem = problem_of(
            vec![custom(function, DeclaredShape::Monotone), Curve::saturating(0.5).unwrap()],
            1.0,
        );
        solve(&problem, &[1.0, 1.0], 1.0);
    }
}

#[test]
fn a_search_that_stops_early_leaves_a_valid_bound() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let shapes: Vec<(f64, i32)> =
            (0..6).map(|_| (random.between(0.15, 0.6), 3 + random.below(4) as i32)).collect();
        let values: Vec<f64> = (0..6).map(|_| random.between(0.3, 1.0)).collect();
        let own = shapes.iter().map(|&(half, steepness)| {
            let function =
                move |x: f64| x.powi(steepness) / (x.powi(steepness) + half.powi(steepness));
            custom(function, DeclaredShape::Monotone)
        });
        let known = shapes
            .iter()
            .map(|&(half, steepness)| Curve::hill(half, f64::from(steepness)).unwrap());
        let (truth, _) = solve(&problem_of(known.collect(), 1.0), &values, 1.0);
        for max_nodes in [1, 2, 5] {
            let options = Options { max_nodes, ..Options::default() };
            let (found, _) =
                solve_with(&problem_of(own.clone().collect(), 1.0), &values, 1.0, &options);
            assert!(
                found.upper_bound >= truth.value * (1.0 - 1e-12),
                "seed {seed}, {max_nodes} nodes: {found:?} against {truth:?}"
            );
            assert!(
                found.value <= truth.upper_bound * (1.0 + 1e-12),
                "seed {seed}, {max_nodes} nodes: {found:?} against {truth:?}"
            );
        }
    }
}
