//! Steps that the price alone cannot distinguish: the cardinality bound is valid, and it closes the
//! gap of the search.

use outlay::{Curve, Options, Problem, Status};

use crate::support::*;

/// A step curve in which every jump is worth a fixed amount plus a rate per unit of spend.
fn correlated_curve(random: &mut Random, share: f64, jumps: usize) -> Curve {
    let mut at: Vec<f64> = (0..jumps).map(|_| random.between(0.001, 1.0)).collect();
    at.sort_by(f64::total_cmp);
    let full = 0.2 * jumps as f64 + 0.8;
    let success = at
        .iter()
        .enumerate()
        .map(|(jump, at)| (0.2 * (jump + 1) as f64 + 0.8 * at) / full)
        .collect();
    Curve::steps(at.iter().map(|at| 8.0 * share * at).collect(), success).unwrap()
}

/// Values differ by up to the share `spread`.
fn correlated(
    random: &mut Random,
    tasks: usize,
    jumps: usize,
    spread: f64,
) -> (Problem, Vec<Curve>, Vec<f64>) {
    let curves: Vec<Curve> = (0..tasks)
        .map(|_| {
            let jumps = 1 + random.below(jumps);
            correlated_curve(random, 1.0 / tasks as f64, jumps)
        })
        .collect();
    let values = (0..tasks).map(|_| random.between(1.0 - spread, 1.0 + spread)).collect();
    (problem_of(curves.clone(), 1.0), curves, values)
}

/// However early the search stops, the bounds are not below the best combination of jumps, and
/// counting lowers them.
#[test]
fn counting_never_bounds_below_the_optimum() {
    let mut lowered = 0;
    for seed in 0..3000 {
        let mut random = Random::new(seed);
        let (most, jumps) = [(12, 1), (7, 3)][seed as usize % 2];
        let tasks = 2 + random.below(most - 1);
        let spread = [0.0, 1e-3, 0.05, 0.9][random.below(4)];
        let (problem, curves, values) = correlated(&mut random, tasks, jumps, spread);
        let truth = steps_optimum(&curves, &values, 1.0);
        for max_labels in [0, 2, 12] {
            let options = Options { max_labels, ..Options::default() };
            let (found, checked) = solve_with(&problem, &values, 1.0, &options);
            let context = format!("seed {seed}, {max_labels} states: {found:?}");
            assert!(found.upper_bound >= truth * (1.0 - 1e-13), "bound below {truth}, {context}");
            assert!(found.value <= truth * (1.0 + 1e-12), "above {truth}, {context}");
            lowered += usize::from(
                found.status == Status::Limit
                    && found.upper_bound < checked.dual_bound * (1.0 - 1e-3),
            );
        }
    }
    assert!(lowered > 300, "lowered {lowered} times");
}

/// Equal and nearly equal values: the gap is within a millionth, where the dual bound leaves some
/// ten-thousandths.
#[test]
fn correlated_steps_are_certified_to_a_millionth() {
    let options = Options { tolerance: 1e-6, ..Options::default() };
    for (tasks, spread) in [(100, 0.0), (1000, 0.0), (3000, 0.0), (1000, 1e-3)] {
        for seed in 0..4 {
            let mut random = Random::new(seed);
            let (problem, _, values) = correlated(&mut random, tasks, 1, spread);
            let (found, checked) = solve_with(&problem, &values, 1.0, &options);
            assert_ne!(
                found.status,
                Status::Limit,
                "K = {tasks} +-{spread} seed {seed}: {}",
                brief(&found)
            );
            assert!(
                checked.dual_bound > found.upper_bound,
                "K = {tasks} seed {seed}: nothing was to be closed"
            );
        }
    }
}

/// Combinations of many tasks are searched only for gaps below the default tolerance.
#[test]
fn a_larger_tolerance_takes_less_work() {
    let labels = |tolerance: f64| -> u64 {
        let options = Options { tolerance, ..Options::default() };
        let solved = (0..4).map(|seed| {
            let mut random = Random::new(seed);
            let (problem, _, values) = correlated(&mut random, 1000, 1, 0.0);
            solve_with(&problem, &values, 1.0, &options).0.labels
        });
        solved.sum()
    };
    let (within_a_millionth, by_default) = (labels(1e-6), labels(Options::default().tolerance));
    assert!(
        10 * within_a_millionth < by_default,
        "{within_a_millionth} labels instead of {by_default}"
    );
}

/// With equal values, `n` jumps that cost the whole budget are worth `0.2 n` plus 0.8 times the
/// budget in their unit; the largest `n` is the number of cheapest jumps that fit.
#[test]
fn equal_values_match_the_count() {
    for seed in 0..20 {
        let mut random = Random::new(100 + seed);
        let tasks = 400;
        let (problem, curves, values) = correlated(&mut random, tasks, 1, 0.0);
        let mut costs: Vec<f64> = curves.iter().map(Curve::saturates_at).collect();
        costs.sort_by(f64::total_cmp);
        let mut left = 1.0;
        let count = costs.iter().take_while(|&&cost| {
            left -= cost;
            left >= 0.0
        });
        let most = 0.2 * count.count() as f64 + 0.8 * tasks as f64 / 8.0;
        let (found, _) = solve(&problem, &values, 1.0);
        assert!(
            found.upper_bound <= most * (1.0 + 1e-11),
            "seed {seed}: {} above {most}",
            found.upper_bound
        );
        assert!(
            found.value <= most * (1.0 + 1e-12) && found.gap() <= 1e-8,
            "seed {seed}: {most} gap {:e} {}",
            found.gap(),
            brief(&found)
        );
    }
}
