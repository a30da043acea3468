//! The engine next to what the machine itself needs, call by call in one process. Prints a line of
//! JSON a case.
//!
//! `bench_limits SECONDS [FAMILY…]`: seconds for a case; families as in the list below, all without
//! one.
#![allow(clippy::print_stdout, unreachable_pub, missing_docs, reason = "its output is its purpose")]

#[path = "../benches/oracle/clock.rs"]
#[allow(dead_code, reason = "shared with the benchmarks")]
mod clock;
#[path = "../benches/limits/dense.rs"]
mod dense;
#[path = "../benches/limits/empirical.rs"]
mod empirical;
#[path = "../benches/limits/hill.rs"]
mod hill;
#[path = "../benches/oracle/instances.rs"]
#[allow(dead_code, clippy::unwrap_used, reason = "shared with the benchmarks")]
mod instances;
#[path = "../benches/oracle/limits.rs"]
#[allow(dead_code, reason = "shared with the benchmarks")]
mod limits;
#[path = "../benches/limits/solve.rs"]
mod solve;
#[path = "../benches/limits/steps.rs"]
mod steps;
#[path = "../benches/limits/threads.rs"]
mod threads;
#[path = "../benches/limits/turns.rs"]
mod turns;

use std::error::Error;

use serde_json::Value;
use turns::Effort;

/// Cases of one family, each with its figures.
type Measure = fn(Effort) -> Vec<Value>;

/// One file of `benches/limits` a family. A new one is a file there and a line here.
const FAMILIES: [(&str, Measure); 5] = [
    ("dense", dense::measure),
    ("threads", threads::measure),
    ("hill", hill::measure),
    ("steps", steps::measure),
    ("empirical", empirical::measure),
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (seconds, wanted) =
        arguments.split_first().ok_or("usage: bench_limits SECONDS [FAMILY…]")?;
    let effort = Effort { seconds: seconds.parse()?, stretches: 5 };
    for (name, measure) in FAMILIES {
        if wanted.is_empty() || wanted.iter().any(|family| family == name) {
            for case in measure(effort) {
                println!("{case}");
            }
        }
    }
    Ok(())
}
