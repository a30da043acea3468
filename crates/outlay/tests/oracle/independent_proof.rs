//! Bounds that a search lowered, proved again from the curves alone.

use outlay::oracle::prove;

use crate::support::*;

#[test]
fn search_bounds_are_proved_without_the_search() {
    for (mix, tasks, seeds) in [
        (Mix::Concave, 20, 10),
        (Mix::Hill, 12, 25),
        (Mix::Logistic, 12, 25),
        (Mix::Piecewise, 8, 25),
        (Mix::Anything, 12, 25),
        (Mix::Steps, 6, 25),
    ] {
        for seed in 0..seeds {
            let mut random = Random::new(7000 + seed);
            let (problem, values) = random_problem(&mut random, mix, tasks);
            let (found, _) = solve(&problem, &values, 1.0);
            let proof = prove(&problem, &values, &found, 20_000);
            assert!(proof.is_complete, "{mix:?} seed {seed}: {proof:?} against {}", brief(&found));
        }
    }
}

#[test]
fn a_bound_that_is_too_low_is_not_proved() {
    for seed in 0..20 {
        let mut random = Random::new(7100 + seed);
        let (problem, values) = random_problem(&mut random, Mix::Anything, 8);
        let (mut found, _) = solve(&problem, &values, 1.0);
        found.upper_bound = found.value * (1.0 - 1e-6);
        let proof = prove(&problem, &values, &found, 2_000);
        assert!(!proof.is_complete, "seed {seed}: {proof:?}");
        assert!(proof.bound >= found.value * (1.0 - 1e-12), "seed {seed}: {proof:?}");
    }
}
