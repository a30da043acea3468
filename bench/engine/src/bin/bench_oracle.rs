//! Solves problem files repeatedly and prints the times as JSON, one line per file. `bench/run
//! oracle` compares them with other solvers on the same files.
//!
//! `bench_oracle SECONDS TOLERANCE FILE…`: seconds for each figure, and the relative gap at which a
//! search may stop.
#![allow(clippy::print_stdout, reason = "its output is its purpose")]

use std::error::Error;
use std::hint::black_box;

use outlay::problem::NoFiles;
use outlay::{Options, Oracle, Problem};
use outlay_bench_engine::clock::{CYCLE, Effort, time};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = || {
        arguments
            .next()
            .ok_or("usage: bench_oracle SECONDS TOLERANCE FILE…")?
            .parse::<f64>()
            .map_err(Box::<dyn Error>::from)
    };
    let effort = Effort { seconds: number()?, blocks: 2000 };
    let options = Options { tolerance: number()?, ..Options::default() };
    for path in arguments {
        let problem = Problem::from_json(&std::fs::read_to_string(&path)?, &NoFiles)?;
        let values: Vec<f64> =
            problem.tasks().iter().map(|task| task.value().unwrap_or(1.0)).collect();
        let mut oracle = Oracle::new(&problem);
        let cold = time(effort, || {
            oracle.reset();
            let _ = black_box(oracle.allocate(black_box(&values), problem.budget(), &options));
        });
        // As in the rounds of a learner, every value moves by up to half a percent.
        let moving: Vec<Vec<f64>> = (0..CYCLE)
            .map(|round| {
                values
                    .iter()
                    .enumerate()
                    .map(|(task, value)| {
                        value * (1.0 + 0.005 * ((task * 7 + round * 13) as f64).sin())
                    })
                    .collect()
            })
            .collect();
        let mut round = 0;
        let warm = time(effort, || {
            round += 1;
            let _ = black_box(oracle.allocate(
                black_box(&moving[round % CYCLE]),
                problem.budget(),
                &options,
            ));
        });
        oracle.reset();
        let answer = oracle.allocate(&values, problem.budget(), &options)?;
        let line = serde_json::json!({
            "file": path,
            "cold_seconds": cold,
            "warm_seconds": warm,
            "value": answer.value,
            "upper_bound": answer.upper_bound,
            "gap": answer.gap(),
            "status": answer.status,
            "nodes": answer.nodes,
            "states": answer.labels,
            "spend": answer.spend,
        });
        println!("{line}");
    }
    Ok(())
}
