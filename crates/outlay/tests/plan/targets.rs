//! Plans for targets: the brackets against the oracle at many budgets, and their proofs.

use outlay::plan::{Target, TargetError, TargetPlan, for_target, value_of, violations};
use outlay::{Curve, Options, Oracle, Problem, ProblemSpec, TaskSpec};

use crate::support::{Mix, Random, random_curve};

const OPTIONS: fn() -> Options = Options::default;

fn random_problem(random: &mut Random) -> (Problem, Vec<f64>) {
    let count = 1 + random.below(5);
    let mixes = [Mix::Concave, Mix::Hill, Mix::Logistic, Mix::Steps, Mix::Piecewise, Mix::Anything];
    let mix = mixes[random.below(mixes.len())];
    let tasks = (0..count).map(|position| {
        let mut task = TaskSpec::new(format!("task {position}"), random_curve(random, mix, count));
        match random.below(6) {
            0 => task.min = Some(0.5 / count as f64),
            1 => task.max = Some(random.between(0.3, 1.0)),
            2 => task.at_least = Some(random.between(0.05, 0.5)),
            3 => task.volume = Some(random.between(1.0, 50.0)),
            _ => {}
        }
        task
    });
    let tasks = tasks.collect();
    let problem = ProblemSpec { tasks, ..ProblemSpec::default() }.check().unwrap();
    let values = (0..count).map(|_| random.between(0.2, 2.0)).collect();
    (problem, values)
}

fn best(problem: &Problem, values: &[f64], budget: f64) -> outlay::Allocation {
    Oracle::new(problem).allocate(values, budget, &OPTIONS()).unwrap().clone()
}

fn needed(problem: &Problem) -> f64 {
    problem.tasks().iter().map(|task| task.bounds().min).sum()
}

/// Every line of a proof holds at every budget below its own.
fn check_lines(problem: &Problem, values: &[f64], plan: &TargetPlan) {
    for line in &plan.proof {
        for share in [0.0, 0.1, 0.5, 0.9, 1.0] {
            let budget = share * line.budget.min(100.0);
            if budget >= needed(problem) {
                let found = best(problem, values, budget);
                assert!(
                    found.value <= line.at(budget) * (1.0 + 1e-12) + 1e-12,
                    "{line:?} {budget}"
                );
            }
        }
    }
}

/// The split keeps the bounds, and its value is as stated.
fn check_split(problem: &Problem, values: &[f64], plan: &TargetPlan) {
    let allocation = &plan.allocation;
    assert_eq!(violations(problem, allocation.budget, &allocation.spend), vec![]);
    let value = value_of(problem, values, &allocation.spend);
    assert!((value - allocation.value).abs() <= 1e-12 * value.max(1e-300));
    assert!(allocation.upper_bound >= allocation.value);
}

#[test]
fn the_least_spend_for_a_value_is_bracketed() {
    let mut random = Random::new(3);
    let (mut reached, mut widest) = (0, 0.0_f64);
    for _ in 0..300 {
        let (problem, values) = random_problem(&mut random);
        let anchor = best(&problem, &values, random.between(0.6, 4.0)).value;
        let value = anchor * random.between(0.3, 1.0);
        if value <= 0.0 {
            continue;
        }
        let plan = for_target(&problem, &values, Target::Value(value), None, &OPTIONS()).unwrap();
        assert!(plan.is_reached, "{value} of {anchor}");
        check_split(&problem, &values, &plan);
        assert!(plan.allocation.value >= value && plan.spend() == plan.high);
        if plan.low > needed(&problem) {
            assert!(plan.proof[0].at(plan.low) < value);
            check_lines(&problem, &values, &plan);
            let below = best(&problem, &values, plan.low * (1.0 - 1e-9));
            assert!(below.value < value, "{below:?} {value}");
        }
        widest = widest.max((plan.high - plan.low) / plan.high);
        reached += 1;
    }
    assert!(reached > 250 && widest <= 1.1e-6, "{reached} {widest}");
}

#[test]
fn a_return_on_spend_is_reached_and_not_beyond() {
    let mut random = Random::new(4);
    let (mut reached, mut missed) = (0, 0);
    for _ in 0..300 {
        let (problem, values) = random_problem(&mut random);
        let anchor = best(&problem, &values, random.between(0.6, 4.0));
        let spend: f64 = anchor.spend.iter().sum();
        let least = anchor.value / spend * random.between(0.3, 1.6);
        if !(least > 0.0 && least.is_finite()) {
            continue;
        }
        let target = Target::ReturnOnSpend(least);
        let plan = for_target(&problem, &values, target, None, &OPTIONS()).unwrap();
        check_split(&problem, &values, &plan);
        check_lines(&problem, &values, &plan);
        let returns = plan.allocation.value / plan.spend();
        assert_eq!(plan.reached, returns);
        let top = values
            .iter()
            .zip(problem.tasks())
            .map(|(value, task)| value * task.volume())
            .sum::<f64>()
            / least;
        if plan.is_reached {
            reached += 1;
            assert!(returns >= least && plan.low <= plan.high);
        } else {
            missed += 1;
            assert!(returns < least, "{returns} {least}");
        }
        // No larger spend has the return; if none was found, no spend at all.
        let from = if plan.is_reached { plan.high } else { 0.0 };
        for place in 1..=40 {
            let budget = from + (top - from) * f64::from(place) / 40.0;
            if budget <= from * (1.0 + 1e-9) || budget < needed(&problem) {
                continue;
            }
            let other = best(&problem, &values, budget);
            let spend: f64 = other.spend.iter().sum();
            let is_larger = spend > from * (1.0 + 1e-9);
            assert!(!is_larger || other.value < least * spend, "{plan:?} {budget} {other:?}");
        }
    }
    assert!(reached > 150 && missed > 20, "{reached} {missed}");
}

#[test]
fn s_curves_have_the_return_again_at_a_larger_spend() {
    // The return falls between the two tasks: 1 at a spend of 1, 0.55 just below 20, 1.1 from 20 on.
    let tasks = vec![
        TaskSpec::new("small", Curve::threshold(1.0).unwrap()),
        TaskSpec { volume: Some(21.0), ..TaskSpec::new("large", Curve::threshold(19.0).unwrap()) },
    ];
    let problem = ProblemSpec { tasks, ..ProblemSpec::default() }.check().unwrap();
    let plan = |least: f64| {
        for_target(&problem, &[1.0, 1.0], Target::ReturnOnSpend(least), None, &OPTIONS()).unwrap()
    };
    assert_eq!((plan(1.05).low, plan(1.05).allocation.value), (20.0, 22.0));
    let top = plan(1.105);
    assert_eq!((top.low, top.allocation.value), (19.0, 21.0));
    let none = plan(1.2);
    assert!(!none.is_reached && (none.reached - 21.0 / 19.0).abs() < 1e-12);
}

#[test]
fn a_cost_per_completion_counts_completions() {
    let task = |name: &str, scale: f64| TaskSpec {
        volume: Some(100.0),
        ..TaskSpec::new(name, Curve::exponential(scale).unwrap())
    };
    let tasks = vec![task("cheap", 100.0), task("dear", 300.0)];
    let problem = ProblemSpec { budget: 10.0, tasks, ..ProblemSpec::default() }.check().unwrap();
    // The values say the opposite, and do not count.
    let target = Target::CostPerCompletion(2.0);
    let plan = for_target(&problem, &[0.0, 9.0], target, None, &OPTIONS()).unwrap();
    assert!(plan.is_reached && plan.reached <= 2.0 && plan.reached > 2.0 - 1e-5, "{plan:?}");
    assert!((plan.spend() / plan.allocation.value - plan.reached).abs() < 1e-12);
    let missed =
        for_target(&problem, &[1.0, 1.0], Target::CostPerCompletion(0.9), None, &OPTIONS());
    let missed = missed.unwrap();
    // The first completions of the cheap task cost one each.
    assert!(!missed.is_reached && (missed.reached - 1.0).abs() < 1e-6, "{missed:?}");
}

#[test]
fn a_marginal_return_is_the_demand_at_that_price() {
    let mut random = Random::new(5);
    let mut reached = 0;
    for _ in 0..300 {
        let (problem, values) = random_problem(&mut random);
        let price =
            best(&problem, &values, random.between(0.6, 2.0)).price * random.between(0.5, 1.5);
        if !(price > 0.0 && price.is_finite()) {
            continue;
        }
        let target = Target::MarginalReturn(price);
        let plan = for_target(&problem, &values, target, None, &OPTIONS()).unwrap();
        check_split(&problem, &values, &plan);
        assert!(plan.allocation.gap() < 1e-12, "{plan:?}");
        if plan.is_reached {
            reached += 1;
            let other = best(&problem, &values, plan.spend());
            assert!((other.value - plan.allocation.value).abs() <= 1e-9 * other.value);
        } else {
            assert!(plan.reached <= price);
        }
    }
    assert!(reached > 200, "{reached}");
}

#[test]
fn a_limit_holds_for_every_target() {
    let tasks = vec![TaskSpec::new("search", Curve::exponential(100.0).unwrap())];
    let problem = ProblemSpec { tasks, ..ProblemSpec::default() }.check().unwrap();
    let solve = |target| for_target(&problem, &[100.0], target, Some(50.0), &OPTIONS()).unwrap();
    let half = 100.0 * (1.0 - (-0.5_f64).exp());
    let missed = solve(Target::Value(half + 1.0));
    assert!(!missed.is_reached && missed.spend() == 50.0 && missed.proof[0].at(50.0) < half + 1.0);
    assert!(solve(Target::Value(half - 1.0)).spend() < 50.0);
    let all = solve(Target::ReturnOnSpend(0.5));
    assert!(all.is_reached && all.spend() == 50.0);
    let missed = solve(Target::MarginalReturn(0.5));
    assert!(!missed.is_reached && (missed.reached - (-0.5_f64).exp()).abs() < 1e-9);
    // More than the curve can ever be worth.
    let never = for_target(&problem, &[100.0], Target::Value(101.0), None, &OPTIONS()).unwrap();
    assert!(!never.is_reached && never.reached > 99.9 && never.proof[0].budget.is_infinite());
}

#[test]
fn wrong_targets_are_refused() {
    let task = TaskSpec::new("a", Curve::threshold(1.0).unwrap());
    let problem = ProblemSpec { tasks: vec![task], ..ProblemSpec::default() }.check().unwrap();
    for number in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error =
            for_target(&problem, &[1.0], Target::Value(number), None, &OPTIONS()).unwrap_err();
        assert!(matches!(error, TargetError::BadTarget(_)), "{error}");
    }
    let error = for_target(&problem, &[-1.0], Target::Value(1.0), None, &OPTIONS()).unwrap_err();
    assert_eq!(error.to_string(), "values[0]: must be finite and not negative, not -1");
}
