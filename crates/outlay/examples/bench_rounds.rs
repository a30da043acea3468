//! Plays simulated rounds and prints what they took as JSON. `bench/rounds/run` compares it with other programs.
//!
//! ```text
//! bench_rounds rounds INSTANCE LEARNER HORIZON SECONDS     one replication again and again, the fastest counts; `by-hand` is a learner here
//! bench_rounds memory INSTANCE LEARNER HORIZON REPLICATIONS     all replications once, as an experiment
//! bench_rounds parts INSTANCE SECONDS     what the parts of a round take by hand
//! bench_rounds instance INSTANCE HORIZON     exponents and means of power curves, means of arms
//! ```
#![allow(clippy::print_stdout, unreachable_pub, missing_docs, reason = "its output is its purpose")]

#[path = "../benches/oracle/clock.rs"]
#[allow(dead_code, reason = "shared with the benchmark")]
mod clock;
#[path = "../benches/rounds/limits.rs"]
mod limits;
#[path = "../benches/rounds/play.rs"]
mod play;

use std::error::Error;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use clock::Effort;
use outlay::Problem;
use outlay::experiment::{Case, Experiment, Source};
use outlay::instance::Instance;
use serde_json::{Value, json};

/// Seed of everything.
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
        ["memory", instance, learner, horizon, replications] => memory(instance, learner, horizon.parse()?, replications.parse()?)?,
        ["parts", instance, seconds] => {
            let problem = problem(instance, 1000)?;
            let (exponents, _) = limits::powers(&problem).ok_or("only power curves have parts")?;
            let parts = limits::parts(&exponents, Effort { seconds: seconds.parse()?, blocks: 2000 });
            json!({
                "instance": instance, "tasks": exponents.len(), "draws_seconds": parts.draws, "indices_seconds": parts.indices,
                "pass_seconds": parts.pass, "success_seconds": parts.success,
            })
        }
        ["instance", instance, horizon] => {
            let problem = problem(instance, horizon.parse()?)?;
            let means: Vec<f64> = problem.tasks().iter().filter_map(|task| task.reward()).map(outlay::RewardLaw::mean).collect();
            let exponents = limits::powers(&problem).map(|(exponents, _)| exponents);
            json!({ "instance": instance, "means": means, "exponents": exponents })
        }
        _ => return Err("usage: bench_rounds rounds|memory|parts|instance INSTANCE …; the source says what follows".into()),
    };
    println!("{answer}");
    Ok(())
}

fn problem(instance: &str, horizon: u64) -> Result<Problem, Box<dyn Error>> {
    Ok(instance.parse::<Instance>()?.problem(horizon, SEED)?)
}

/// Keeps every replication until the summary, as a run does.
fn memory(instance: &str, learner: &str, horizon: u64, replications: u64) -> Result<Value, Box<dyn Error>> {
    let source = Source::Instance(instance.parse()?);
    let experiment = Experiment {
        cases: vec![Case { name: instance.to_owned(), source, horizon, parameter: None }],
        learners: vec![learner.parse()?],
        feedback: None,
        replications,
        seed: SEED,
    };
    experiment.check()?;
    let jobs: Vec<_> = experiment.jobs().collect();
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let (begin, mut results) = (Instant::now(), Vec::new());
    experiment.run(&jobs, threads, &AtomicBool::new(false), |job, replication| results.push((job.replication, replication)))?;
    results.sort_by_key(|(number, _)| *number);
    let results: Vec<_> = results.into_iter().map(|(_, replication)| replication).collect();
    let summaries = experiment.summaries(&[vec![results]])?;
    let seconds = begin.elapsed().as_secs_f64();
    Ok(json!({
        "instance": instance, "learner": learner, "horizon": horizon, "replications": replications, "threads": threads,
        "seconds": seconds, "rounds_per_second": horizon as f64 * replications as f64 / seconds,
        "peak_bytes": peak_bytes(), "mean_regret": summaries[0].learners[0].regret.mean,
    }))
}

/// The largest resident size so far, where the system tells.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
