//! Nothing is allocated per call after the first ones: rounds are counted in millions.

mod support;

use std::alloc::System;

use outlay::{Options, Oracle};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use support::*;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// One test in this file: the counter is the whole process's.
#[test]
fn no_allocation_after_the_first_calls() {
    for (mix, tasks) in
        [(Mix::Concave, 300), (Mix::Hill, 60), (Mix::Logistic, 60), (Mix::Steps, 60), (Mix::Piecewise, 60), (Mix::Anything, 60)]
    {
        let mut random = Random::new(3);
        let (problem, values) = random_problem(&mut random, mix, tasks);
        let mut oracle = Oracle::new(&problem);
        let rounds: Vec<(Vec<f64>, f64)> =
            (0..40).map(|_| (values.iter().map(|value| value * random.between(0.9, 1.1)).collect(), random.between(0.8, 1.2))).collect();
        let play = |oracle: &mut Oracle| {
            for (values, budget) in &rounds {
                oracle.allocate(values, *budget, &Options::default()).unwrap();
            }
        };
        // Buffers grow to what the hardest round needs; a second pass over the same rounds needs nothing more.
        play(&mut oracle);
        oracle.forget();
        play(&mut oracle);
        oracle.forget();
        let region = Region::new(ALLOCATOR);
        play(&mut oracle);
        let change = region.change();
        assert_eq!((change.allocations, change.reallocations), (0, 0), "{mix:?}: {change:?}");
    }
}
