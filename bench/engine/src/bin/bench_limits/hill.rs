//! S-shaped curves compared with a pass of exponentials.

use serde_json::{Value, json};

use crate::turns::{Contender, Effort, in_turns};
use outlay_bench_engine::instances::{Kind, instance};
use outlay_bench_engine::limits::Exponentials;
use outlay_bench_engine::solve::{Cold, Warm};

/// Numbers of tasks and relative tolerances.
const CASES: [(usize, f64); 2] = [(1000, 1e-9), (100_000, 1e-6)];

pub(crate) fn measure(effort: Effort) -> Vec<Value> {
    CASES.iter().map(|&(tasks, tolerance)| case(tasks, tolerance, effort)).collect()
}

fn case(tasks: usize, tolerance: f64, effort: Effort) -> Value {
    let instance = instance(Kind::Hill, tasks, 1);
    let (mut cold, mut warm) = (Cold::new(&instance, tolerance), Warm::new(&instance, tolerance));
    let mut exponentials = Exponentials::new(tasks);
    let gap = cold.gap().max(warm.gap());
    let seconds = in_turns(
        effort,
        &mut [
            Contender::new("cold", || cold.call()),
            Contender::new("warm", || warm.call()),
            Contender::new("exponentials", || exponentials.pass()),
        ],
    );
    json!({ "family": "hill", "curves": "hill", "tasks": tasks, "tolerance": tolerance, "gap": gap, "seconds": seconds })
}
