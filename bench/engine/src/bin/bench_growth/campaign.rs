//! Runs many replications as an experiment, which keeps all of them until the summary.

use std::error::Error;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use outlay::simulation::{Case, Experiment, Source};
use serde_json::{Value, json};

use crate::memory::peak_bytes;

const SEED: u64 = 1;

/// Returns wall time, because the number of threads is under test.
///
/// # Errors
/// If there is no such instance or learner.
pub(crate) fn play(
    instance: &str,
    learner: &str,
    horizon: u64,
    replications: u64,
    threads: NonZeroUsize,
) -> Result<Value, Box<dyn Error>> {
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
    let (begin, mut results) = (Instant::now(), Vec::new());
    experiment.run(&jobs, threads, &AtomicBool::new(false), |job, replication| {
        results.push((job.replication, replication))
    })?;
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
