//! Simulates rounds and prints their times as JSON. `bench/run rounds` compares them with other
//! programs.
//!
//! ```text
//! bench_rounds rounds INSTANCE LEARNER HORIZON SECONDS
//!     the fastest of repeated replications; the learner may be `by-hand`
//! bench_rounds parts INSTANCE SECONDS     times of the parts of a hand-written round
//! bench_rounds instance INSTANCE HORIZON     exponents and means of power curves, means of arms
//! ```
#![allow(clippy::print_stdout, reason = "its output is its purpose")]

use std::error::Error;

use outlay::Problem;
use outlay::instance::Instance;
use outlay_bench_engine::by_hand;
use outlay_bench_engine::clock::Effort;
use outlay_bench_engine::play;
use serde_json::json;

/// The seed of all runs.
const SEED: u64 = 1;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let answer = match arguments[..] {
        ["rounds", instance, learner, horizon, seconds] => {
            let horizon = horizon.parse()?;
            let effort = Effort { seconds: seconds.parse()?, blocks: 2000 };
            let measured = play::measure(instance, learner, horizon, SEED, effort)?;
            json!({
                "instance": instance, "learner": learner, "horizon": horizon,
                "rounds_per_second": measured.rounds_per_second, "regret": measured.regret, "oracle_gap": measured.oracle_gap,
            })
        }
        ["parts", instance, seconds] => {
            let problem = problem(instance, 1000)?;
            let (exponents, _) = by_hand::powers(&problem).ok_or("only power curves have parts")?;
            let parts =
                by_hand::parts(&exponents, Effort { seconds: seconds.parse()?, blocks: 2000 });
            json!({
                "instance": instance, "tasks": exponents.len(), "draws_seconds": parts.draws, "indices_seconds": parts.indices,
                "pass_seconds": parts.pass, "success_seconds": parts.success,
            })
        }
        ["instance", instance, horizon] => {
            let problem = problem(instance, horizon.parse()?)?;
            let means: Vec<f64> = problem
                .tasks()
                .iter()
                .filter_map(|task| task.reward())
                .map(outlay::RewardLaw::mean)
                .collect();
            let exponents = by_hand::powers(&problem).map(|(exponents, _)| exponents);
            json!({ "instance": instance, "means": means, "exponents": exponents })
        }
        _ => return Err(
            "usage: bench_rounds rounds|parts|instance INSTANCE …; the source says what follows"
                .into(),
        ),
    };
    println!("{answer}");
    Ok(())
}

fn problem(instance: &str, horizon: u64) -> Result<Problem, Box<dyn Error>> {
    Ok(instance.parse::<Instance>()?.problem(horizon, SEED)?)
}
