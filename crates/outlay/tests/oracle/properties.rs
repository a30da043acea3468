//! Invariances and monotonicity of the oracle.

use outlay::{Curve, Leftover, Options, Oracle, ProblemSpec, Status, TaskSpec, UnspentReason};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::support::*;

/// The same curve with spends in another unit.
fn in_unit(curve: &Curve, unit: f64) -> Curve {
    use outlay::curve::Family;
    let scaled = |numbers: &[f64]| numbers.iter().map(|number| number * unit).collect();
    match curve.family() {
        Family::Power(family) => Curve::power(family.exponent(), family.scale() * unit),
        Family::Saturating(family) => Curve::saturating(family.full_at() * unit),
        Family::Exponential(family) => Curve::exponential(family.scale() * unit),
        Family::Hill(family) => Curve::hill(family.half_at() * unit, family.steepness()),
        Family::Logistic(family) => Curve::logistic(family.mid() * unit, family.width() * unit),
        Family::Threshold(family) => Curve::threshold(family.at() * unit),
        Family::Steps(family) => Curve::steps(scaled(family.at()), family.heights().to_vec()),
        Family::Piecewise(family) => {
            Curve::piecewise(scaled(family.spend()), family.heights().to_vec())
        }
        Family::Empirical(family) => Curve::empirical(scaled(family.at())),
        _ => panic!("not in random problems"),
    }
    .unwrap()
}

fn curves_of(problem: &outlay::Problem) -> Vec<Curve> {
    problem.tasks().iter().map(|task| task.curve().clone()).collect()
}

/// A task that sometimes has a ceiling and a floor and, where an even share is given, bounds around
/// it.
fn some_task(random: &mut Random, task: usize, mut curve: Curve, share: Option<f64>) -> TaskSpec {
    if random.below(4) == 0 {
        curve = curve.with_ceiling(0.8).unwrap().with_floor(random.between(0.0, 0.5)).unwrap();
    }
    let mut spec = TaskSpec::new(format!("t{task}"), curve);
    if let Some(share) = share.filter(|_| random.below(4) == 0) {
        spec.min = Some(random.between(0.0, 0.5) * share);
        spec.max = Some(random.between(0.6, 4.0) * share);
    }
    spec
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn units_of_money_and_reward_do_not_matter(seed in 0u64..1_000_000, tasks in 1usize..12, money in -6i32..10, reward in -6i32..7) {
        let mut random = Random::new(seed);
        let (problem, values) = random_problem(&mut random, Mix::Anything, tasks);
        // Empirical curves merge equal samples, so they are rebuilt from distinct ones on both
        // sides.
        let curves: Vec<Curve> = curves_of(&problem).iter().map(|curve| in_unit(curve, 1.0)).collect();
        let (money, reward) = (10f64.powi(money) * 1.37, 10f64.powi(reward) * 0.91);
        let (plain, _) = solve(&problem_of(curves.clone(), 1.0), &values, 1.0);
        let scaled_curves = curves.iter().map(|curve| in_unit(curve, money)).collect();
        let scaled_values: Vec<f64> = values.iter().map(|value| value * reward).collect();
        let (scaled, _) = solve(&problem_of(scaled_curves, money), &scaled_values, money);
        prop_assert!((scaled.value / reward - plain.value).abs() <= 2e-9 * plain.value);
        prop_assert!((scaled.upper_bound / reward - plain.upper_bound).abs() <= 2e-9 * plain.upper_bound);
        if plain.gap() < 1e-13 && scaled.gap() < 1e-13 {
            for (a, b) in plain.spend.iter().zip(&scaled.spend) {
                prop_assert!((a - b / money).abs() <= 1e-6, "{:?} {:?}", plain.spend, scaled.spend);
            }
        }
    }

    /// An oracle with the warm start of another one gives bit-identical results, whatever the
    /// budgets were.
    #[test]
    fn the_warm_start_is_the_only_state_of_an_oracle(seed in 0u64..1_000_000, tasks in 1usize..8) {
        let mut random = Random::new(seed);
        let (problem, values) = random_problem(&mut random, Mix::Anything, tasks);
        let mut oracle = Oracle::new(&problem);
        for _ in 0..6 {
            let budget = problem.budget() * (0.2 + random.uniform());
            let values: Vec<f64> = values.iter().map(|value| value * if random.uniform() < 0.2 { 0.0 } else { random.uniform() }).collect();
            let mut other = Oracle::new(&problem);
            other.set_warm_start(&oracle.warm_start());
            let answer = oracle.allocate(&values, budget, &Options::default()).cloned();
            prop_assert_eq!(answer, other.allocate(&values, budget, &Options::default()).cloned());
        }
    }

    #[test]
    fn permuting_the_tasks_permutes_the_answer(seed in 0u64..1_000_000, tasks in 2usize..12) {
        let mut random = Random::new(seed);
        let (problem, values) = random_problem(&mut random, Mix::Anything, tasks);
        let mut order: Vec<usize> = (0..tasks).collect();
        for place in (1..tasks).rev() {
            order.swap(place, random.below(place + 1));
        }
        let curves = curves_of(&problem);
        let (plain, _) = solve(&problem, &values, 1.0);
        let permuted_values: Vec<f64> = order.iter().map(|&task| values[task]).collect();
        let permuted_problem = problem_of(order.iter().map(|&task| curves[task].clone()).collect(), 1.0);
        let (permuted, _) = solve(&permuted_problem, &permuted_values, 1.0);
        prop_assert!((plain.value - permuted.value).abs() <= 2e-9 * plain.value);
        if plain.gap() < 1e-13 && permuted.gap() < 1e-13 {
            for (place, &task) in order.iter().enumerate() {
                prop_assert!((plain.spend[task] - permuted.spend[place]).abs() <= 1e-6);
            }
        }
    }

    #[test]
    fn a_worthless_task_changes_nothing(seed in 0u64..1_000_000, tasks in 1usize..12) {
        let mut random = Random::new(seed);
        let (problem, values) = random_problem(&mut random, Mix::Anything, tasks);
        let (plain, _) = solve(&problem, &values, 1.0);
        let mut curves = curves_of(&problem);
        curves.push(random_curve(&mut random, Mix::Anything, tasks));
        let mut more = values.clone();
        more.push(0.0);
        let (extended, _) = solve(&problem_of(curves, 1.0), &more, 1.0);
        prop_assert!((plain.value - extended.value).abs() <= 2e-9 * plain.value);
        prop_assert_eq!(extended.spend[tasks], 0.0);
    }

    #[test]
    fn more_budget_is_never_worth_less(seed in 0u64..1_000_000, tasks in 1usize..12) {
        let mut random = Random::new(seed);
        let (problem, values) = random_problem(&mut random, Mix::Anything, tasks);
        let mut oracle = Oracle::new(&problem);
        let mut last = 0.0;
        for step in 0..=12 {
            let budget = f64::from(step) * 0.17;
            let found = oracle.allocate(&values, budget, &Options::default()).unwrap().clone();
            certified(&problem, &values, &found);
            prop_assert!(found.value >= last * (1.0 - 1e-9), "{} after {last} at {budget}", found.value);
            last = found.value;
        }
    }

    #[test]
    fn a_warm_oracle_answers_like_a_cold_one(seed in 0u64..1_000_000, tasks in 1usize..40) {
        let mut random = Random::new(seed);
        let (problem, mut values) = random_problem(&mut random, Mix::Anything, tasks);
        let mut warm = Oracle::new(&problem);
        for round in 0..6 {
            let budget = if round % 2 == 0 { 1.0 } else { random.between(0.2, 2.0) };
            let answer = warm.allocate(&values, budget, &Options::default()).unwrap().clone();
            certified(&problem, &values, &answer);
            let (cold, _) = solve(&problem, &values, budget);
            prop_assert!((answer.value - cold.value).abs() <= 2e-9 * cold.value);
            for value in &mut values {
                *value *= random.between(0.9, 1.1);
            }
        }
    }

    #[test]
    fn bounds_are_kept_and_never_help(seed in 0u64..1_000_000, tasks in 1usize..8) {
        let mut random = Random::new(seed);
        let (free_problem, values) = random_problem(&mut random, Mix::Anything, tasks);
        let specs = free_problem.tasks().iter().map(|task| {
            let mut spec = TaskSpec::new(task.name(), task.curve().clone());
            match random.below(6) {
                0 => spec.min = Some(random.between(0.0, 1.0 / tasks as f64)),
                1 => spec.max = Some(random.between(0.0, 2.0 / tasks as f64)),
                2 => spec.fixed = Some(random.between(0.0, 1.0 / tasks as f64)),
                3 => spec.at_least = Some(random.between(0.0, 1.2)),
                4 => spec.exclude = true,
                _ => {}
            }
            spec
        }).collect();
        let problem = ProblemSpec { tasks: specs, ..ProblemSpec::default() }.check().unwrap();
        let (free, _) = solve(&free_problem, &values, 1.0);
        let (bounded, _) = solve(&problem, &values, 1.0);
        prop_assert!(bounded.value <= free.upper_bound * (1.0 + 1e-12));
        let truth = grid_optimum(&problem, &values, 1.0, 60);
        // With bounds off the grid it may miss splits, but all its splits are feasible.
        prop_assert!(bounded.upper_bound >= truth * (1.0 - 1e-12));
        prop_assert!(bounded.value >= truth * (1.0 - 1e-6), "{} below the grid's {truth}", bounded.value);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, rng_seed: RngSeed::Fixed(2), ..ProptestConfig::default() })]

    /// Rounds as in learning: values change little, sometimes a lot; some budgets leave tasks at
    /// their bounds.
    #[test]
    fn rounds_of_power_curves_answer_like_a_cold_oracle(seed in 0u64..1_000_000, tasks in 1usize..24, unit in -6i32..9) {
        let mut random = Random::new(seed);
        let unit = 10f64.powi(unit) * 1.7;
        let widest = random.between(0.3, 0.97);
        let has_bounds = random.below(3) == 0;
        let specs = (0..tasks).map(|task| {
            let scale = unit * if has_bounds { random.between(0.3, 3.0) } else { 1.0 };
            let curve = Curve::power(random.between(0.05, widest), scale).unwrap();
            some_task(&mut random, task, curve, has_bounds.then_some(unit / tasks as f64))
        }).collect();
        let problem = ProblemSpec { budget: unit, tasks: specs, ..ProblemSpec::default() }.check().unwrap();
        let mut values: Vec<f64> = (0..tasks).map(|_| random.between(0.05, 1.0)).collect();
        let mut warm = Oracle::new(&problem);
        let mut budget = unit;
        for round in 0..40 {
            let spread = match round % 10 { 4 => 0.5, 7 => 0.0, 9 => 0.1, _ => 0.01 };
            for value in &mut values {
                *value *= 1.0 + spread * random.between(-1.0, 1.0);
            }
            if round % 16 == 13 {
                budget = unit * random.between(0.6, 1.0);
            }
            let answer = warm.allocate(&values, budget, &Options::default()).unwrap().clone();
            certified(&problem, &values, &answer);
            let (cold, _) = solve(&problem, &values, budget);
            prop_assert!(answer.gap() <= 1e-12, "gap {:e}", answer.gap());
            prop_assert!((answer.value - cold.value).abs() <= 1e-13 * cold.value);
            prop_assert!((answer.upper_bound - cold.upper_bound).abs() <= 1e-13 * cold.value);
            // With all tasks at their bounds many prices prove the same.
            let is_unique = tasks > 1 && !has_bounds;
            prop_assert!(!is_unique || (answer.price - cold.price).abs() <= 1e-10 * cold.price, "{} not {}", answer.price, cold.price);
            prop_assert_eq!((answer.status, answer.unspent, answer.nodes), (cold.status, cold.unspent, cold.nodes));
            for (a, b) in answer.spend.iter().zip(&cold.spend) {
                prop_assert!((a - b).abs() <= 2e-11 * budget, "{:?} {:?}", answer.spend, cold.spend);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, rng_seed: RngSeed::Fixed(3), ..ProptestConfig::default() })]

    /// Square roots alone are solved in closed form; with a worthless task of another family they
    /// are not.
    #[test]
    fn square_roots_alone_are_answered_as_beside_a_worthless_task(seed in 0u64..1_000_000, tasks in 2usize..24, unit in -6i32..9) {
        let mut random = Random::new(seed);
        let unit = 10f64.powi(unit) * 1.7;
        let has_bounds = random.below(3) == 0;
        let mut specs: Vec<TaskSpec> = (0..tasks).map(|task| {
            let scale = unit * if random.below(2) == 0 { random.between(0.3, 3.0) } else { 1.0 };
            let curve = Curve::power(0.5, scale).unwrap();
            some_task(&mut random, task, curve, has_bounds.then_some(unit / tasks as f64))
        }).collect();
        let alone = ProblemSpec { budget: unit, tasks: specs.clone(), ..ProblemSpec::default() }.check().unwrap();
        specs.push(TaskSpec::new("worthless", Curve::exponential(unit).unwrap()));
        let beside = ProblemSpec { budget: unit, tasks: specs, ..ProblemSpec::default() }.check().unwrap();
        let mut oracle = Oracle::new(&alone);
        for round in 0..10 {
            let budget = unit * if round % 2 == 0 { 1.0 } else { random.between(0.6, 1.0) };
            let mut values: Vec<f64> = (0..tasks).map(|_| random.between(0.05, 1.0)).collect();
            if round == 7 {
                values[0] = 0.0;
            }
            let answer = oracle.allocate(&values, budget, &Options::default()).unwrap().clone();
            certified(&alone, &values, &answer);
            values.push(0.0);
            let (general, _) = solve(&beside, &values, budget);
            prop_assert!(answer.gap() <= 1e-12, "gap {:e}", answer.gap());
            prop_assert!((answer.value - general.value).abs() <= 1e-13 * general.value);
            prop_assert!((answer.upper_bound - general.upper_bound).abs() <= 1e-13 * general.value);
            prop_assert!(has_bounds || (answer.price - general.price).abs() <= 1e-10 * general.price);
            prop_assert_eq!((answer.status, answer.unspent, answer.nodes), (general.status, general.unspent, general.nodes));
            for (a, b) in answer.spend.iter().zip(&general.spend) {
                prop_assert!((a - b).abs() <= 2e-11 * budget, "{:?} {:?}", answer.spend, general.spend);
            }
        }
    }
}

/// The sum of thousands of spends has rounding errors, which must be assigned.
#[test]
fn many_square_roots_add_up_to_the_budget() {
    let mut random = Random::new(17);
    for tasks in [1000, 5000, 20_000] {
        let spec = |task| TaskSpec::new(format!("t{task}"), Curve::power(0.5, 1.0).unwrap());
        let problem = ProblemSpec {
            budget: 0.7,
            tasks: (0..tasks).map(spec).collect(),
            ..ProblemSpec::default()
        }
        .check()
        .unwrap();
        for _ in 0..5 {
            let values: Vec<f64> = (0..tasks).map(|_| random.between(0.01, 1.0)).collect();
            let (answer, _) = solve(&problem, &values, 0.7);
            certified(&problem, &values, &answer);
            assert!(
                answer.gap() <= 1e-12 && answer.unspent == 0.0,
                "{} tasks: gap {:e}",
                tasks,
                answer.gap()
            );
        }
    }
}

#[test]
fn thresholds_alone_are_answered_as_beside_a_worthless_task() {
    let mut random = Random::new(11);
    for _ in 0..3000 {
        let tasks = 2 + random.below(19);
        let at = random.between(0.1, 3.0);
        let threshold = |random: &mut Random| match random.below(4) {
            0 => Curve::steps(vec![at], vec![random.between(0.1, 1.0)]).unwrap(),
            1 => Curve::threshold(at).unwrap().with_floor(random.between(0.0, 0.5)).unwrap(),
            _ => Curve::threshold(at).unwrap(),
        };
        let curves: Vec<Curve> = (0..tasks).map(|_| threshold(&mut random)).collect();
        let has_ties = random.below(2) == 0;
        let value = |random: &mut Random| {
            if has_ties { random.below(4) as f64 * 0.25 } else { random.uniform() }
        };
        let mut values: Vec<f64> = (0..tasks).map(|_| value(&mut random)).collect();
        let funded = 1 + random.below(12);
        let budget =
            at * funded as f64 + if random.below(2) == 0 { at * random.uniform() } else { 0.0 };
        let leftover = if random.below(4) == 0 { Leftover::Spend } else { Leftover::Keep };
        let options = Options { leftover, ..Options::default() };
        let (alone, _) = solve_with(&problem_of(curves.clone(), budget), &values, budget, &options);
        let beside = problem_of([curves, vec![Curve::hill(1.0, 2.0).unwrap()]].concat(), budget);
        values.push(0.0);
        let (mut with, _) = solve_with(&beside, &values, budget, &Options::default());
        assert_eq!(
            alone.unspent_reason,
            with.unspent_reason.filter(|_| leftover == Leftover::Keep)
        );
        if leftover == Leftover::Spend {
            assert!(
                alone.unspent == 0.0
                    && (alone.spend.iter().sum::<f64>() - budget).abs() <= 1e-14 * budget
            );
        } else {
            with.spend.truncate(tasks);
            assert_eq!(alone.spend, with.spend, "{values:?}");
        }
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-14 * b;
        assert!(
            near(alone.value, with.value) && near(alone.upper_bound, with.upper_bound),
            "{alone:?} {with:?}"
        );
        // Between the gain per unit of the last funded task and that of the first one that is not
        // funded.
        let curves = curves_of(&beside);
        let (mut last, mut next) = (f64::INFINITY, 0.0f64);
        for task in 0..tasks {
            let before = curves[task].success(0.0);
            let pays = values[task] * (curves[task].success(at) - before) / at;
            if alone.success[task] > before {
                last = last.min(pays);
            } else {
                next = next.max(pays);
            }
        }
        let slack = 1e-14 * alone.value / at;
        assert!(
            alone.price <= last + slack && alone.price >= next - slack,
            "{next} {last} {alone:?}"
        );
    }
}

#[test]
fn invalid_calls_are_rejected_by_a_warm_oracle() {
    for curve in [Curve::power(0.5, 1.0).unwrap(), Curve::threshold(0.3).unwrap()] {
        let problem = problem_of(vec![curve; 5], 1.0);
        let mut oracle = Oracle::new(&problem);
        let good = [0.5, 0.6, 0.7, 0.8, 0.9];
        for bad in [f64::NAN, f64::INFINITY, -0.5, f64::NEG_INFINITY] {
            for task in 0..5 {
                for _ in 0..3 {
                    oracle.allocate(&good, 1.0, &Options::default()).unwrap();
                }
                let mut values = good;
                values[task] = bad;
                assert!(
                    oracle.allocate(&values, 1.0, &Options::default()).is_err(),
                    "{bad} at {task}"
                );
            }
            oracle.allocate(&good, 1.0, &Options::default()).unwrap();
            assert!(oracle.allocate(&good, bad, &Options::default()).is_err());
            assert!(oracle.allocate(&good[1..], 1.0, &Options::default()).is_err());
        }
        let nothing = oracle.allocate(&[0.0; 5], 1.0, &Options::default()).unwrap();
        assert_eq!((nothing.value, nothing.unspent), (0.0, 1.0));
        let tiny = oracle.allocate(&good, 1e-90, &Options::default()).unwrap();
        assert!(tiny.gap() <= 1e-12, "{tiny:?}");
        oracle.allocate(&good, 1.0, &Options::default()).unwrap();
        assert!(
            oracle
                .allocate(&good, 1.0, &Options { tolerance: f64::NAN, ..Options::default() })
                .is_err()
        );
    }
}

#[test]
fn equal_curves_with_equal_values_need_no_long_search() {
    let steps = Curve::steps(vec![0.011, 0.019, 0.043], vec![0.2, 0.5, 0.9]).unwrap();
    for (name, curve) in [
        ("hill", Curve::hill(0.05, 3.0).unwrap()),
        ("logistic", Curve::logistic(0.05, 0.01).unwrap()),
        ("threshold", Curve::threshold(0.03).unwrap()),
        ("steps", steps),
        (
            "piecewise",
            Curve::piecewise(vec![0.0, 0.02, 0.05, 0.1], vec![0.0, 0.1, 0.7, 0.9]).unwrap(),
        ),
    ] {
        for tasks in [30usize, 100, 1000] {
            for spread in [0.0, 1e-3] {
                let problem = problem_of(vec![curve.clone(); tasks], 1.0);
                let mut random = Random::new(tasks as u64);
                let values: Vec<f64> =
                    (0..tasks).map(|_| 1.0 + spread * random.between(-1.0, 1.0)).collect();
                let (found, _) = solve(&problem, &values, 1.0);
                assert!(found.gap() <= 1e-9, "{name} K={tasks} spread {spread}: {}", brief(&found));
                assert!(
                    found.nodes <= 60,
                    "{name} K={tasks} spread {spread}: {} nodes",
                    found.nodes
                );
                assert!(
                    found.labels <= 2_000_000,
                    "{name} K={tasks} spread {spread}: {} states",
                    found.labels
                );
                if spread == 0.0 {
                    assert!(
                        found.spend.windows(2).all(|pair| pair[0] >= pair[1]),
                        "{name} K={tasks}: ties go to the lowest index"
                    );
                }
            }
        }
    }
}

#[test]
fn m_sets_fund_the_best_m() {
    for (tasks, funded) in [(10usize, 3usize), (49, 49), (100, 49), (1000, 7), (2000, 997)] {
        let problem = problem_of(vec![Curve::threshold(1.0 / funded as f64).unwrap(); tasks], 1.0);
        let mut random = Random::new(tasks as u64);
        let values: Vec<f64> = (0..tasks).map(|_| random.uniform()).collect();
        let (found, _) = solve(&problem, &values, 1.0);
        let mut order: Vec<usize> = (0..tasks).collect();
        order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
        let best: f64 = order[..funded.min(tasks)].iter().map(|&task| values[task]).sum();
        assert!((found.value - best).abs() <= 1e-12 * best, "K={tasks} M={funded}");
        assert_eq!(found.status, Status::Optimal);
        for (place, &task) in order.iter().enumerate() {
            assert_eq!(found.spend[task] > 0.0, place < funded, "K={tasks} M={funded} task {task}");
        }
    }
}

#[test]
fn spare_budget_is_reported_or_spent_as_asked() {
    let curves = vec![Curve::saturating(0.2).unwrap(), Curve::threshold(0.3).unwrap()];
    let problem = problem_of(curves, 1.0);
    let (kept, _) = solve(&problem, &[1.0, 1.0], 1.0);
    assert_eq!(kept.spend, vec![0.2, 0.3]);
    assert_eq!(kept.unspent, 0.5);
    assert_eq!(kept.unspent_reason, Some(UnspentReason::CurveFlat));
    let (spent, _) = solve_with(
        &problem,
        &[1.0, 1.0],
        1.0,
        &Options { leftover: Leftover::Spend, ..Options::default() },
    );
    assert_eq!(spent.spend.iter().sum::<f64>(), 1.0);
    assert_eq!(spent.unspent, 0.0);

    let mut task = TaskSpec::new("capped", Curve::exponential(1.0).unwrap());
    task.max = Some(0.25);
    let capped = ProblemSpec { tasks: vec![task], ..ProblemSpec::default() }.check().unwrap();
    let (found, _) = solve(&capped, &[1.0], 1.0);
    assert_eq!(
        (found.spend[0], found.unspent, found.unspent_reason),
        (0.25, 0.75, Some(UnspentReason::AtMax))
    );
}

#[test]
fn invalid_calls_are_rejected() {
    let problem = problem_of(vec![Curve::saturating(1.0).unwrap(); 2], 1.0);
    let mut oracle = Oracle::new(&problem);
    let mut refused = |values: &[f64], budget: f64, tolerance: f64| {
        let options = Options { tolerance, ..Options::default() };
        oracle.allocate(values, budget, &options).map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(refused(&[1.0], 1.0, 0.0), "values: 1 numbers for 2 tasks");
    assert_eq!(
        refused(&[1.0, -1.0], 1.0, 0.0),
        "values[1]: must be finite and not negative, not -1"
    );
    assert_eq!(
        refused(&[1.0, f64::NAN], 1.0, 0.0),
        "values[1]: must be finite and not negative, not NaN"
    );
    assert_eq!(
        refused(&[1.0, 1.0], f64::INFINITY, 0.0),
        "budget: must be finite and not negative, not inf"
    );
    assert_eq!(refused(&[1.0, 1.0], 1.0, f64::NAN), "tolerance: must be at least 0, not NaN");

    let mut tv = TaskSpec::new("tv", Curve::saturating(1.0).unwrap());
    tv.min = Some(0.6);
    let problem = ProblemSpec { tasks: vec![tv], ..ProblemSpec::default() }.check().unwrap();
    let error =
        Oracle::new(&problem).allocate(&[1.0], 0.5, &Options::default()).map(|_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "infeasible: lower bounds need 0.6, but the budget is 0.5 (largest: tv 0.6)"
    );
}

#[test]
fn nothing_to_gain_and_nothing_to_spend() {
    let problem = problem_of(
        vec![
            Curve::power(0.5, 1.0).unwrap(),
            Curve::hill(0.5, 2.0).unwrap(),
            Curve::threshold(0.2).unwrap(),
        ],
        1.0,
    );
    let (found, _) = solve(&problem, &[0.0; 3], 1.0);
    assert_eq!((found.value, found.upper_bound, found.unspent), (0.0, 0.0, 1.0));
    let (found, _) = solve(&problem, &[1.0; 3], 0.0);
    assert_eq!((found.value, found.spend, found.unspent), (0.0, vec![0.0; 3], 0.0));
    // A group of equal thresholds that no budget reaches must not make the price infinite.
    let (found, _) =
        solve(&problem_of(vec![Curve::threshold(0.5).unwrap(); 3], 1.0), &[1.0; 3], 0.0);
    assert!(found.price.is_finite());
}

#[test]
fn limits_are_counted_and_reported() {
    // Strongly correlated steps: the hard class of knapsacks.
    let mut random = Random::new(5);
    let curves = (0..200).map(|_| {
        let at = random.between(0.005, 0.02);
        Curve::steps(vec![at], vec![0.2 + 0.8 * at / 0.02]).unwrap()
    });
    let problem = problem_of(curves.collect(), 1.0);
    let options = Options { max_labels: 20_000, ..Options::default() };
    let (first, _) = solve_with(&problem, &[1.0; 200], 1.0, &options);
    let (again, _) = solve_with(&problem, &[1.0; 200], 1.0, &options);
    assert_eq!(first, again, "limits count work, so the answer is the same every time");
    assert_eq!(first.status, Status::Limit);
    assert!(first.gap() < 1e-2, "{:e}", first.gap());
}

#[test]
fn two_groups_of_equal_thresholds_beside_smooth_curves() {
    let threshold = |at: f64| Curve::threshold(at).unwrap();
    let hill = |half: f64, steepness: f64| Curve::hill(half, steepness).unwrap();
    let curves = vec![
        threshold(12.73),
        threshold(12.73),
        threshold(5.94),
        hill(12.8, 1.83),
        hill(4.79, 1.26),
        threshold(5.94),
        hill(18.81, 2.56),
    ];
    let values = [0.109, 0.976, 0.613, 0.267, 0.801, 0.026, 0.628];
    let problem = problem_of(curves, 14.0);
    let (found, _) = solve(&problem, &values, 14.0);
    assert!(found.gap() <= 1e-9);
    assert!(found.value >= grid_optimum(&problem, &values, 14.0, 300) * (1.0 - 1e-9));
}

#[test]
fn the_price_is_the_marginal_value_if_one_task_takes_all() {
    let exponential = || Curve::exponential(10.0).unwrap();
    for curves in [
        vec![exponential(), exponential()],
        vec![Curve::hill(2.0, 3.0).unwrap(), exponential()],
        vec![exponential()],
    ] {
        let problem = problem_of(curves.clone(), 10.0);
        let values = [1.0, 0.01][..curves.len()].to_vec();
        let (found, checked) = solve(&problem, &values, 10.0);
        let (more, _) = solve(&problem, &values, 10.0 * (1.0 + 1e-6));
        let worth = (more.value - found.value) / 1e-5;
        assert!((found.price - worth).abs() <= 1e-3 * worth, "{} against {worth}", found.price);
        assert!(checked.price_proves_bound);
    }
}

#[test]
fn huge_and_tiny_values_do_not_overflow() {
    let curves = vec![
        Curve::saturating(1e-9).unwrap(),
        Curve::exponential(1.0).unwrap(),
        Curve::hill(1.0, 2.0).unwrap(),
    ];
    for values in [[1e300, 1.0, 1e-300], [1e-300, 1e-310, 1e-320], [1e305, 1e305, 1e305]] {
        let problem = problem_of(curves.clone(), 3.0);
        let (found, _) = solve(&problem, &values, 3.0);
        assert!(found.value.is_finite() && found.gap() <= 1e-9, "{values:?}: {found:?}");
    }
}
