//! The oracle against brute force: values are attained, bounds are valid, gaps are within the
//! tolerance.

use outlay::{Curve, Status};

use crate::support::*;

#[test]
fn steps_equal_brute_force() {
    for seed in 0..1500 {
        let mut random = Random::new(seed);
        let tasks = 1 + random.below(6);
        let (problem, mut values) = random_problem(&mut random, Mix::Steps, tasks);
        if seed % 5 == 0 {
            values[0] = 0.0;
        }
        if seed % 3 == 0 {
            values.fill(0.5);
        }
        let curves: Vec<Curve> = problem.tasks().iter().map(|task| task.curve().clone()).collect();
        let (found, _) = solve(&problem, &values, 1.0);
        let truth = steps_optimum(&curves, &values, 1.0);
        assert!(
            (found.value - truth).abs() <= 1e-12 * truth,
            "seed {seed}: {} against {truth}",
            found.value
        );
        assert!(
            found.upper_bound >= truth * (1.0 - 1e-13),
            "seed {seed}: bound {} below {truth}",
            found.upper_bound
        );
        assert_eq!(found.status, Status::Optimal, "seed {seed}: {found:?}");
    }
}

#[test]
fn smooth_and_mixed_are_never_below_a_grid_and_bounds_never_below_it() {
    for (mix, tolerance) in [
        (Mix::Concave, 1e-12),
        (Mix::Hill, 1e-9),
        (Mix::Logistic, 1e-9),
        (Mix::Piecewise, 1e-9),
        (Mix::Anything, 1e-6),
    ] {
        for seed in 0..150 {
            let mut random = Random::new(seed);
            let tasks = 1 + random.below(5);
            let (problem, values) = random_problem(&mut random, mix, tasks);
            let (found, _) = solve(&problem, &values, 1.0);
            let truth = grid_optimum(&problem, &values, 1.0, 200);
            assert!(
                found.value >= truth * (1.0 - 1e-9),
                "{mix:?} seed {seed}: {} below {truth}\n{found:?}",
                found.value
            );
            assert!(
                found.upper_bound >= truth,
                "{mix:?} seed {seed}: bound {} below {truth}",
                found.upper_bound
            );
            assert!(
                found.gap() <= tolerance,
                "{mix:?} seed {seed}: gap {:e} {found:?}",
                found.gap()
            );
        }
    }
}

#[test]
fn larger_problems_reach_the_promised_gaps() {
    for (mix, sizes, tolerance) in [
        (Mix::Concave, &[10usize, 100, 1000, 10_000][..], 1e-12),
        (Mix::Hill, &[10, 30, 100, 1000], 1e-9),
        (Mix::Logistic, &[10, 30, 100, 1000], 1e-9),
        (Mix::Steps, &[10, 100, 1000, 10_000], 1e-13),
        (Mix::Piecewise, &[10, 100, 1000], 1e-6),
        (Mix::Anything, &[10, 30, 100, 1000], 1e-6),
    ] {
        for &tasks in sizes {
            for seed in 0..4 {
                let mut random = Random::new(1000 + seed);
                let (problem, values) = random_problem(&mut random, mix, tasks);
                let clock = std::time::Instant::now();
                let (found, _) = solve(&problem, &values, 1.0);
                println!(
                    "{mix:?} {tasks} seed {seed}: gap {:e} nodes {} states {} {:?}",
                    found.gap(),
                    found.nodes,
                    found.labels,
                    clock.elapsed()
                );
                assert!(
                    found.gap() <= tolerance,
                    "{mix:?} K={tasks} seed {seed}: gap {:e}, {} nodes, {} states",
                    found.gap(),
                    found.nodes,
                    found.labels
                );
            }
        }
    }
}
