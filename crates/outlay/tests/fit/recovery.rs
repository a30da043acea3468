//! Fits of simulated logs recover the true curve, and their intervals have the stated coverage.

use outlay::Curve;
use outlay::fit::{
    Choice, Family, Fitted, Kind, Observations, Options, Requirements, fit, fit_requirements,
};
use outlay::random::{Draws, Purpose};

const SEEDS: u64 = 200;

/// A log of `rows` spends drawn evenly between 0 and `largest`, with successes by the curve.
fn simulated(curve: &Curve, rows: usize, largest: f64, seed: u64) -> Observations {
    let draws = Draws::new(seed, Purpose::Completion);
    let row = |row: usize| {
        let spend = largest * draws.round(row as u64 + 1).uniform(0);
        (spend, draws.round(row as u64 + 1).uniform(1) < curve.success(spend))
    };
    Observations::of_outcomes((0..rows).map(row)).unwrap()
}

fn fitted(log: &Observations, family: Family, options: &Options) -> Fitted {
    // Two folds are enough, because only the parameters are tested.
    fit(log, Choice::One(family), &Options { folds: 2, ..options.clone() }).unwrap()
}

/// The number of seeds for which each parameter's interval contains its true value.
fn covered(truth: &[(&str, f64)], fit: impl Fn(u64) -> Fitted) -> Vec<usize> {
    let mut covered = vec![0; truth.len()];
    for seed in 0..SEEDS {
        let fitted = fit(seed);
        for (count, &(name, value)) in covered.iter_mut().zip(truth) {
            let parameter =
                fitted.parameters.iter().find(|parameter| parameter.name == name).unwrap();
            let inside = parameter.low.is_none_or(|low| low <= value)
                && parameter.high.is_none_or(|high| value <= high);
            *count += usize::from(inside);
        }
    }
    covered
}

#[track_caller]
fn recovers(curve: &Curve, rows: usize, family: Family, truth: &[(&str, f64)], options: &Options) {
    let counts =
        covered(truth, |seed| fitted(&simulated(curve, rows, 100.0, seed), family, options));
    println!("{family:?} {rows}: {truth:?} {counts:?}");
    for ((name, _), count) in truth.iter().zip(counts) {
        let share = count as f64 / SEEDS as f64;
        assert!((0.90..=0.99).contains(&share), "{family:?} {name}: {share}");
    }
}

#[test]
fn power() {
    let options = Options::default();
    recovers(
        &Curve::power(0.5, 130.0).unwrap(),
        500,
        Family::Power,
        &[("exponent", 0.5), ("scale", 130.0)],
        &options,
    );
    recovers(
        &Curve::power(0.5, 80.0).unwrap(),
        500,
        Family::Power,
        &[("exponent", 0.5), ("scale", 80.0)],
        &options,
    );
}

#[test]
fn saturating() {
    let options = Options::default();
    recovers(
        &Curve::saturating(150.0).unwrap(),
        500,
        Family::Saturating,
        &[("full_at", 150.0)],
        &options,
    );
    recovers(
        &Curve::saturating(60.0).unwrap(),
        500,
        Family::Saturating,
        &[("full_at", 60.0)],
        &options,
    );
}

#[test]
fn exponential() {
    recovers(
        &Curve::exponential(40.0).unwrap(),
        500,
        Family::Exponential,
        &[("scale", 40.0)],
        &Options::default(),
    );
}

#[test]
fn hill() {
    recovers(
        &Curve::hill(45.0, 2.5).unwrap(),
        500,
        Family::Hill,
        &[("half_at", 45.0), ("steepness", 2.5)],
        &Options::default(),
    );
}

#[test]
fn logistic() {
    recovers(
        &Curve::logistic(50.0, 12.0).unwrap(),
        500,
        Family::Logistic,
        &[("mid", 50.0), ("width", 12.0)],
        &Options::default(),
    );
}

#[test]
fn ceilings() {
    let options = Options { ceiling: true, ..Options::default() };
    let truth = [("half_at", 30.0), ("steepness", 2.5), ("ceiling", 0.7)];
    recovers(
        &Curve::hill(30.0, 2.5).unwrap().with_ceiling(0.7).unwrap(),
        1000,
        Family::Hill,
        &truth,
        &options,
    );
    let truth = [("scale", 20.0), ("ceiling", 0.6)];
    recovers(
        &Curve::exponential(20.0).unwrap().with_ceiling(0.6).unwrap(),
        1000,
        Family::Exponential,
        &truth,
        &options,
    );
}

#[test]
fn threshold() {
    let curve = Curve::threshold(40.0).unwrap().with_ceiling(0.8).unwrap().with_floor(0.2).unwrap();
    recovers(
        &curve,
        500,
        Family::Threshold,
        &[("at", 40.0), ("ceiling", 0.8), ("floor", 0.2)],
        &Options::default(),
    );
}

/// Exponentially distributed requirements, a third of them censored.
#[test]
fn empirical() {
    let counts = covered(&[("median", 40.0 * std::f64::consts::LN_2)], |seed| {
        let draws = Draws::new(seed, Purpose::Completion);
        let row = |row: u64| {
            let need = -40.0 * (1.0 - draws.round(row).uniform(0)).ln();
            let stopped = -80.0 * (1.0 - draws.round(row).uniform(1)).ln();
            (need.min(stopped), need <= stopped)
        };
        fit_requirements(&Requirements::new((1..=300).map(row)).unwrap(), &Options::default())
            .unwrap()
    });
    println!("empirical {counts:?}");
    let share = counts[0] as f64 / SEEDS as f64;
    assert!((0.90..=0.99).contains(&share), "{share}");
}

/// With many rows the true family is selected: neither one that overfits nor one that is too
/// simple.
#[test]
fn auto_finds_the_family() {
    let truth = [
        (Family::Power, false, Curve::power(0.5, 250.0).unwrap()),
        (Family::Exponential, false, Curve::exponential(40.0).unwrap()),
        (Family::Exponential, true, Curve::exponential(15.0).unwrap().with_ceiling(0.6).unwrap()),
        (Family::Hill, true, Curve::hill(30.0, 2.5).unwrap().with_ceiling(0.8).unwrap()),
        (Family::Logistic, false, Curve::logistic(50.0, 8.0).unwrap()),
        (
            Family::Threshold,
            false,
            Curve::threshold(40.0).unwrap().with_ceiling(0.8).unwrap().with_floor(0.2).unwrap(),
        ),
    ];
    for (family, ceiling, curve) in truth {
        let draws = Draws::new(7, Purpose::Completion);
        // Rounded spends: rows are pooled, and every fold has every spend.
        let row = |row: u64| {
            let spend = (100.0 * draws.round(row).uniform(0)).round();
            (spend, draws.round(row).uniform(1) < curve.success(spend))
        };
        let log = Observations::of_outcomes((1..=60_000).map(row)).unwrap();
        let fitted = fit(&log, Choice::Auto, &Options::default()).unwrap();
        let Kind::Fitted(form) = fitted.kind else { panic!("{fitted:?}") };
        assert_eq!((form.family, form.ceiling), (family, ceiling), "{:?}", fitted.reason());
    }
}
