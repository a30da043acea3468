//! Sparse rounds next to full ones.

use super::{SparseError, SparseRounds};
use crate::curve::Curve;
use crate::oracle::numbers_for_tests::Random;
use crate::problem::{Problem, ProblemSpec, TaskSpec};
use crate::{Options, Oracle};

fn problem(tasks: usize, has_bounds: bool, random: &mut Random) -> Problem {
    let share = 1.0 / tasks as f64;
    let tasks = (0..tasks).map(|task| {
        let scale = share * random.between(0.3, 5.0);
        let curve = match (4.0 * random.uniform()) as usize {
            0 => Curve::power(random.between(0.1, 0.9), random.between(0.4, 4.0)),
            1 => Curve::exponential(scale),
            2 => Curve::saturating(scale),
            _ => Curve::power(1.0, scale),
        };
        let mut spec = TaskSpec::new(format!("t{task}"), curve.unwrap());
        if has_bounds {
            spec.curve = spec.curve.with_floor(random.between(0.0, 0.2)).unwrap();
            spec.min =
                Some(if random.uniform() < 0.3 { share * random.between(0.0, 0.5) } else { 0.0 });
            spec.max =
                if random.uniform() < 0.3 { Some(share * random.between(0.5, 3.0)) } else { None };
        }
        spec
    });
    ProblemSpec { tasks: tasks.collect(), ..ProblemSpec::default() }.check().unwrap()
}

#[test]
fn rounds_agree_with_full_ones() {
    for (tasks, has_bounds) in [(2, false), (40, false), (41, true), (3000, false), (2999, true)] {
        let mut random = Random(tasks as u64);
        let problem = problem(tasks, has_bounds, &mut random);
        let mut values: Vec<f64> = (0..tasks).map(|_| random.between(0.05, 1.0)).collect();
        let mut rounds = SparseRounds::new(&problem, &values, 1.0).unwrap();
        let mut oracle = Oracle::new(&problem);
        let mut by_sums = 0;
        for round in 0..200 {
            let reach = if round % 50 == 49 { 0.5 } else { 0.01 };
            let changes: Vec<(usize, f64)> = (0..1 + tasks / 100)
                .map(|_| {
                    let task = (random.uniform() * tasks as f64) as usize;
                    let value = if random.uniform() < 0.02 {
                        0.0
                    } else {
                        values[task].max(0.05) * (1.0 + reach * random.between(-1.0, 1.0))
                    };
                    values[task] = value;
                    (task, value)
                })
                .collect();
            let budget = if round % 17 == 16 { 1.01 } else { 1.0 };
            let anchor = rounds.anchor_log;
            let certificate = rounds.change(&changes, budget).unwrap();
            by_sums += usize::from(rounds.anchor_log == anchor);
            let full = oracle.allocate(&values, budget, &Options::default()).unwrap();
            assert!(
                certificate.value <= full.upper_bound && certificate.upper_bound >= full.value,
                "{certificate:?} {full:?}"
            );
            assert!(
                certificate.upper_bound - certificate.value <= 2e-13 * full.value,
                "round {round}: {certificate:?}"
            );
            let spent: f64 = (0..tasks).map(|task| rounds.spend_of(task)).sum();
            assert!((spent - budget).abs() <= 1e-11 * budget, "round {round} of {tasks}: {spent}");
            let worth: f64 = problem
                .tasks()
                .iter()
                .zip(&values)
                .enumerate()
                .map(|(task, (spec, value))| value * spec.curve().success(rounds.spend_of(task)))
                .sum();
            assert!(
                (worth - full.value).abs() <= 1e-11 * full.value,
                "round {round}: {worth} {}",
                full.value
            );
        }
        assert!(by_sums >= if tasks > 1000 { 150 } else { 0 }, "{by_sums} rounds of {tasks} tasks");
        let full = oracle
            .allocate(&values, rounds.certificate().budget, &Options::default())
            .unwrap()
            .value;
        assert!((rounds.allocation().unwrap().value - full).abs() <= 1e-12 * full);
    }
}

#[test]
fn what_cannot_be_is_told_and_changes_nothing() {
    let mut random = Random(3);
    let problem = problem(50, false, &mut random);
    let values = vec![0.5; 50];
    let mut rounds = SparseRounds::new(&problem, &values, 1.0).unwrap();
    let before = rounds.certificate();
    for (changes, budget, message) in [
        (vec![(3, 0.7), (50, 0.5)], 1.0, "values[50]: there are 50 tasks"),
        (vec![(3, 0.7), (4, -1.0)], 1.0, "values[4]: must be finite and not negative, not -1"),
        (vec![(3, f64::NAN)], 1.0, "values[3]: must be finite and not negative, not NaN"),
        (vec![], f64::INFINITY, "budget: must be finite and not negative, not inf"),
    ] {
        assert_eq!(rounds.change(&changes, budget).unwrap_err().to_string(), message);
    }
    let after = rounds.change(&[], 1.0).unwrap();
    assert!(
        (before.value - after.value).abs() <= 1e-12
            && (before.price / after.price - 1.0).abs() <= 1e-9,
        "{before:?} {after:?}"
    );

    let hill = ProblemSpec {
        tasks: vec![TaskSpec::new("tv", Curve::hill(0.5, 2.0).unwrap())],
        ..ProblemSpec::default()
    };
    let error = SparseRounds::new(&hill.check().unwrap(), &[1.0], 1.0).unwrap_err();
    assert_eq!(error, SparseError::NotConcave("tv".to_owned()));
    assert!(matches!(SparseRounds::new(&problem, &[1.0], 1.0), Err(SparseError::Allocation(_))));
}

#[test]
fn budgets_that_nobody_needs_are_left() {
    let mut random = Random(4);
    let tasks = (0..100).map(|task| {
        TaskSpec::new(format!("t{task}"), Curve::saturating(random.between(0.001, 0.01)).unwrap())
    });
    let problem = ProblemSpec { tasks: tasks.collect(), ..ProblemSpec::default() }.check().unwrap();
    let mut rounds = SparseRounds::new(&problem, &[1.0; 100], 5.0).unwrap();
    for round in 0..5 {
        let certificate = rounds.change(&[(round, 0.5)], 5.0).unwrap();
        assert_eq!(certificate.price, 0.0);
        assert!((certificate.value - (100.0 - 0.5 * (round + 1) as f64)).abs() < 1e-9);
    }
}
