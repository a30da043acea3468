//! The oracle allocates nothing after its first calls, because rounds are counted in millions.

use outlay::{Curve, Options, Oracle, Problem};
use stats_alloc::Region;

use crate::ALLOCATOR;

use crate::support::*;

pub(crate) fn no_allocation_after_the_first_calls() {
    let mixes = [
        (Mix::Concave, 300),
        (Mix::Hill, 60),
        (Mix::Logistic, 60),
        (Mix::Steps, 60),
        (Mix::Piecewise, 60),
        (Mix::Anything, 60),
    ];
    for (mix, tasks) in mixes {
        let mut random = Random::new(3);
        let (problem, values) = random_problem(&mut random, mix, tasks);
        plays_without_allocating(&format!("{mix:?}"), &problem, &values, 0.1, &Options::default());
    }
    // One jump each, worth a fixed amount plus a rate per unit, and nearly equal values: jumps are
    // counted.
    let mut random = Random::new(4);
    let jump = |at: f64| Curve::steps(vec![at / 25.0], vec![0.2 + 0.8 * at]).unwrap();
    let curves = (0..200).map(|_| jump(random.between(0.01, 1.0))).collect();
    let options = Options { tolerance: 1e-6, ..Options::default() };
    plays_without_allocating("correlated", &problem_of(curves, 1.0), &[1.0; 200], 1e-3, &options);
    // Similar S-curves: funded tasks are counted.
    let hill = |_| Curve::hill(random.between(0.0196, 0.0204), random.between(7.2, 8.8)).unwrap();
    let problem = problem_of((0..100).map(hill).collect(), 1.0);
    plays_without_allocating("similar", &problem, &[0.5; 100], 0.02, &Options::default());
    mixtures_allocate_nothing(&mut random);
}

/// Tiers, and steps with a concave remainder; in the latter, every other round has value for the
/// steps alone.
fn mixtures_allocate_nothing(random: &mut Random) {
    let few_nodes = Options { max_nodes: 1, ..Options::default() };
    let mut tier = || {
        let (at, ramp) = (random.between(0.02, 0.1), random.between(0.002, 0.02));
        let spend = vec![0.0, at, at + ramp, 2.0 * at, 2.0 * at + ramp];
        Curve::piecewise(spend, vec![0.0, 0.0, 0.5, 0.5, 1.0]).unwrap()
    };
    let problem = problem_of((0..40).map(|_| tier()).collect(), 1.0);
    plays_without_allocating("tiers", &problem, &[0.5; 40], 0.1, &few_nodes);
    let mut curves: Vec<Curve> =
        (0..40).map(|_| Curve::threshold(random.between(0.02, 0.1)).unwrap()).collect();
    curves.extend((0..4).map(|_| Curve::exponential(random.between(0.05, 0.2)).unwrap()));
    let problem = problem_of(curves, 1.0);
    let mut values = [0.5; 44];
    plays_without_allocating("mixture", &problem, &values, 0.1, &few_nodes);
    values[40..].fill(0.0);
    plays_without_allocating("steps alone", &problem, &values, 0.1, &Options::default());
}

/// Forty rounds, with values that move by up to the share `spread`, are played a third time.
fn plays_without_allocating(
    name: &str,
    problem: &Problem,
    values: &[f64],
    spread: f64,
    options: &Options,
) {
    let mut random = Random::new(5);
    let mut oracle = Oracle::new(problem);
    let mut jitter =
        || values.iter().map(|value| value * random.between(1.0 - spread, 1.0 + spread)).collect();
    let moved: Vec<Vec<f64>> = (0..40).map(|_| jitter()).collect();
    let rounds: Vec<(Vec<f64>, f64)> =
        moved.into_iter().map(|values| (values, random.between(0.8, 1.2))).collect();
    let play = |oracle: &mut Oracle| {
        for (values, budget) in &rounds {
            oracle.allocate(values, *budget, options).unwrap();
        }
    };
    // Buffers grow to the size of the hardest round; a second pass over the same rounds allocates
    // nothing.
    play(&mut oracle);
    oracle.reset();
    play(&mut oracle);
    oracle.reset();
    let region = Region::new(ALLOCATOR);
    play(&mut oracle);
    let change = region.change();
    assert_eq!((change.allocations, change.reallocations), (0, 0), "{name}: {change:?}");
}
