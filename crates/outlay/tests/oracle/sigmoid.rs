//! S-shaped curves, which are handled four at a time: against brute force, against the dual
//! function computed one by one from the curves, and against themselves at other positions in the
//! problem.

use outlay::oracle::dual_bound;
use outlay::{Curve, Options, Oracle, Problem, ProblemSpec, TaskSpec};

use crate::support::*;

/// Curves from nearly concave to nearly steps, with and without floors and ceilings, for a budget
/// of one.
fn odd_curve(random: &mut Random, share: f64) -> Curve {
    let half = share * random.between(0.3, 8.0);
    let curve = match random.below(8) {
        0 => Curve::hill(half, 1.0 + 10f64.powf(random.between(-9.0, -1.0))),
        1 => Curve::hill(half, 10f64.powf(random.between(1.0, 3.0))),
        2 => Curve::hill(half, random.between(0.3, 1.0)),
        3 => Curve::logistic(0.0, half),
        4 => Curve::logistic(half, half * 10f64.powf(random.between(-3.0, 1.0))),
        5 => Curve::logistic(half, half * random.between(0.1, 0.5)),
        _ => Curve::hill(half, random.between(1.2, 6.0)),
    };
    match random.below(4) {
        0 => curve
            .unwrap()
            .with_ceiling(random.between(0.5, 0.9))
            .unwrap()
            .with_floor(random.between(0.0, 0.4))
            .unwrap(),
        _ => curve.unwrap(),
    }
}

fn odd_problem(random: &mut Random, tasks: usize, budget: f64) -> (Problem, Vec<f64>) {
    let share = 1.0 / tasks as f64;
    let specs = (0..tasks).map(|task| {
        let mut spec = TaskSpec::new(format!("t{task}"), odd_curve(random, share));
        match random.below(8) {
            0 => spec.min = Some(budget * share * random.between(0.0, 0.9)),
            1 => spec.max = Some(share * random.between(0.1, 4.0)),
            2 => spec.at_least = Some(share * random.between(0.1, 6.0)),
            3 => {
                (spec.min, spec.max) = (
                    Some(budget * share * 0.2),
                    Some(budget.max(1.0) * share * random.between(0.3, 3.0)),
                )
            }
            _ => {}
        }
        spec
    });
    let specs = specs.collect();
    let value =
        |random: &mut Random| if random.below(6) == 0 { 0.0 } else { random.between(0.05, 1.0) };
    let values = (0..tasks).map(|_| value(random)).collect();
    (ProblemSpec { budget, tasks: specs, ..ProblemSpec::default() }.check().unwrap(), values)
}

#[test]
fn odd_s_curves_are_never_below_a_grid_and_bounds_never_below_it() {
    for seed in 0..1500 {
        let mut random = Random::new(seed);
        let tasks = 1 + random.below(6);
        let budget = 10f64.powi(random.below(5) as i32 - 2);
        let (problem, values) = odd_problem(&mut random, tasks, budget);
        let (found, _) = solve(&problem, &values, budget);
        let truth = grid_optimum(&problem, &values, budget, 100);
        // With bounds off the grid it may miss splits, but all its splits are feasible.
        assert!(
            found.upper_bound >= truth * (1.0 - 1e-13),
            "seed {seed}: bound {} below {truth}\n{found:?}",
            found.upper_bound
        );
        assert!(
            found.value >= truth * (1.0 - 1e-8),
            "seed {seed}: {} below {truth}\n{found:?}",
            found.value
        );
        assert!(found.gap() <= 1e-8, "seed {seed}: gap {:e}\n{found:?}", found.gap());
    }
}

/// If the first relaxation is enough, the bound is the dual function at the price, which
/// `dual_bound` computes curve by curve. Otherwise it is no larger.
#[test]
fn bounds_are_the_dual_function_computed_one_by_one() {
    let mut settled = 0;
    for seed in 0..3000 {
        let mut random = Random::new(20_000 + seed);
        let tasks = 1 + random.below(60);
        let budget = 10f64.powi(random.below(6) as i32 - 3);
        let (problem, values) = odd_problem(&mut random, tasks, budget);
        let (found, _) = solve(&problem, &values, budget);
        let dual = dual_bound(&problem, &values, budget, found.price);
        assert!(
            found.upper_bound <= dual * (1.0 + 1e-12),
            "seed {seed}: {} above {dual}",
            found.upper_bound
        );
        if found.nodes == 1 && found.price > 0.0 {
            settled += 1;
            assert!(
                found.upper_bound >= dual * (1.0 - 1e-12),
                "seed {seed}: {} below {dual}\n{found:?}",
                found.upper_bound
            );
        }
    }
    assert!(settled > 300, "only {settled}");
}

/// Worthless tasks in front move every curve to another lane, and another curve into the last four.
#[test]
fn the_place_of_a_task_does_not_matter() {
    for seed in 0..120 {
        let mut random = Random::new(40_000 + seed);
        let tasks = 1 + random.below(14);
        let curves: Vec<Curve> =
            (0..tasks).map(|_| odd_curve(&mut random, 1.0 / tasks as f64)).collect();
        let values: Vec<f64> = (0..tasks).map(|_| random.between(0.05, 1.0)).collect();
        let (plain, _) = solve(&problem_of(curves.clone(), 1.0), &values, 1.0);
        for ahead in 1..=4 {
            let worthless = |task: usize| {
                if task.is_multiple_of(2) {
                    Curve::hill(0.3, 2.0)
                } else {
                    Curve::logistic(0.3, 0.1)
                }
            };
            let moved = (0..ahead)
                .map(|task| worthless(task).unwrap())
                .chain(curves.iter().cloned())
                .collect();
            let more: Vec<f64> =
                std::iter::repeat_n(0.0, ahead).chain(values.iter().copied()).collect();
            let (found, _) = solve(&problem_of(moved, 1.0), &more, 1.0);
            let context = || format!("seed {seed}, {ahead} ahead\n{plain:?}\n{found:?}");
            assert!((found.value - plain.value).abs() <= 2e-9 * plain.value, "{}", context());
            if plain.gap() < 1e-13 && found.gap() < 1e-13 {
                assert!(
                    (found.upper_bound - plain.upper_bound).abs() <= 1e-13 * plain.value,
                    "{}",
                    context()
                );
            }
        }
    }
}

/// The price falls far below its start, so that further tasks become active.
#[test]
fn warm_calls_follow_budgets_and_values_up_and_down() {
    for seed in 0..40 {
        let mut random = Random::new(60_000 + seed);
        let tasks = if seed % 4 == 0 { 600 } else { 1 + random.below(40) };
        let (problem, mut values) = odd_problem(&mut random, tasks, 1.0);
        let least: f64 = problem.tasks().iter().map(|task| task.bounds().min).sum();
        let mut warm = Oracle::new(&problem);
        for _ in 0..8 {
            let budget = (10f64.powf(random.between(-3.0, 2.0))).max(least);
            values.iter_mut().for_each(|value| *value *= random.between(0.2, 2.0));
            let answer = warm.allocate(&values, budget, &Options::default()).unwrap().clone();
            certified(&problem, &values, &answer);
            let (cold, _) = solve(&problem, &values, budget);
            assert!(
                (answer.value - cold.value).abs() <= 2e-9 * cold.value,
                "seed {seed}: {} cold {}",
                answer.value,
                cold.value
            );
        }
    }
}

/// Two nearly equal tasks, of which the budget funds one: neither may be pruned because the other
/// is within the tolerance.
#[test]
fn a_split_that_is_better_by_less_than_the_tolerance_stays_below_the_bound() {
    let mut searched = 0;
    for seed in 0..400 {
        let mut random = Random::new(80_000 + seed);
        let (half, steepness) = (random.between(0.4, 0.7), random.between(4.0, 9.0));
        let nearly = half * (1.0 + random.between(-1.0, 1.0) * 1e-9);
        let problem = problem_of(
            vec![Curve::hill(half, steepness).unwrap(), Curve::hill(nearly, steepness).unwrap()],
            1.0,
        );
        let values = [1.0, 1.0 + random.between(-1.0, 1.0) * 1e-9];
        let all_on = |task: usize| values[task] * problem.tasks()[task].curve().success(1.0);
        let better = all_on(0).max(all_on(1));
        for tolerance in [1e-9, 1e-10, 0.0] {
            let options = Options { tolerance, ..Options::default() };
            let (found, _) = solve_with(&problem, &values, 1.0, &options);
            assert!(
                found.upper_bound >= better * (1.0 - 1e-15),
                "seed {seed}: bound {} below {better}",
                found.upper_bound
            );
            assert!(
                found.value >= better * (1.0 - tolerance - 1e-14),
                "seed {seed}: {} below {better}",
                found.value
            );
            searched += usize::from(found.nodes > 1);
        }
    }
    assert!(searched > 500, "only {searched}");
}

/// A node that cannot be cut further keeps its bound with the rounding of its sums. With tolerance
/// zero the search ends at such nodes, and a bound equal to the value would claim more than was
/// computed.
#[test]
fn the_bound_of_a_node_that_cannot_be_cut_stays() {
    let mut searched = 0;
    for seed in 0..300 {
        let mut random = Random::new(90_000 + seed);
        let mix = [Mix::Hill, Mix::Logistic, Mix::Anything][seed as usize % 3];
        let tasks = 2 + random.below(30);
        let (problem, values) = random_problem(&mut random, mix, tasks);
        let options = Options { tolerance: 0.0, ..Options::default() };
        let (found, _) = solve_with(&problem, &values, 1.0, &options);
        if found.nodes > 1 {
            searched += 1;
            let rounding = found.upper_bound / found.value - 1.0;
            assert!(rounding >= 8.0 * f64::EPSILON, "seed {seed}: {rounding:e} {found:?}");
        }
    }
    assert!(searched > 100, "only {searched}");
}
