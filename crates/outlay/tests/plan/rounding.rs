//! Rounding to whole units.

use outlay::plan::{BindingBound, MovedBound, RoundingError, round, value_of, violations};
use outlay::{Allocation, Curve, Options, Oracle, Problem, ProblemSpec, Status, TaskSpec};
use proptest::prelude::*;

fn problem(budget: f64, tasks: Vec<TaskSpec>) -> Problem {
    ProblemSpec { budget, tasks, ..ProblemSpec::default() }.check().unwrap()
}

fn split(problem: &Problem, values: &[f64], spend: &[f64]) -> Allocation {
    let value = value_of(problem, values, spend);
    let unspent = problem.budget() - spend.iter().sum::<f64>();
    Allocation {
        budget: problem.budget(),
        spend: spend.to_vec(),
        success: vec![],
        value,
        upper_bound: value,
        price: 0.0,
        status: Status::Optimal,
        unspent: if unspent <= problem.budget() * 1e-12 { 0.0 } else { unspent },
        unspent_reason: None,
        nodes: 1,
        labels: 0,
    }
}

#[test]
fn equal_thirds_of_a_hundred_add_up() {
    let curve = Curve::exponential(50.0).unwrap();
    let problem =
        problem(100.0, ["a", "b", "c"].map(|name| TaskSpec::new(name, curve.clone())).to_vec());
    let third = 100.0 / 3.0;
    let rounded =
        round(&problem, &[1.0; 3], &split(&problem, &[1.0; 3], &[third; 3]), 0.01).unwrap();
    assert_eq!(rounded.spend, [33.34, 33.33, 33.33]);
    assert_eq!(rounded.unspent, 0.0);
    assert!(rounded.loss() >= 0.0 && rounded.loss() < 1e-8);
}

#[test]
fn bounds_that_are_no_multiples_are_named() {
    let curve = Curve::exponential(50.0).unwrap();
    let task = |name: &str| TaskSpec::new(name, curve.clone());
    let tasks = vec![
        TaskSpec { min: Some(5.0), max: Some(20.0), ..task("on the grid") },
        TaskSpec { min: Some(1.0), max: Some(12.0), ..task("min and max") },
        TaskSpec { at_least: Some(7.5), ..task("at least") },
        task("unbounded"),
    ];
    let problem = problem(40.0, tasks);
    let spend = [10.0, 10.0, 10.0, 10.0];
    let rounded = round(&problem, &[1.0; 4], &split(&problem, &[1.0; 4], &spend), 5.0).unwrap();
    let moved = |task, bound, given, used| MovedBound { task, bound, given, used };
    assert_eq!(
        rounded.moved_bounds,
        [
            moved(1, BindingBound::Min, 1.0, 5.0),
            moved(1, BindingBound::Max, 12.0, 10.0),
            moved(2, BindingBound::AtLeast, 7.5, 10.0),
        ]
    );
}

#[test]
fn a_budget_that_is_no_multiple_leaves_its_rest() {
    let curve = Curve::exponential(50.0).unwrap();
    let problem = problem(12.5, vec![TaskSpec::new("a", curve.clone()), TaskSpec::new("b", curve)]);
    let rounded =
        round(&problem, &[1.0; 2], &split(&problem, &[1.0; 2], &[6.25, 6.25]), 5.0).unwrap();
    assert_eq!(rounded.spend, [5.0, 5.0]);
    assert_eq!(rounded.unspent, 2.5);
}

#[test]
fn a_threshold_is_rounded_up_at_the_cost_of_a_smooth_task() {
    let tasks = vec![
        TaskSpec::new("job", Curve::threshold(33.3).unwrap()),
        TaskSpec::new("ads", Curve::exponential(50.0).unwrap()),
    ];
    let problem = problem(100.0, tasks);
    let rounded =
        round(&problem, &[1.0; 2], &split(&problem, &[1.0; 2], &[33.3, 66.7]), 1.0).unwrap();
    assert_eq!(rounded.spend, [34.0, 66.0]);
}

#[test]
fn thresholds_that_no_longer_fit_together_do_not_all_fail() {
    let curve = Curve::threshold(33.3).unwrap();
    let problem =
        problem(100.0, ["a", "b", "c"].map(|name| TaskSpec::new(name, curve.clone())).to_vec());
    let rounded = round(
        &problem,
        &[1.0, 2.0, 3.0],
        &split(&problem, &[1.0, 2.0, 3.0], &[33.3, 33.3, 33.4]),
        1.0,
    )
    .unwrap();
    assert_eq!(rounded.value, 5.0);
    assert_eq!(rounded.loss(), 1.0);
}

#[test]
fn the_most_valuable_thresholds_are_kept() {
    let curve = Curve::threshold(0.25).unwrap();
    let problem =
        problem(1.0, ["a", "b", "c", "d"].map(|name| TaskSpec::new(name, curve.clone())).to_vec());
    let values = [0.9, 0.55, 0.8, 0.6];
    let rounded = round(&problem, &values, &split(&problem, &values, &[0.25; 4]), 0.1).unwrap();
    assert_eq!(rounded.spend, [0.3, 0.1, 0.3, 0.3]);
}

#[test]
fn bounds_are_rounded_inwards_or_rejected() {
    let curve = Curve::exponential(50.0).unwrap();
    let bounded =
        TaskSpec { min: Some(10.5), max: Some(20.5), ..TaskSpec::new("a", curve.clone()) };
    let problem_of =
        |first: TaskSpec| problem(100.0, vec![first, TaskSpec::new("b", curve.clone())]);
    let low = problem_of(bounded.clone());
    assert_eq!(
        round(&low, &[0.0, 1.0], &split(&low, &[0.0, 1.0], &[10.5, 89.5]), 1.0).unwrap().spend,
        [11.0, 89.0]
    );
    assert_eq!(
        round(&low, &[1.0, 0.0], &split(&low, &[1.0, 0.0], &[20.5, 79.5]), 1.0).unwrap().spend,
        [20.0, 80.0]
    );
    let fixed = problem_of(TaskSpec { fixed: Some(10.5), ..TaskSpec::new("a", curve.clone()) });
    let error =
        round(&fixed, &[1.0; 2], &split(&fixed, &[1.0; 2], &[10.5, 89.5]), 1.0).unwrap_err();
    assert_eq!(error.to_string(), "a: no multiple of 1 lies between its min 10.5 and its max 10.5");
    let tight = problem_of(TaskSpec { min: Some(97.0), ..TaskSpec::new("a", curve.clone()) });
    let error =
        round(&tight, &[1.0; 2], &split(&tight, &[1.0; 2], &[97.0, 3.0]), 30.0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "in multiples of 30, min adds up to 120, more than the budget 100: a 120"
    );
}

#[test]
fn zero_or_at_least_stays_zero_or_at_least() {
    let tasks = ["a", "b", "c"].map(|name| TaskSpec {
        at_least: Some(33.0),
        ..TaskSpec::new(name, Curve::exponential(50.0).unwrap())
    });
    let problem = problem(100.0, tasks.to_vec());
    let rounded = round(
        &problem,
        &[1.0, 2.0, 3.0],
        &split(&problem, &[1.0, 2.0, 3.0], &[33.0, 33.0, 34.0]),
        10.0,
    )
    .unwrap();
    assert_eq!(rounded.spend[0], 0.0);
    assert!(rounded.spend[1] >= 40.0 && rounded.spend[2] >= 40.0);
    assert_eq!(rounded.spend.iter().sum::<f64>(), 100.0);
}

#[test]
fn invalid_units_are_rejected() {
    let problem = problem(100.0, vec![TaskSpec::new("a", Curve::exponential(50.0).unwrap())]);
    let allocation = split(&problem, &[1.0], &[100.0]);
    for unit in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(
            round(&problem, &[1.0], &allocation, unit),
            Err(RoundingError::BadUnit(_))
        ));
    }
    assert!(matches!(
        round(&problem, &[1.0], &allocation, 1e-300),
        Err(RoundingError::TooSmall { .. })
    ));
}

/// Tasks of every kind with a share of the budget that respects their bounds.
fn any_split() -> impl Strategy<Value = (Problem, Vec<f64>, Allocation)> {
    let task = (0..4_usize, 0.1..1.0_f64, 0.05..1.0_f64, 0..4_usize);
    proptest::collection::vec(task, 1..12)
        .prop_flat_map(|tasks| (Just(tasks), 1.0..5000.0_f64))
        .prop_map(|(tasks, budget)| {
            let weight: f64 = tasks.iter().map(|task| task.1).sum();
            let spend: Vec<f64> = tasks.iter().map(|task| budget * task.1 / weight).collect();
            let specs = tasks.iter().zip(&spend).enumerate().map(
                |(position, (&(family, _, at, bound), &spend))| {
                    let curve = match family {
                        0 => Curve::threshold(spend * at),
                        1 => Curve::hill(budget * at, 3.0),
                        2 => Curve::exponential(budget * at),
                        _ => Curve::saturating(spend * at),
                    };
                    let mut spec = TaskSpec::new(format!("task {position}"), curve.unwrap());
                    match bound {
                        1 => spec.min = Some(spend * at),
                        2 => spec.max = Some(spend / at),
                        3 => spec.at_least = Some(spend * at),
                        _ => {}
                    }
                    spec
                },
            );
            let problem = problem(budget, specs.collect());
            let values: Vec<f64> = tasks.iter().map(|task| task.1).collect();
            let allocation = split(&problem, &values, &spend);
            (problem, values, allocation)
        })
}

proptest! {
    #[test]
    fn whole_units_add_up_within_bounds(
        (problem, values, allocation) in any_split(),
        unit in prop::sample::select(vec![0.01, 0.05, 0.25, 1.0, 5.0]),
    ) {
        let Ok(rounded) = round(&problem, &values, &allocation, unit) else { return Ok(()) };
        let counts: Vec<f64> = rounded.spend.iter().map(|spend| (spend / unit).round()).collect();
        for (&spend, &count) in rounded.spend.iter().zip(&counts) {
            // The nearest number to the decimal: 7 cents are 7/100, not 7 * 0.01.
            let amount = if unit < 1.0 { count / (1.0 / unit).round() } else { count * unit };
            prop_assert_eq!(spend, amount);
        }
        prop_assert_eq!(violations(&problem, problem.budget(), &rounded.spend), []);
        let total: f64 = counts.iter().sum();
        let available = (problem.budget() / unit * (1.0 + 1e-12)).floor();
        prop_assert!(total <= available);
        let mut pairs = problem.tasks().iter().zip(&rounded.spend);
        let room = pairs.any(|(task, spend)| task.bounds().max > spend + unit && *spend > 0.0);
        prop_assert!(total == available || !room);
    }
}

/// The best value of plans in whole units, by enumeration.
fn best_in_units(problem: &Problem, values: &[f64], unit: f64) -> f64 {
    fn extend(
        problem: &Problem,
        values: &[f64],
        unit: f64,
        left: i64,
        spend: &mut Vec<f64>,
    ) -> f64 {
        if spend.len() == values.len() {
            let is_feasible = violations(problem, problem.budget(), spend).is_empty();
            return if is_feasible { value_of(problem, values, spend) } else { f64::NEG_INFINITY };
        }
        let mut best = f64::NEG_INFINITY;
        for count in 0..=left {
            spend.push(count as f64 * unit);
            best = best.max(extend(problem, values, unit, left - count, spend));
            spend.pop();
        }
        best
    }
    let units = (problem.budget() / unit + 1e-9).floor() as i64;
    extend(problem, values, unit, units, &mut Vec::new())
}

fn any_curve() -> impl Strategy<Value = Curve> {
    let spend = 0.5..12.0_f64;
    prop_oneof![
        spend.clone().prop_map(|at| Curve::threshold(at).unwrap()),
        spend.clone().prop_map(|scale| Curve::exponential(scale).unwrap()),
        (0.2..0.9_f64, spend.clone())
            .prop_map(|(exponent, scale)| Curve::power(exponent, scale).unwrap()),
        (spend.clone(), 1.5..6.0_f64)
            .prop_map(|(half_at, steepness)| Curve::hill(half_at, steepness).unwrap()),
        (spend.clone(), spend).prop_map(|(one, other)| {
            let at = vec![one.min(other), one.max(other) + 0.25];
            Curve::steps(at, vec![0.4, 1.0]).unwrap()
        }),
    ]
}

/// Up to four tasks, some of them with `at_least` or `max`, and a budget of ten to sixteen.
fn any_problem() -> impl Strategy<Value = (Problem, Vec<f64>)> {
    let task = (any_curve(), 0.1..1.0_f64, 0..4_u8, 0.5..6.0_f64);
    (prop::collection::vec(task, 2..=4), 10.0..16.0_f64).prop_map(|(tasks, budget)| {
        let values = tasks.iter().map(|(_, value, ..)| *value).collect();
        let specs =
            tasks.into_iter().enumerate().map(|(position, (curve, _, kind, bound))| TaskSpec {
                at_least: (kind == 1).then_some(bound),
                max: (kind == 2).then_some(bound),
                ..TaskSpec::new(format!("task {position}"), curve)
            });
        (problem(budget, specs.collect()), values)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_rounded_plan_is_the_best_in_whole_units(
        (problem, values) in any_problem(),
        unit in prop_oneof![Just(1.0), Just(0.75), Just(2.5)],
    ) {
        let mut oracle = Oracle::new(&problem);
        let allocation = oracle.allocate(&values, problem.budget(), &Options::default()).unwrap();
        let rounded = round(&problem, &values, allocation, unit).unwrap();
        let best = best_in_units(&problem, &values, unit);
        prop_assert!(violations(&problem, problem.budget(), &rounded.spend).is_empty());
        prop_assert!(
            (rounded.value - best).abs() <= 1e-12 * best,
            "{:?} is worth {}, the best {best}", rounded.spend, rounded.value
        );
        prop_assert!(rounded.upper_bound >= best * (1.0 - 1e-12));
        prop_assert!(rounded.upper_bound <= allocation.upper_bound.max(rounded.value));
    }
}

#[test]
fn a_threshold_that_excludes_another_task_is_funded_with_its_next_unit() {
    let tasks = vec![
        TaskSpec::new("job", Curve::threshold(66.666666).unwrap()),
        TaskSpec {
            at_least: Some(33.333334),
            ..TaskSpec::new("video", Curve::exponential(33.0).unwrap())
        },
        TaskSpec::new("search", Curve::exponential(10.0).unwrap()),
    ];
    let (problem, values) = (problem(100.0, tasks), [1.0, 0.35, 0.1]);
    let mut oracle = Oracle::new(&problem);
    let allocation = oracle.allocate(&values, 100.0, &Options::default()).unwrap();
    let rounded = round(&problem, &values, allocation, 0.01).unwrap();
    assert_eq!(rounded.spend, [66.67, 0.0, 33.33]);
    assert_eq!(rounded.upper_bound, rounded.value);
    assert!(rounded.loss() > 0.0 && rounded.avoidable_loss() == 0.0);
}

#[test]
fn many_thresholds_in_cents_are_rounded_up_and_the_loss_is_stated() {
    let at = |task: u32| 1.0 + f64::from(task * 7919 % 1000) / 37.0;
    let tasks: Vec<TaskSpec> = (0..200)
        .map(|task| TaskSpec::new(format!("job {task}"), Curve::threshold(at(task)).unwrap()))
        .collect();
    let values: Vec<f64> = (0..200).map(|task| 0.2 + f64::from(task * 31 % 97) / 120.0).collect();
    let problem = problem(500.0, tasks);
    let mut oracle = Oracle::new(&problem);
    let allocation = oracle.allocate(&values, 500.0, &Options::default()).unwrap();
    let rounded = round(&problem, &values, allocation, 0.01).unwrap();
    assert!(violations(&problem, 500.0, &rounded.spend).is_empty());
    assert!(rounded.value <= allocation.upper_bound);
    assert!(rounded.avoidable_loss() <= 1e-9, "{} of {}", rounded.value, rounded.upper_bound);
}
