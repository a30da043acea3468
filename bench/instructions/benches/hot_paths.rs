//! The hot paths, each called once under callgrind. What a `setup` does is not counted, nor is
//! dropping what a case returns.
#![allow(
    clippy::unwrap_used,
    unreachable_pub,
    missing_docs,
    reason = "a benchmark; a broken one must stop"
)]

#[path = "../../../crates/outlay/benches/oracle/clock.rs"]
#[allow(dead_code, reason = "shared with the benchmarks of the library")]
mod clock;
#[path = "../../../crates/outlay/benches/oracle/instances.rs"]
#[allow(dead_code, reason = "shared with the benchmarks of the library")]
mod instances;
#[path = "../../../crates/outlay/benches/limits/solve.rs"]
#[allow(dead_code, reason = "shared with the benchmarks of the library")]
mod solve;

use std::hint::black_box;
use std::sync::atomic::AtomicBool;

use gungraun::{library_benchmark, library_benchmark_group, main};
use instances::{Kind, Random, instance};
use outlay::feedback::{Completion, Feedback, Reward};
use outlay::fit::{Choice, Fitted, Observations, fit};
use outlay::instance::Instance;
use outlay::learner::{Learner, LearnerInputs, LearnerSpec, RoundContext};
use outlay::problem::NoFiles;
use outlay::simulation::{Play, Replication};
use outlay::{Problem, fit};
use solve::{Cold, Warm};

/// What the oracle promises by default.
const TOLERANCE: f64 = 1e-9;

/// Buffers have grown before: what later calls take is what is counted.
fn cold(kind: Kind, tasks: usize) -> Cold {
    let mut cold = Cold::new(&instance(kind, tasks, 1), TOLERANCE);
    cold.call();
    cold
}

fn warm(kind: Kind, tasks: usize) -> Warm {
    let mut warm = Warm::new(&instance(kind, tasks, 1), TOLERANCE);
    for _ in 0..3 {
        warm.call();
    }
    warm
}

#[library_benchmark(setup = cold)]
#[bench::power_10(Kind::Power, 10)]
#[bench::power_100(Kind::Power, 100)]
#[bench::power_10000(Kind::Power, 10_000)]
#[bench::mixed_10(Kind::Concave, 10)]
#[bench::mixed_100(Kind::Concave, 100)]
#[bench::mixed_10000(Kind::Concave, 10_000)]
#[bench::hill_10(Kind::Hill, 10)]
#[bench::hill_100(Kind::Hill, 100)]
#[bench::hill_10000(Kind::Hill, 10_000)]
#[bench::steps_10(Kind::Steps, 10)]
#[bench::steps_100(Kind::Steps, 100)]
#[bench::steps_10000(Kind::Steps, 10_000)]
fn allocate_cold(mut oracle: Cold) -> Cold {
    oracle.call();
    oracle
}

#[library_benchmark(setup = warm)]
#[bench::power_10(Kind::Power, 10)]
#[bench::power_100(Kind::Power, 100)]
#[bench::power_10000(Kind::Power, 10_000)]
#[bench::mixed_10(Kind::Concave, 10)]
#[bench::mixed_100(Kind::Concave, 100)]
#[bench::mixed_10000(Kind::Concave, 10_000)]
#[bench::hill_10(Kind::Hill, 10)]
#[bench::hill_100(Kind::Hill, 100)]
#[bench::hill_10000(Kind::Hill, 10_000)]
#[bench::steps_10(Kind::Steps, 10)]
#[bench::steps_100(Kind::Steps, 100)]
#[bench::steps_10000(Kind::Steps, 10_000)]
fn allocate_warm(mut oracle: Warm) -> Warm {
    oracle.call();
    oracle
}

/// Enough rounds that the first ones, which cost more, do not decide.
const ROUNDS: u64 = 1000;

fn game(instance: &str, learner: &str) -> (Problem, LearnerSpec) {
    (instance.parse::<Instance>().unwrap().problem(ROUNDS, 1).unwrap(), learner.parse().unwrap())
}

#[library_benchmark(setup = game)]
#[bench::paper_10("power:tasks=10", "algorithm-1")]
#[bench::sharp_10("power:tasks=10", "kl-ucb-plus")]
#[bench::cucb_armed("k-armed", "cucb")]
fn thousand_rounds((problem, learner): (Problem, LearnerSpec)) -> (Problem, Replication) {
    let play = Play {
        problem: &problem,
        learner: &learner.into(),
        feedback: learner.entry().feedback,
        horizon: ROUNDS,
        seed: 1,
    };
    let replication = play.run(&AtomicBool::new(false)).unwrap().unwrap();
    (problem, replication)
}

/// A learner after a few hundred rounds in which every task completed now and then.
fn taught(learner: &str) -> (Box<dyn Learner>, Vec<f64>) {
    let (problem, spec) = game("power:tasks=10", learner);
    let mut learner = spec
        .build(&LearnerInputs {
            problem: &problem,
            horizon: Some(ROUNDS),
            feedback: Feedback::Censored,
            seed: 1,
        })
        .unwrap();
    let mut weights = vec![0.0; problem.tasks().len()];
    for round in 1..=300 {
        decide_and_learn(&mut *learner, round, &mut weights);
    }
    (learner, weights)
}

fn decide_and_learn(learner: &mut dyn Learner, round: u64, weights: &mut [f64]) {
    learner.decide(&RoundContext { round, budget: 1.0, available: None }, weights);
    let reward = if round.is_multiple_of(3) { Reward::MOST } else { Reward::NONE };
    let task = round as usize % weights.len();
    learner.observe_completed(&[
        Completion { task, reward },
        Completion { task: (task + 3) % weights.len(), reward },
    ]);
}

#[library_benchmark(setup = taught)]
#[bench::paper("algorithm-1")]
#[bench::sharp("kl-ucb-plus")]
#[bench::tight("kl-ucb-mixture")]
#[bench::cucb("cucb")]
fn ten_index_updates(
    (mut learner, mut weights): (Box<dyn Learner>, Vec<f64>),
) -> (Box<dyn Learner>, Vec<f64>) {
    for round in 301..=310 {
        decide_and_learn(&mut *learner, round, black_box(&mut weights));
    }
    (learner, weights)
}

/// Sixty tries whose success follows an exponential curve.
fn record() -> Observations {
    let mut random = Random::new(1);
    let rows = (0..60).map(|row| {
        (f64::from(row % 12), random.uniform() < 1.0 - (-f64::from(row % 12) / 4.0).exp())
    });
    Observations::of_outcomes(rows.collect::<Vec<_>>()).unwrap()
}

#[library_benchmark(setup = record)]
#[bench::exponential()]
fn fit_small_record(log: Observations) -> Fitted {
    fit(black_box(&log), Choice::One(fit::Family::Exponential), &fit::Options::default()).unwrap()
}

fn text() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/shop-ads.toml"))
        .unwrap()
}

#[library_benchmark(setup = text)]
#[bench::shop_ads()]
fn read_problem(text: String) -> Problem {
    Problem::from_toml(black_box(&text), &NoFiles).unwrap()
}

library_benchmark_group!(
    name = hot_paths,
    benchmarks = [
        allocate_cold,
        allocate_warm,
        thousand_rounds,
        ten_index_updates,
        fit_small_record,
        read_problem
    ]
);
main!(library_benchmark_groups = hot_paths);
