//! One huge allocation on one thread and on all threads of the machine.

use std::num::NonZeroUsize;
use std::thread::available_parallelism;

use serde_json::{Value, json};

use crate::turns::{Contender, Effort, in_turns};
use outlay_bench_engine::instances::{Kind, instance};
use outlay_bench_engine::solve::Warm;

pub(crate) fn measure(effort: Effort) -> Vec<Value> {
    let kinds = [("power", Kind::Power), ("mixed", Kind::Concave)];
    kinds
        .iter()
        .flat_map(|&(name, kind)| [100_000, 1_000_000].map(|tasks| case(name, kind, tasks, effort)))
        .collect()
}

fn case(name: &str, kind: Kind, tasks: usize, effort: Effort) -> Value {
    let instance = instance(kind, tasks, 1);
    let threads = available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let (mut one, mut all) = (Warm::new(&instance, 1e-9), Warm::new(&instance, 1e-9));
    all.use_threads(threads);
    let seconds = in_turns(
        effort,
        &mut [Contender::new("one", || one.call()), Contender::new("all", || all.call())],
    );
    json!({ "family": "threads", "curves": name, "tasks": tasks, "threads": threads, "seconds": seconds })
}
