//! For any log the fitted curve is a valid curve, and nothing depends on the unit of money.

use outlay::Curve;
use outlay::fit::{
    Choice, Family, Fitted, Observations, Options, Requirements, confidence_band, fit,
    fit_requirements,
};
use proptest::prelude::*;

fn choices() -> impl Strategy<Value = Choice> {
    let one = (0..Family::ALL.len()).prop_map(|position| Choice::One(Family::ALL[position]));
    prop_oneof![Just(Choice::Auto), one]
}

/// Rows of spend, trials and successes: none, one, many; equal spends, zero spends, spends of every
/// size; only failures, only successes.
fn logs() -> impl Strategy<Value = Vec<(f64, f64, f64)>> {
    let spend =
        prop_oneof![Just(0.0), Just(7.0), 0.0..100.0_f64, (-200.0..200.0_f64).prop_map(f64::exp)];
    let row = (spend, 0_u32..6, 0.0..1.0_f64);
    let luck = prop_oneof![Just(0.0), Just(1.0), 0.0..1.0_f64];
    (prop::collection::vec(row, 0..25), luck).prop_map(|(rows, luck)| {
        let counted = |(spend, trials, own): (f64, u32, f64)| {
            let successes = if luck == 0.0 || luck == 1.0 { luck } else { own };
            (spend, f64::from(trials), (f64::from(trials) * successes).round())
        };
        rows.into_iter().map(counted).collect()
    })
}

/// Checks that a curve is finite, within 0 and 1, nondecreasing, and equal after writing and
/// reading it.
fn is_sound(curve: &Curve, spends: &[f64]) -> Result<(), TestCaseError> {
    let mut places: Vec<f64> = spends
        .iter()
        .flat_map(|&spend| [0.5 * spend, spend, spend * (1.0 + 1e-9), 3.0 * spend])
        .collect();
    places.extend([0.0, 1e-300, 1e-3, 1.0, 1e9, 1e300]);
    places.sort_by(f64::total_cmp);
    let mut before = 0.0;
    for place in places {
        let success = curve.success(place);
        prop_assert!((0.0..=1.0).contains(&success), "{success} at {place} of {curve:?}");
        prop_assert!(success >= before - 1e-15, "{success} at {place} after {before} of {curve:?}");
        before = success;
    }
    Ok(())
}

fn has_no_nan(fitted: &Fitted) -> Result<(), TestCaseError> {
    let parameters = fitted
        .parameters
        .iter()
        .flat_map(|parameter| [Some(parameter.value), parameter.low, parameter.high]);
    let candidates = fitted
        .candidates
        .iter()
        .flat_map(|candidate| [candidate.log_loss, candidate.worse_by, candidate.error])
        .map(Some);
    let others = [fitted.log_loss, fitted.constant_log_loss, fitted.calibration];
    for number in parameters.chain(candidates).chain(others).flatten() {
        prop_assert!(!number.is_nan(), "{fitted:?}");
    }
    for parameter in &fitted.parameters {
        prop_assert!(
            parameter.low.is_none_or(|low| low <= parameter.value * (1.0 + 1e-9)),
            "{parameter:?}"
        );
        prop_assert!(
            parameter.high.is_none_or(|high| high >= parameter.value * (1.0 - 1e-9)),
            "{parameter:?}"
        );
    }
    prop_assert!(
        fitted.warnings.iter().all(|warning| !warning.to_string().contains("NaN")),
        "{:?}",
        fitted.warnings
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_log_gives_a_curve_or_is_empty(rows in logs(), choice in choices(), ceiling: bool, floor: bool) {
        let log = Observations::new(rows.iter().copied()).unwrap();
        let options = Options { ceiling, floor, folds: 3, bootstrap: 5, budget: Some(50.0), ..Options::default() };
        let Ok(fitted) = fit(&log, choice, &options) else {
            prop_assert!(log.is_empty());
            return Ok(());
        };
        let spends: Vec<f64> = rows.iter().map(|row| row.0).collect();
        is_sound(&fitted.curve, &spends)?;
        has_no_nan(&fitted)?;
        for interval in confidence_band(&log, &fitted, &spends, &options) {
            prop_assert!(0.0 <= interval.low && interval.low <= interval.high && interval.high <= 1.0);
        }
    }

    #[test]
    fn every_list_of_needs_gives_a_curve(rows in prop::collection::vec((0.0..50.0_f64, any::<bool>()), 0..40), round: bool) {
        let rows: Vec<(f64, bool)> = rows.into_iter().map(|(amount, exact)| (if round { amount.round() } else { amount }, exact)).collect();
        let needs = Requirements::new(rows.iter().copied()).unwrap();
        let Ok(fitted) = fit_requirements(&needs, &Options::default()) else {
            prop_assert!(rows.is_empty());
            return Ok(());
        };
        is_sound(&fitted.curve, &rows.iter().map(|row| row.0).collect::<Vec<_>>())?;
        has_no_nan(&fitted)?;
    }

    #[test]
    fn the_unit_does_not_matter(rows in logs(), choice in choices(), power in -6.0..6.0_f64) {
        let rows: Vec<(f64, f64, f64)> = rows.into_iter().map(|(spend, trials, successes)| (spend.min(1e6), trials, successes)).collect();
        let factor = 10_f64.powf(power);
        let log = |factor: f64| Observations::new(rows.iter().map(|&(spend, trials, successes)| (spend * factor, trials, successes))).unwrap();
        let options = Options { folds: 2, ..Options::default() };
        let (Ok(here), Ok(there)) = (fit(&log(1.0), choice, &options), fit(&log(factor), choice, &options)) else { return Ok(()) };
        prop_assert_eq!(here.kind, there.kind);
        for &(spend, ..) in &rows {
            let (one, other) = (here.curve.success(spend), there.curve.success(factor * spend));
            prop_assert!((one - other).abs() < 1e-6, "{} {} at {}: {:?} {:?}", one, other, spend, here.curve, there.curve);
        }
    }
}

/// Three spends, four numbers to fit: several families pass through the same points, and their
/// losses differ by rounding alone.
#[test]
fn the_unit_does_not_choose_between_indistinguishable_forms() {
    let rows = [
        (56.737334592962235, 1.0, 0.0),
        (94.97779616774027, 1.0, 1.0),
        (7.0, 13.0, 9.0),
        (0.0, 7.0, 1.0),
    ];
    let kind = |factor: f64| {
        let log = Observations::new(
            rows.iter().map(|&(spend, trials, successes)| (spend * factor, trials, successes)),
        )
        .unwrap();
        fit(&log, Choice::Auto, &Options { folds: 2, ..Options::default() }).unwrap().kind
    };
    let here = kind(1.0);
    for power in -60..=60 {
        assert_eq!(kind(10_f64.powf(f64::from(power) / 10.0)), here, "{power}");
    }
}

/// The likelihood at every point of a dense grid is at most that of the fit.
#[test]
fn no_point_of_a_grid_is_more_likely() {
    let rows = [
        (5.0, 40.0, 2.0),
        (20.0, 40.0, 11.0),
        (35.0, 40.0, 16.0),
        (60.0, 40.0, 27.0),
        (90.0, 40.0, 33.0),
        (120.0, 40.0, 36.0),
    ];
    let log = Observations::new(rows).unwrap();
    let likelihood = |curve: &Curve| -> f64 {
        let term = |count: f64, chance: f64| if count > 0.0 { count * chance.ln() } else { 0.0 };
        rows.iter()
            .map(|&(spend, trials, successes)| {
                term(successes, curve.success(spend))
                    + term(trials - successes, 1.0 - curve.success(spend))
            })
            .sum()
    };
    let steps = |low: f64, high: f64| {
        (0..=300).map(move |step| low * (high / low).powf(f64::from(step) / 300.0))
    };
    let unit = || (0..=200).map(|step| 0.005 + 0.995 * f64::from(step) / 200.0);
    let grids: [(Family, Vec<Curve>); 5] = [
        (
            Family::Saturating,
            steps(1.0, 1e5).map(|full_at| Curve::saturating(full_at).unwrap()).collect(),
        ),
        (
            Family::Exponential,
            steps(1.0, 1e5).map(|scale| Curve::exponential(scale).unwrap()).collect(),
        ),
        (
            Family::Power,
            unit()
                .flat_map(|exponent| {
                    steps(50.0, 1e5).map(move |scale| Curve::power(exponent, scale).unwrap())
                })
                .collect(),
        ),
        (
            Family::Hill,
            steps(1.0, 1e3)
                .flat_map(|half_at| steps(0.1, 20.0).map(move |s| Curve::hill(half_at, s).unwrap()))
                .collect(),
        ),
        (
            Family::Logistic,
            steps(0.1, 300.0)
                .flat_map(|mid| {
                    steps(1.0, 200.0).map(move |width| Curve::logistic(mid, width).unwrap())
                })
                .collect(),
        ),
    ];
    for (family, grid) in grids {
        let fitted = fit(&log, Choice::One(family), &Options::default()).unwrap();
        let best = grid.iter().map(&likelihood).fold(f64::NEG_INFINITY, f64::max);
        let found = likelihood(&fitted.curve);
        assert!(found >= best - 1e-9, "{family:?}: {found} {best}");
        // The grid comes close, so the comparison is meaningful.
        assert!(best > found - 0.05, "{family:?}: {found} {best}");
    }
}

/// Typical logs and their expected warnings.
#[test]
fn uninformative_logs_have_distinct_warnings() {
    let fitted = |rows: &[(f64, f64, f64)]| {
        let log = Observations::new(rows.iter().copied()).unwrap();
        fit(&log, Choice::Auto, &Options { budget: Some(100.0), ..Options::default() }).unwrap()
    };
    let warnings = |rows: &[(f64, f64, f64)]| {
        fitted(rows).warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(
        warnings(&[(10.0, 5.0, 0.0), (100.0, 5.0, 0.0)]),
        "only failures in 10 trials: a guess that assumes half a success"
    );
    assert_eq!(
        warnings(&[(10.0, 5.0, 5.0), (50.0, 5.0, 5.0)]),
        "only successes in 10 trials: a guess that assumes half a failure; extrapolates from 50 on"
    );
    assert!(
        warnings(&[(0.0, 50.0, 10.0), (100.0, 50.0, 30.0)])
            .contains("successes at zero spend: a floor was fitted")
    );
    assert!(
        warnings(&[(40.0, 50.0, 10.0)]).contains("every trial spends 40: the shape is a guess")
    );
    assert!(
        warnings(&[(10.0, 500.0, 300.0), (50.0, 500.0, 400.0), (100.0, 500.0, 100.0)])
            .contains("success decreases between 50 and 100")
    );
    assert_eq!(
        fit(&Observations::default(), Choice::Auto, &Options::default()).unwrap_err().to_string(),
        "the log is empty"
    );
}
