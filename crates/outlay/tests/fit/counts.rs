//! Fits of counts: exact small logs, recovery of the truth, coverage of the intervals, and logs
//! that do not determine the volume.

use outlay::Curve;
use outlay::fit::{
    Choice, CountFit, CountLog, Family, FitError, Fitted, Kind, Options, Warning, fit_counts,
};
use outlay::problem::CompletionLaw;
use outlay::random::{Draws, Purpose};

/// A count with this mean whose variance is `dispersion` times the mean, by inversion.
fn drawn_count(mean: f64, dispersion: f64, uniform: f64) -> f64 {
    let excess = dispersion - 1.0;
    let mut chance = if excess > 0.0 { dispersion.powf(-mean / excess) } else { (-mean).exp() };
    let (mut count, mut left) = (0.0, uniform - chance);
    while left >= 0.0 && count < 1e5 {
        chance *= if excess > 0.0 {
            (count + mean / excess) / (count + 1.0) * excess / dispersion
        } else {
            mean / (count + 1.0)
        };
        count += 1.0;
        left -= chance;
    }
    count
}

/// A log with spends between 0 and 100, drawn evenly.
fn simulated(curve: &Curve, volume: f64, dispersion: f64, rows: u64, seed: u64) -> CountLog {
    let draws = Draws::new(seed, Purpose::Completion);
    let row = |row: u64| {
        let spend = 100.0 * draws.round(row).uniform(0);
        let mean = volume * curve.success(spend);
        (spend, drawn_count(mean, dispersion, draws.round(row).uniform(1)))
    };
    CountLog::new((1..=rows).map(row)).unwrap()
}

fn fitted(log: &CountLog, family: Family) -> Fitted {
    // Two folds are enough, because only the parameters are tested.
    let options = Options { folds: 2, ..Options::default() };
    fit_counts(log, Choice::One(family), &options).unwrap()
}

/// A family with a curve of it and the true parameters.
type Truth = (Family, Curve, Vec<(&'static str, f64)>);

fn truths() -> Vec<Truth> {
    vec![
        (
            Family::Power,
            Curve::power(0.5, 100.0).unwrap(),
            vec![("exponent", 0.5), ("volume", 60.0)],
        ),
        (
            Family::Saturating,
            Curve::saturating(60.0).unwrap(),
            vec![("full_at", 60.0), ("volume", 60.0)],
        ),
        (
            Family::Exponential,
            Curve::exponential(30.0).unwrap(),
            vec![("scale", 30.0), ("volume", 60.0)],
        ),
        (
            Family::Hill,
            Curve::hill(35.0, 2.5).unwrap(),
            vec![("half_at", 35.0), ("steepness", 2.5), ("volume", 60.0)],
        ),
        (
            Family::Logistic,
            Curve::logistic(40.0, 9.0).unwrap(),
            vec![("mid", 40.0), ("width", 9.0), ("volume", 60.0)],
        ),
        (
            Family::Exponential,
            Curve::exponential(30.0).unwrap().with_floor(0.2).unwrap(),
            vec![("scale", 30.0), ("volume", 60.0), ("floor", 0.2)],
        ),
    ]
}

/// The parameter of a power curve is the volume at its scale, which is the largest spend.
fn true_value(name: &str, value: f64, family: Family, log: &CountLog) -> f64 {
    let (_, largest) = log.range().unwrap();
    if family == Family::Power && name == "volume" {
        value * (largest / 100.0).sqrt()
    } else {
        value
    }
}

#[test]
fn parameters_are_recovered() {
    for (family, curve, truth) in truths() {
        for dispersion in [1.0, 3.0] {
            let log = simulated(&curve, 60.0, dispersion, 8000, 5);
            let fitted = fitted(&log, family);
            let found = fitted.counts.unwrap().dispersion;
            assert!((found / dispersion - 1.0).abs() < 0.06, "{family:?}: dispersion {found}");
            for (name, value) in truth.clone() {
                let parameter = fitted.parameters.iter().find(|one| one.name == name).unwrap();
                let value = true_value(name, value, family, &log);
                assert!(
                    (parameter.value / value - 1.0).abs() < 0.06,
                    "{family:?}: {name} {} {value}",
                    parameter.value
                );
            }
        }
    }
}

/// Checks the share of seeds whose intervals contain the truth.
#[track_caller]
fn check_coverage(seeds: u64, shares: std::ops::RangeInclusive<f64>) {
    for (family, curve, truth) in truths() {
        for dispersion in [1.0, 3.0] {
            let mut covered = vec![0_usize; truth.len()];
            for seed in 0..seeds {
                let log = simulated(&curve, 60.0, dispersion, 400, seed);
                let fitted = fitted(&log, family);
                for (count, (name, value)) in covered.iter_mut().zip(&truth) {
                    let parameter = fitted.parameters.iter().find(|one| one.name == *name).unwrap();
                    let value = true_value(name, *value, family, &log);
                    *count += usize::from(
                        parameter.low.is_none_or(|low| low <= value)
                            && parameter.high.is_none_or(|high| value <= high),
                    );
                }
            }
            println!("{family:?} dispersion {dispersion}: {truth:?} {covered:?} of {seeds}");
            for ((name, _), count) in truth.iter().zip(covered) {
                let share = count as f64 / seeds as f64;
                assert!(shares.contains(&share), "{family:?} {dispersion} {name}: {share}");
            }
        }
    }
}

#[test]
fn most_intervals_contain_the_truth() {
    check_coverage(20, 0.8..=1.0);
}

#[test]
#[ignore = "takes minutes: 200 seeds for each family"]
fn intervals_have_their_coverage() {
    check_coverage(200, 0.90..=0.99);
}

#[test]
fn two_spends_are_fitted_exactly() {
    let log = CountLog::new([(10.0, 5.0), (10.0, 7.0), (20.0, 8.0), (20.0, 10.0)]).unwrap();
    // 1 - q = 2/3 (1 - q^2) gives q = 1/2: the volume is 12 and the scale 10 / ln 2.
    let fitted = fitted(&log, Family::Exponential);
    let counts = fitted.counts.unwrap();
    assert!((counts.volume - 12.0).abs() < 1e-6, "{counts:?}");
    assert!((fitted.curve.success(10.0) - 0.5).abs() < 1e-6);
    // (1 + 1) / 6 + (1 + 1) / 9 with two degrees of freedom.
    assert!((counts.pearson - 5.0 / 9.0).abs() < 1e-6, "{counts:?}");
    assert_eq!((counts.freedom, counts.dispersion), (2.0, 1.0));
}

#[test]
fn overdispersion_widens_the_intervals() {
    let curve = Curve::exponential(30.0).unwrap();
    let width = |dispersion: f64| {
        let fitted = fitted(&simulated(&curve, 60.0, dispersion, 500, 2), Family::Exponential);
        let volume = fitted.parameters.iter().find(|one| one.name == "volume").unwrap();
        (volume.high.unwrap() - volume.low.unwrap()) / volume.value
    };
    let ratio = width(9.0) / width(1.0);
    assert!((2.3..4.0).contains(&ratio), "{ratio}");
}

/// A log that covers only the part where counts are proportional to the spend.
#[test]
fn an_unseen_limit_is_reported() {
    let curve = Curve::exponential(5000.0).unwrap();
    for family in [Family::Exponential, Family::Hill, Family::Saturating, Family::Logistic] {
        let fitted = fitted(&simulated(&curve, 2000.0, 1.0, 400, 3), family);
        let warned = fitted
            .warnings
            .iter()
            .any(|warning| matches!(warning, Warning::NoLimit { .. } | Warning::WideVolume { .. }));
        assert!(warned, "{family:?}: {:?} {:?}", fitted.parameters, fitted.warnings);
        let counts = fitted.counts.unwrap();
        // Within the log, the curve is right nevertheless.
        let half = counts.volume * fitted.curve.success(50.0);
        assert!((half / (2000.0 * curve.success(50.0)) - 1.0).abs() < 0.05, "{family:?}: {half}");
    }
}

#[test]
fn a_floor_is_fitted_if_it_is_significant() {
    let plain = Curve::exponential(30.0).unwrap();
    let floored = Curve::exponential(30.0).unwrap().with_floor(0.3).unwrap();
    let has_floor = |curve: &Curve, seed: u64| {
        let fitted = fitted(&simulated(curve, 60.0, 2.0, 400, seed), Family::Exponential);
        let Kind::Fitted(form) = fitted.kind else { panic!("{fitted:?}") };
        form.floor
    };
    assert!((0..20).all(|seed| has_floor(&floored, seed)));
    assert!((0..20).filter(|&seed| has_floor(&plain, seed)).count() <= 2);
    // Completions at zero spend always need one.
    let log = CountLog::new([(0.0, 1.0), (1.0, 5.0), (2.0, 9.0), (3.0, 11.0)]).unwrap();
    let fitted = fitted(&log, Family::Exponential);
    assert!(fitted.curve.success(0.0) > 0.0);
    assert!(fitted.warnings.contains(&Warning::FreeCompletions));
}

#[test]
fn auto_finds_the_family() {
    for (family, curve, _) in truths().into_iter().take(5) {
        let log = simulated(&curve, 60.0, 2.0, 6000, 9);
        let fitted = fit_counts(&log, Choice::Auto, &Options::default()).unwrap();
        let Kind::Fitted(form) = fitted.kind else { panic!("{fitted:?}") };
        assert_eq!(form.family, family, "{:?}", fitted.reason());
        assert!(fitted.calibration.unwrap() > 0.001, "{fitted:?}");
    }
}

#[test]
fn unusual_logs_have_clear_results() {
    let options = Options::default();
    let fit = |rows: &[(f64, f64)]| {
        fit_counts(&CountLog::new(rows.iter().copied()).unwrap(), Choice::Auto, &options)
    };
    assert_eq!(fit(&[]), Err(FitError::NoData));
    // No completions: half of one is assumed.
    let none = fit(&[(1.0, 0.0), (3.0, 0.0)]).unwrap();
    let expected: f64 = [1.0, 3.0]
        .iter()
        .map(|&spend| none.counts.unwrap().volume * none.curve.success(spend))
        .sum();
    assert_eq!(none.kind, Kind::Guess);
    assert!((expected - 0.5).abs() < 1e-12);
    // One spend: a straight line up to it.
    let one = fit(&[(4.0, 6.0), (4.0, 10.0)]).unwrap();
    assert_eq!((one.counts.unwrap().volume, one.curve.success(2.0)), (8.0, 0.5));
    assert!(one.warnings.contains(&Warning::OneSpend { spend: 4.0 }));
    // Zero spends only: a constant.
    let free = fit(&[(0.0, 6.0), (0.0, 10.0)]).unwrap();
    assert_eq!((free.counts.unwrap().volume, free.curve.success(0.0)), (8.0, 1.0));
    // Extreme numbers.
    for rows in [
        &[(1e-9, 1.0), (1e9, 1e6), (2e9, 1.0)][..],
        &[(1.0, 1e12), (2.0, 0.0), (3.0, 1e12)],
        &[(1.0, 0.0), (2.0, 0.0), (3.0, 1.0)],
    ] {
        let fitted = fit(rows).unwrap();
        let counts = fitted.counts.unwrap();
        assert!(counts.volume > 0.0 && counts.dispersion.is_finite(), "{rows:?} {counts:?}");
    }
    let log = CountLog::new([(1.0, 1.0), (2.0, 3.0)]).unwrap();
    let refused = fit_counts(&log, Choice::One(Family::Threshold), &options);
    assert_eq!(refused, Err(FitError::CountsWithStep));
}

#[test]
fn the_order_of_rows_and_the_unit_do_not_matter() {
    let curve = Curve::hill(35.0, 2.5).unwrap();
    let log = simulated(&curve, 60.0, 2.0, 300, 4);
    let rows: Vec<(f64, f64)> =
        log.groups().iter().map(|group| (group.spend, group.count)).collect();
    let options = Options::default();
    let whole = fit_counts(&log, Choice::Auto, &options).unwrap();
    let reversed = CountLog::new(rows.iter().rev().copied()).unwrap();
    assert_eq!(whole, fit_counts(&reversed, Choice::Auto, &options).unwrap());
    let cents = CountLog::new(rows.iter().map(|&(spend, count)| (100.0 * spend, count))).unwrap();
    let other = fit_counts(&cents, Choice::Auto, &options).unwrap();
    assert_eq!(whole.kind, other.kind);
    let (one, other) = (whole.curve.success(40.0), other.curve.success(4000.0));
    assert!((one - other).abs() < 1e-6, "{one} {other}");
}

#[test]
fn the_law_of_completions_has_the_common_dispersion() {
    let fit = |pearson: f64| CountFit { volume: 1.0, dispersion: 1.0, pearson, freedom: 500.0 };
    let law = CountFit::completion_law(&[fit(900.0), fit(1100.0)]);
    assert_eq!(law, CompletionLaw::NegativeBinomial { dispersion: 2.0 });
    assert_eq!(CountFit::completion_law(&[fit(510.0), fit(490.0)]), CompletionLaw::Poisson);
    assert_eq!(CountFit::completion_law(&[]), CompletionLaw::Poisson);
}
