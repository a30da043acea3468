//! How time and memory grow. One point per process, because memory is the largest resident size of
//! the process. Prints one line of JSON.
//!
//! ```text
//! bench_growth tasks power|mixed|hill|steps K SECONDS     one instance, cold and warm
//! bench_growth jumps J SECONDS     a hundred tasks of J jumps each, cold and warm
//! bench_growth rounds INSTANCE LEARNER HORIZON REPLICATIONS THREADS     simulated rounds through an experiment
//! ```
#![allow(clippy::print_stdout, reason = "its output is its purpose")]

mod campaign;
mod memory;

use std::error::Error;

use outlay_bench_engine::clock::{Effort, time};
use outlay_bench_engine::instances::{Kind, instance};
use outlay_bench_engine::solve::{Cold, Warm};
use serde_json::{Value, json};

/// The default tolerance of the oracle.
const TOLERANCE: f64 = 1e-9;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let answer = match arguments[..] {
        ["tasks", family, tasks, seconds] => {
            let kind = match family {
                "power" => Kind::Power,
                "mixed" => Kind::Concave,
                "hill" => Kind::Hill,
                "steps" => Kind::Steps,
                _ => return Err(format!("no such family: {family}").into()),
            };
            solved(kind, tasks.parse()?, seconds.parse()?)
        }
        ["jumps", jumps, seconds] => {
            solved(Kind::Stairs { jumps: jumps.parse()? }, 100, seconds.parse()?)
        }
        ["rounds", instance, learner, horizon, replications, threads] => campaign::play(
            instance,
            learner,
            horizon.parse()?,
            replications.parse()?,
            threads.parse()?,
        )?,
        _ => {
            return Err(
                "usage: bench_growth tasks|jumps|rounds …; the source says what follows".into()
            );
        }
    };
    println!("{answer}");
    Ok(())
}

fn solved(kind: Kind, tasks: usize, seconds: f64) -> Value {
    let effort = Effort { seconds, blocks: 2000 };
    let instance = instance(kind, tasks, 1);
    // The problem itself is in memory before the oracle is.
    let before = memory::now_bytes();
    let mut cold = Cold::new(&instance, TOLERANCE);
    let cold_gap = cold.gap();
    let grown = memory::peak_bytes().zip(before).map(|(peak, before)| peak.saturating_sub(before));
    let cold_seconds = time(effort, || cold.call());
    drop(cold);
    let mut warm = Warm::new(&instance, TOLERANCE);
    let gap = cold_gap.max(warm.gap());
    let warm_seconds = time(effort, || warm.call());
    json!({ "tasks": tasks, "cold_seconds": cold_seconds, "warm_seconds": warm_seconds, "gap": gap, "oracle_bytes": grown })
}
