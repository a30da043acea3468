//! One suite for every curve family: the properties that the oracle and the learners rely on.

use std::sync::Arc;

use outlay::Curve;
use outlay::curve::{DeclaredShape, Shape};

/// Every family with several parameters: add a new family here.
fn every_curve() -> Vec<(&'static str, Curve)> {
    let concave = |spend: f64| (spend / (spend + 3.0)).sqrt();
    let mut curves = vec![
        ("power", Curve::power(0.5, 10.0)),
        ("power, nearly linear", Curve::power(0.99, 4.0)),
        ("power, linear", Curve::power(1.0, 4.0)),
        ("power, steep", Curve::power(0.05, 20.0)),
        ("saturating", Curve::saturating(6.0)),
        ("exponential", Curve::exponential(3.0)),
        ("hill, S-shaped", Curve::hill(4.0, 2.5)),
        ("hill, one", Curve::hill(4.0, 1.0)),
        ("hill, concave", Curve::hill(4.0, 0.6)),
        ("hill, very steep", Curve::hill(4.0, 60.0)),
        ("logistic", Curve::logistic(5.0, 1.0)),
        ("logistic, from its middle", Curve::logistic(0.0, 2.0)),
        ("logistic, sharp", Curve::logistic(5.0, 0.02)),
        ("threshold", Curve::threshold(3.0)),
        ("threshold at zero", Curve::threshold(0.0)),
        ("steps", Curve::steps(vec![1.0, 2.0, 7.5], vec![0.2, 0.5, 0.9])),
        ("steps from zero", Curve::steps(vec![0.0, 2.0], vec![0.1, 0.4])),
        ("piecewise", Curve::piecewise(vec![0.0, 1.0, 4.0, 9.0], vec![0.0, 0.1, 0.7, 0.9])),
        ("piecewise, concave", Curve::piecewise(vec![0.0, 2.0, 6.0], vec![0.1, 0.6, 0.8])),
        ("piecewise, one point", Curve::piecewise(vec![0.0], vec![0.3])),
        ("empirical", Curve::empirical(vec![3.0, 1.0, 4.0, 1.0, 5.0])),
        ("custom", Curve::custom(Arc::new(concave), DeclaredShape::Concave)),
    ]
    .into_iter()
    .map(|(name, curve)| (name, curve.unwrap()))
    .collect::<Vec<_>>();
    let raised = curves
        .iter()
        .map(|(name, curve)| {
            (*name, curve.clone().with_ceiling(0.7).unwrap().with_floor(0.2).unwrap())
        })
        .collect::<Vec<_>>();
    curves.extend(raised);
    curves
}

fn spends() -> impl Iterator<Item = f64> {
    (0..=2000).map(|step| f64::from(step) * 0.01).chain([
        1e-300,
        1e-12,
        1e-6,
        1e3,
        1e9,
        1e300,
        f64::MAX,
    ])
}

#[test]
fn success_is_a_probability_and_never_falls() {
    for (name, curve) in every_curve() {
        let mut sorted: Vec<f64> = spends().collect();
        sorted.sort_by(f64::total_cmp);
        let mut last = 0.0;
        for spend in sorted {
            let success = curve.success(spend);
            assert!((0.0..=1.0).contains(&success), "{name} at {spend}: {success}");
            // Two roundings of one value may be a unit in the last place apart.
            assert!(
                success >= last - 4.0 * f64::EPSILON,
                "{name} falls at {spend}: {last} then {success}"
            );
            last = success;
        }
    }
}

#[test]
fn floor_and_ceiling_hold() {
    for (name, curve) in every_curve() {
        assert!(curve.success(0.0) >= curve.floor(), "{name}");
        assert!(curve.success(1e12) <= curve.ceiling(), "{name}");
        assert_eq!(
            curve.success(-1.0),
            curve.success(0.0),
            "{name}: a negative spend counts as none"
        );
        assert_eq!(curve.success(f64::NAN), curve.success(0.0), "{name}: no number counts as none");
    }
    let curve = Curve::hill(1.0, 2.0).unwrap().with_ceiling(0.8).unwrap().with_floor(0.3).unwrap();
    assert_eq!(curve.success(0.0), 0.3);
    assert!((curve.success(1.0) - 0.55).abs() < 1e-15);
}

#[test]
fn slope_is_the_derivative() {
    for (name, curve) in every_curve() {
        if matches!(curve.shape(), Shape::Steps { .. }) {
            assert_eq!(curve.slope(2.5), 0.0, "{name}");
            continue;
        }
        for spend in [0.3, 1.7, 3.3, 5.1, 8.2] {
            let step = 1e-6;
            let numeric =
                (curve.success(spend + step) - curve.success(spend - step)) / (2.0 * step);
            let slope = curve.slope(spend);
            assert!(
                (slope - numeric).abs() <= 1e-5 * slope.abs().max(1.0),
                "{name} at {spend}: {slope} against {numeric}"
            );
        }
    }
}

#[test]
fn the_shape_matches_the_curve() {
    for (name, curve) in every_curve() {
        let grid: Vec<f64> = (0..400).map(|step| curve.success(f64::from(step) * 0.05)).collect();
        let second = |at: usize| grid[at + 1] - 2.0 * grid[at] + grid[at - 1];
        match curve.shape() {
            Shape::Concave => assert!((1..399).all(|at| second(at) <= 1e-12), "{name}"),
            Shape::SShaped { inflection } => {
                for at in 1..399 {
                    let spend = at as f64 * 0.05;
                    if spend + 0.05 < inflection {
                        assert!(
                            second(at) >= -1e-12,
                            "{name} at {spend}: convex up to {inflection}"
                        );
                    } else if spend - 0.05 > inflection {
                        assert!(
                            second(at) <= 1e-12,
                            "{name} at {spend}: concave from {inflection}"
                        );
                    }
                }
            }
            Shape::Steps { .. } => {
                let levels: std::collections::BTreeSet<u64> =
                    grid.iter().map(|height| height.to_bits()).collect();
                assert!(levels.len() <= 6, "{name}");
            }
            Shape::PiecewiseMixed => assert!((1..399).any(|at| second(at) > 1e-12), "{name}"),
            Shape::Declared(_) => {}
            _ => panic!("{name}: a shape without a test"),
        }
    }
}

#[test]
fn nothing_is_gained_beyond_saturation() {
    for (name, curve) in every_curve() {
        let end = curve.saturates_at();
        if end.is_finite() {
            assert_eq!(curve.success(end), curve.success(1e12), "{name}");
        }
    }
}

#[test]
fn a_jump_is_exact() {
    for curve in [
        Curve::threshold(3.0).unwrap(),
        Curve::steps(vec![3.0], vec![1.0]).unwrap(),
        Curve::empirical(vec![3.0]).unwrap(),
    ] {
        assert_eq!(curve.success(3.0), 1.0);
        assert_eq!(curve.success(3.0f64.next_down()), 0.0);
    }
}

#[test]
fn formulas_of_the_families() {
    let close = |curve: Curve, spend: f64, truth: f64| {
        let success = curve.success(spend);
        assert!(
            (success - truth).abs() <= 1e-14,
            "{curve:?} at {spend}: {success} against {truth}"
        );
    };
    close(Curve::power(0.3, 8.0).unwrap(), 2.0, 0.25f64.powf(0.3));
    close(Curve::saturating(8.0).unwrap(), 2.0, 0.25);
    close(Curve::exponential(8.0).unwrap(), 2.0, 1.0 - (-0.25f64).exp());
    close(
        Curve::hill(120.0, 2.5).unwrap(),
        80.0,
        80f64.powf(2.5) / (80f64.powf(2.5) + 120f64.powf(2.5)),
    );
    let sigmoid = |y: f64| 1.0 / (1.0 + (-y).exp());
    close(
        Curve::logistic(5.0, 1.5).unwrap(),
        4.0,
        (sigmoid(-1.0 / 1.5) - sigmoid(-5.0 / 1.5)) / (1.0 - sigmoid(-5.0 / 1.5)),
    );
    close(Curve::empirical(vec![3.0, 1.0, 4.0, 1.0, 5.0]).unwrap(), 3.0, 0.6);
    close(Curve::piecewise(vec![0.0, 2.0, 6.0], vec![0.1, 0.5, 0.9]).unwrap(), 3.0, 0.6);
    close(Curve::steps(vec![1.0, 2.0], vec![0.25, 0.75]).unwrap(), 1.99, 0.25);
}

#[test]
fn success_near_zero_keeps_its_digits() {
    // A form that subtracts two nearly equal numbers would return 0 or noise here.
    let logistic = Curve::logistic(5.0, 1.0).unwrap();
    let truth = 1e-12 * (1.0 / (1.0 + 5f64.exp()));
    assert!((logistic.success(1e-12) / truth - 1.0).abs() < 1e-10);
    assert!((Curve::exponential(1.0).unwrap().success(1e-12) / 1e-12 - 1.0).abs() < 1e-11);
}

#[test]
fn every_invalid_parameter_is_rejected_by_name() {
    let bad = |curve: Result<Curve, outlay::curve::CurveError>, field: &str| {
        let error = curve.expect_err(field);
        assert_eq!(error.field, field, "{error}");
    };
    for number in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        bad(Curve::power(0.5, number), "scale");
        bad(Curve::saturating(number), "full_at");
        bad(Curve::exponential(number), "scale");
        bad(Curve::hill(number, 2.0), "half_at");
        bad(Curve::hill(2.0, number), "steepness");
        bad(Curve::logistic(1.0, number), "width");
        bad(Curve::power(number, 1.0), "exponent");
        bad(Curve::custom(Arc::new(|x: f64| x), DeclaredShape::Lipschitz(number)), "lipschitz");
    }
    for number in [-1.0, f64::NAN, f64::INFINITY] {
        bad(Curve::logistic(number, 1.0), "mid");
        bad(Curve::threshold(number), "at");
        bad(Curve::empirical(vec![1.0, number]), "samples[1]");
        bad(Curve::steps(vec![1.0, number], vec![0.1, 0.2]), "at[1]");
        bad(Curve::steps(vec![1.0, 2.0], vec![0.1, number]), "success[1]");
    }
    bad(Curve::power(1.5, 1.0), "exponent");
    bad(Curve::empirical(vec![]), "samples");
    bad(Curve::steps(vec![], vec![]), "at");
    bad(Curve::steps(vec![1.0], vec![0.1, 0.2]), "success");
    bad(Curve::steps(vec![2.0, 1.0], vec![0.1, 0.2]), "at[1]");
    bad(Curve::steps(vec![1.0, 2.0], vec![0.2, 0.1]), "success[1]");
    bad(Curve::piecewise(vec![1.0, 2.0], vec![0.1, 0.2]), "spend[0]");
    bad(Curve::piecewise(vec![0.0, 2.0], vec![0.1, 1.2]), "success[1]");
    bad(Curve::saturating(1.0).and_then(|curve| curve.with_ceiling(1.5)), "ceiling");
    bad(Curve::saturating(1.0).and_then(|curve| curve.with_floor(-0.5)), "floor");
    bad(
        Curve::saturating(1.0)
            .and_then(|curve| curve.with_ceiling(0.5))
            .and_then(|curve| curve.with_floor(0.6)),
        "floor",
    );
}

#[test]
fn diminishing_returns_hold_exactly_as_in_the_paper() {
    let holds = |curve: Curve| curve.diminishing_returns_failures(10.0).is_empty();
    assert!(holds(Curve::power(0.5, 10.0).unwrap()));
    assert!(holds(Curve::power(0.5, 20.0).unwrap()));
    assert!(holds(Curve::hill(3.0, 0.5).unwrap()));
    assert!(!holds(Curve::power(0.5, 9.0).unwrap()), "flat from 9 on");
    assert!(!holds(Curve::power(1.0, 10.0).unwrap()));
    for (name, curve) in every_curve() {
        let strong = name == "power"
            || name == "power, nearly linear"
            || name == "power, steep"
            || name == "hill, concave";
        let scale_reaches = curve.saturates_at() >= 10.0;
        assert_eq!(holds(curve), strong && scale_reaches, "{name}");
    }
}

/// `scaled(s)` is F(x / s) for every family. Jumps are compared at spends that rounding cannot move
/// across them.
#[test]
fn scaled_curves_are_those_of_the_scaled_spend() {
    for (name, curve) in every_curve() {
        assert_eq!(curve.scaled(1.0).unwrap(), curve, "{name}");
        for scale in [0.5, 2.0, 1.3, 0.007, 168.0, 1e6, 1e-6] {
            let scaled = curve.scaled(scale).unwrap();
            let is_power_of_two = scale == 0.5 || scale == 2.0;
            for spend in spends().filter(|spend| *spend < 1e250) {
                let spend = spend + 1e-7;
                let (found, expected) = (scaled.success(spend * scale), curve.success(spend));
                let error = if is_power_of_two { 0.0 } else { 1e-12 };
                let distance = (found - expected).abs();
                assert!(distance <= error, "{name} × {scale} at {spend}: {found} {expected}");
            }
            assert_eq!(scaled.shape(), curve.scaled(scale).unwrap().shape(), "{name}");
            assert_eq!((scaled.floor(), scaled.ceiling()), (curve.floor(), curve.ceiling()));
        }
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(curve.scaled(scale).is_err(), "{name} × {scale}");
        }
    }
}

/// A declared Lipschitz constant shrinks as the curve is stretched, and rounding joins steps.
#[test]
fn scaled_curves_keep_their_declarations() {
    let slope = Curve::custom(Arc::new(|x: f64| (2.0 * x).min(1.0)), DeclaredShape::Lipschitz(2.0));
    let scaled = slope.unwrap().scaled(4.0).unwrap();
    assert!(format!("{:?}", scaled.family()).contains("Lipschitz(0.5)"), "{scaled:?}");
    let near = Curve::steps(vec![1.0, 1.0 + f64::EPSILON], vec![0.2, 0.5]).unwrap();
    assert_eq!(near.scaled(0.9).unwrap().success(0.91), 0.5);
    assert!(Curve::exponential(1e99).unwrap().scaled(100.0).is_err());
}
