//! Problems that once broke a certificate. Those up to v9 are from an outside audit. The files are
//! in `tests/data/certificates`.

use std::fs;
use std::path::PathBuf;

use outlay::curve::DeclaredShape;
use outlay::oracle::recheck;
use outlay::plan::{PlanError, evaluate, violations};
use outlay::problem::{NoFiles, is_feasible, max_total};
use outlay::{Allocation, Curve, Options, Oracle, Problem, ProblemSpec, Status, TaskSpec};

fn file(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/certificates");
    fs::read_to_string(folder.join(name)).unwrap()
}

fn problem(name: &str) -> Problem {
    let text = file(name);
    if name.ends_with(".json") {
        Problem::from_json(&text, &NoFiles).unwrap()
    } else {
        Problem::from_toml(&text, &NoFiles).unwrap()
    }
}

fn plan(name: &str) -> Vec<f64> {
    file(name)
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(1).unwrap().parse().unwrap())
        .collect()
}

/// Solves, and checks what every allocation must satisfy.
fn solved(problem: &Problem) -> Allocation {
    let values = problem.values().unwrap();
    let best = Oracle::new(problem)
        .allocate(&values, problem.budget(), &Options::default())
        .unwrap()
        .clone();
    recheck(problem, &values, &best).unwrap();
    assert!(is_feasible(problem, problem.budget(), &best.spend), "{best:?}");
    best
}

fn price_proves_bound(problem: &Problem, best: &Allocation) -> bool {
    recheck(problem, &problem.values().unwrap(), best).unwrap().price_proves_bound
}

/// v1: at the budget, a threshold next to a curve with an infinite slope. What the tolerance of the
/// budget is worth there is part of value and bound.
#[test]
fn a_threshold_at_the_budget_next_to_an_infinite_slope() {
    let problem = problem("v1_reach_beats_bound.toml");
    let best = solved(&problem);
    assert_eq!(best.status, Status::Optimal, "{best:?}");
    let worth = 1.0 + 0.9 * (max_total(1.0) - 1.0f64).powf(0.1);
    assert!((best.value - worth).abs() < 1e-12, "{best:?}");
    // One unit in the last place below its threshold the job fails.
    let values = problem.values().unwrap();
    let evaluated =
        evaluate(&problem, &values, 1.0, &plan("v1_plan.csv"), &Options::default()).unwrap();
    assert!(evaluated.violations.is_empty() && evaluated.value < 0.1, "{evaluated:?}");
}

/// v2: forced spends and jumps together never exceed the budget.
#[test]
fn forced_spends_and_jumps_stay_within_the_budget() {
    let first = solved(&problem("v2_overspends_budget.toml"));
    // Both jobs together need 7e-13 more than the budget.
    assert_eq!((first.value, first.spend[1]), (0.7, 0.0), "{first:?}");
    let second = solved(&problem("v2b_overspends_at_least.toml"));
    assert_eq!((second.value, second.status), (0.6, Status::Optimal), "{second:?}");
}

/// v3: rounding is taken from the flattest task, not from the first.
#[test]
fn rounding_is_taken_where_it_costs_least() {
    let problem_3 = problem("v3_concave_half_lost.toml");
    let best = solved(&problem_3);
    assert!(best.value > 2.0 - 1e-13 && best.status == Status::Optimal, "{best:?}");
    let plan = plan("v3_plan.csv");
    let values = problem_3.values().unwrap();
    let evaluated = evaluate(&problem_3, &values, 1.0, &plan, &Options::default()).unwrap();
    assert!(evaluated.value <= evaluated.best.allocation.upper_bound, "{evaluated:?}");
    let best = solved(&problem("v3b_concave_piecewise.toml"));
    assert!(best.value > 1.0 && best.status == Status::Optimal, "{best:?}");
}

/// v4: the price proves the bound.
#[test]
fn the_price_proves_the_bound() {
    for (name, value) in
        [("v4_price_not_a_certificate.toml", 0.8), ("v4b_price_equal_thresholds.toml", 0.0)]
    {
        let problem = problem(name);
        let best = solved(&problem);
        assert_eq!(best.status, Status::Optimal);
        assert!((best.value - value).abs() < 1e-14, "{name}: {best:?}");
        assert!(price_proves_bound(&problem, &best), "{name}: {best:?}");
        assert!(best.price <= 0.2 + 1e-12, "{name}: {best:?}");
    }
}

/// v5: the price does not depend on the unit or on a warm start.
#[test]
fn the_price_does_not_depend_on_the_unit() {
    let problem_5 = problem("v5_price_depends_on_unit.toml");
    let best = solved(&problem_5);
    assert!(price_proves_bound(&problem_5, &best));
    // The curve ends at the budget: one more unit is worth nothing.
    assert_eq!(best.price, 0.0);
    let outlay::curve::Family::Piecewise(curve) = problem_5.tasks()[0].curve().family() else {
        panic!("not piecewise");
    };
    for unit in [1000.0, 0.01, 3.0, 1e9] {
        let spends = curve.spend().iter().map(|spend| spend * unit).collect();
        let scaled = Curve::piecewise(spends, curve.heights().to_vec()).unwrap();
        let tasks = vec![TaskSpec { value: Some(1.0), ..TaskSpec::new("a", scaled) }];
        let spec = ProblemSpec { budget: problem_5.budget() * unit, tasks, ..Default::default() };
        let scaled = solved(&spec.check().unwrap());
        assert_eq!(scaled.price, 0.0, "{unit}: {scaled:?}");
    }
}

/// v6: amounts near the ends of the range of floating-point numbers are refused.
#[test]
fn amounts_beyond_the_range_are_refused() {
    let errors = Problem::from_toml(&file("v6_logistic_1e308.toml"), &NoFiles).unwrap_err();
    assert_eq!(
        errors.to_string(),
        "budget: must be between 1e-100 and 1e100 (in another unit of money if need be), not 1e308"
            .replace("1e308", &1e308f64.to_string())
    );
    for curve in [
        Curve::hill(1e-300, 2.0),
        Curve::power(0.5, 1e200),
        Curve::threshold(1e101),
        Curve::piecewise(vec![0.0, 1e-101], vec![0.0, 1.0]),
        Curve::logistic(1.0, 1e-200),
    ] {
        let error = curve.unwrap_err().to_string();
        assert!(error.contains("must be between 1e-100 and 1e100"), "{error}");
    }
    let task = TaskSpec { min: Some(1e-200), ..TaskSpec::new("a", Curve::hill(1.0, 2.0).unwrap()) };
    let spec = ProblemSpec { tasks: vec![task], ..ProblemSpec::default() };
    assert!(spec.check().unwrap_err().to_string().contains("task[0].min: must be between 1e-100"));
    let task = TaskSpec::new("a", Curve::hill(1.0, 2.0).unwrap());
    let spec = ProblemSpec { tasks: vec![task], ..ProblemSpec::default() };
    let mut oracle = Oracle::new(&spec.check().unwrap());
    for budget in [1e308, 1e-300] {
        let error = oracle.allocate(&[1.0], budget, &Options::default()).unwrap_err();
        assert!(error.to_string().starts_with("budget: must be between 1e-100"), "{error}");
    }
}

/// v7: near-vertical ramps are not lost to rounding.
#[test]
fn steep_ramps_are_not_lost_to_rounding() {
    let best = solved(&problem("v7_steep_ramp_ulp_taken_back.json"));
    assert!(best.status != Status::Limit, "{best:?}");
    let vertical = problem("v7b_vertical_ramp.json");
    let best = solved(&vertical);
    assert!(best.status != Status::Limit, "{best:?}");
    let (values, plan) = (vertical.values().unwrap(), plan("v7b_plan.csv"));
    assert_eq!(violations(&vertical, vertical.budget(), &plan), vec![]);
    let evaluated = evaluate(&vertical, &values, 1.0, &plan, &Options::default()).unwrap();
    assert!(evaluated.value <= best.upper_bound, "{evaluated:?}");
}

/// v8: the bound of functions declared concave holds although a short chord between evaluated
/// points is noisy.
#[test]
fn noisy_chords_of_a_concave_function_are_no_bound() {
    let f = |x: f64| (x / 1086.7530624169424).powf(0.2497225454759093).min(1.0);
    let g = |x: f64| -(-x / 1312.3153102233746).exp_m1();
    let (values, budget) = ([0.5145615635689202, 0.5536255902204407], 725.0095959561004);
    let custom = |function: fn(f64) -> f64| {
        Curve::custom(std::sync::Arc::new(function), DeclaredShape::Concave).unwrap()
    };
    let tasks = vec![TaskSpec::new("a", custom(f)), TaskSpec::new("b", custom(g))];
    let problem = ProblemSpec { budget, tasks, ..ProblemSpec::default() }.check().unwrap();
    let mut oracle = Oracle::new(&problem);
    let best = oracle.allocate(&values, budget, &Options::default()).unwrap();
    let worth = values[0] * f(305.43590314081814) + values[1] * g(419.5736928152823);
    assert!(worth <= best.upper_bound, "{worth} {best:?}");
    assert!(best.status != Status::Limit, "{best:?}");
}

/// v9: bounds and budget have the same tolerance everywhere, and a jump beyond it is not reached.
#[test]
fn a_jump_within_the_tolerance_of_max_is_reached() {
    let problem_9 = problem("v9_max_one_ulp_below_jump.toml");
    let best = solved(&problem_9);
    assert_eq!((best.value, best.status), (1.0, Status::Optimal));
    assert_eq!(best.spend, [0.1 + 0.2]);
    let values = problem_9.values().unwrap();
    let at_max =
        evaluate(&problem_9, &values, 1.0, &plan("v9_plan.csv"), &Options::default()).unwrap();
    assert!(at_max.violations.is_empty() && at_max.value == 0.0);

    let problem_9b = problem("v9b_jump_just_above_budget.toml");
    let best = solved(&problem_9b);
    assert_eq!((best.value, best.upper_bound), (0.0, 0.0));
    let values = problem_9b.values().unwrap();
    let evaluated =
        evaluate(&problem_9b, &values, 1.0, &plan("v9b_plan.csv"), &Options::default()).unwrap();
    assert!(evaluated.violations.is_empty() && evaluated.value == 0.0);
}

/// v10: on nearly linear logistic curves the successes in the bound belong to the spends.
#[test]
fn the_bound_of_a_nearly_linear_logistic_task_holds() {
    let problem = problem("v10_nearly_linear_logistic.toml");
    let best = solved(&problem);
    assert_eq!(best.status, Status::Optimal, "{best:?}");
    assert!(price_proves_bound(&problem, &best), "{best:?}");
}

/// A function that breaks its declared shape between the evaluated points breaks the bound. That is
/// an error, not a silently raised bound.
#[test]
fn a_beaten_bound_is_an_error() {
    let spike = |x: f64| if (0.700_000_1..0.700_000_2).contains(&x) { 1.0 } else { 0.1 };
    let curve = Curve::custom(std::sync::Arc::new(spike), DeclaredShape::Monotone).unwrap();
    let rest = Curve::threshold(10.0).unwrap();
    let tasks = vec![TaskSpec::new("a", curve), TaskSpec::new("b", rest)];
    let problem = ProblemSpec { tasks, ..ProblemSpec::default() }.check().unwrap();
    let plan = [0.700_000_15, 0.299_999_85];
    let error = evaluate(&problem, &[1.0, 1.0], 1.0, &plan, &Options::default()).unwrap_err();
    assert!(matches!(error, PlanError::BoundBeaten { .. }), "{error}");
    assert!(error.to_string().contains("please report it"), "{error}");
}

/// The steps leave only a few rounding errors of the budget, which are valuable to a steep logistic
/// task.
#[test]
fn a_remainder_of_a_few_roundings_is_bounded() {
    let text = r#"
        budget = 0.8571986172789537
        [[task]]
        value = 0.24343476174873369
        curve = { family = "logistic", mid = 0.0, width = 6.054702989380272e-8 }
        [[task]]
        value = 1.0
        at_least = 0.8571986172789527
        [task.curve]
        family = "piecewise"
        spend = [0.0, 0.8571986172789527, 2.338154611977918, 4.676309223955836]
        success = [0.0, 0.35679441169866827, 0.5615055143093703, 1.0]"#;
    let problem = Problem::from_toml(text, &NoFiles).unwrap();
    let best = solved(&problem);
    let plan = [2.55351295663786e-15, 0.857198617278952];
    let value: f64 = (problem.tasks().iter().zip(&plan))
        .map(|(task, &spend)| task.value().unwrap() * task.curve().success(spend))
        .sum();
    assert!(is_feasible(&problem, problem.budget(), &plan));
    assert!(value <= best.upper_bound * (1.0 + 1e-15), "{value} beats {best:?}");
}

/// A power curve saturates a few units in the last place below the budget, and its lower bound is
/// most of it. The tolerance of that bound does not count as spent: the rest goes to the other task.
#[test]
fn the_tolerance_of_a_lower_bound_is_not_counted_as_spent() {
    let saturating_power = r#"
        budget = 0.8137653718726588
        [[task]]
        value = 0.997852836196099
        min = 0.8137653718726576
        [task.curve]
        family = "power"
        exponent = 0.5600740361347063
        scale = 0.813765371872658
        ceiling = 0.13668648458997568
        [[task]]
        value = 1.3470459596316633e-8
        curve = { family = "exponential", scale = 0.610324028904494 }"#;
    let beside_tiers = r#"
        budget = 1000.0
        [[task]]
        value = 1.1136059227854856e-10
        [task.curve]
        family = "piecewise"
        spend = [0.0, 333.3333333333333, 338.83395265774755, 677.6679053154951]
        success = [0.0, 0.3152417714761265, 0.8397756372020937, 1.0]
        [[task]]
        value = 0.003041865469455063
        min = 833.3333333333333
        curve = { family = "power", exponent = 0.9902357049828661, scale = 999.999999999999 }"#;
    for text in [saturating_power, beside_tiers] {
        let best = solved(&Problem::from_toml(text, &NoFiles).unwrap());
        assert_eq!((best.status, best.unspent), (Status::Optimal, 0.0), "{best:?}");
    }
}
