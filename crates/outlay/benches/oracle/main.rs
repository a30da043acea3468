//! How fast the oracle is, next to Clarabel and to the machine's own limits: `cargo bench --bench oracle [-- --quick]`.
//!
//! Nothing is asserted: a loaded machine must not fail a build. Ratios are taken within one run.
#![allow(clippy::print_stdout, clippy::unwrap_used, unreachable_pub, missing_docs, reason = "a benchmark prints, and a broken one must stop")]

mod clock;
mod instances;

use std::hint::black_box;

use clock::{CYCLE, Effort, time};
use instances::{Instance, Kind, Random, instance};
use outlay::{Allocation, Options, Oracle};

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let effort = if quick { Effort { seconds: 0.03, blocks: 200 } } else { Effort { seconds: 0.3, blocks: 2000 } };
    let seeds = if quick { 1..2 } else { 1..4 };
    println!("kind K seed cold_us warm_us nodes states gap");
    let cases = [
        (Kind::Concave, vec![10, 100, 10_000, 1_000_000]),
        (Kind::Hill, vec![10, 100, 1000]),
        (Kind::Steps, vec![10, 100, 1000, 10_000]),
        (Kind::Empirical { samples: 2000 }, vec![100]),
        (Kind::Empirical { samples: 1000 }, vec![1000]),
        (Kind::Sets, vec![1000, 10_000]),
        (Kind::EqualHill, vec![100, 1000]),
        (Kind::Mixed, vec![100, 1000]),
    ];
    for (kind, sizes) in cases {
        for tasks in sizes {
            for seed in seeds.clone() {
                if tasks == 1_000_000 && seed > 1 {
                    continue;
                }
                let Instance { problem, values } = instance(kind, tasks, seed);
                let mut random = Random::new(seed + 1000);
                let jittered: Vec<Vec<f64>> =
                    (0..CYCLE).map(|_| values.iter().map(|value| value * random.between(0.995, 1.005)).collect()).collect();
                let mut oracle = Oracle::new(&problem);
                let options = Options::default();
                let cold = time(effort, || {
                    oracle.forget();
                    black_box(oracle.allocate(&values, 1.0, &options).unwrap());
                });
                let answer: Allocation = oracle.allocate(&values, 1.0, &options).unwrap().clone();
                let mut round = 0;
                let warm = time(effort, || {
                    round += 1;
                    black_box(oracle.allocate(&jittered[round % CYCLE], 1.0, &options).unwrap());
                });
                println!(
                    "{kind:?} {tasks} {seed} {:.2} {:.2} {} {} {:.1e}",
                    cold * 1e6,
                    warm * 1e6,
                    answer.nodes,
                    answer.states,
                    answer.gap()
                );
            }
        }
    }
}
