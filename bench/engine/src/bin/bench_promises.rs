//! Solves problem files at the default limits, checks each answer from the curves alone, and prints
//! the certificates as JSON, one line per file. `bench/promises/run` compares them with HiGHS.
//!
//! `bench_promises FILE…`
#![allow(clippy::print_stdout, reason = "its output is its purpose")]

use std::error::Error;
use std::hint::black_box;

use outlay::oracle::recheck;
use outlay::problem::NoFiles;
use outlay::{Options, Oracle, Problem};
use outlay_bench_engine::clock::{Effort, LONG_SECONDS, long, time};

/// Short calls are repeated for this long; the fastest block counts.
const EFFORT: Effort = Effort { seconds: 0.02, blocks: 200 };

fn main() -> Result<(), Box<dyn Error>> {
    for path in std::env::args().skip(1) {
        println!("{}", solve(&path).map_err(|error| format!("{path}: {error}"))?);
    }
    Ok(())
}

fn solve(path: &str) -> Result<serde_json::Value, Box<dyn Error>> {
    let problem = Problem::from_json(&std::fs::read_to_string(path)?, &NoFiles)?;
    let values = problem.values().ok_or("a task has no value")?;
    let options = Options::default();
    let mut oracle = Oracle::new(&problem);
    let mut outcome = Ok(());
    let mut cold = || {
        oracle.reset();
        outcome = oracle.allocate(black_box(&values), problem.budget(), &options).map(drop);
    };
    let first = long(&mut cold);
    let seconds = if first < LONG_SECONDS { time(EFFORT, cold) } else { first };
    outcome?;
    let answer = oracle.last();
    recheck(&problem, &values, answer)?;
    Ok(serde_json::json!({
        "seconds": seconds,
        "value": answer.value,
        "upper_bound": answer.upper_bound,
        "gap": answer.gap(),
        "status": answer.status,
        "spend": answer.spend,
    }))
}
