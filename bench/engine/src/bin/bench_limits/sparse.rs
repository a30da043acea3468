//! Sparse rounds: a few of a million values change, next to a dense round of the same problem.

use std::hint::black_box;

use outlay::SparseRounds;
use serde_json::{Value, json};

use crate::turns::{Contender, Effort, in_turns};
use outlay_bench_engine::clock::CYCLE;
use outlay_bench_engine::instances::{Kind, Random, instance};
use outlay_bench_engine::limits::Triad;
use outlay_bench_engine::solve::Warm;

/// Tasks, and how many of them change: 0.05 % and 0.55 %.
const SIZES: [(usize, usize); 3] = [(10_000, 100), (1_000_000, 500), (1_000_000, 5_500)];

pub(crate) fn measure(effort: Effort) -> Vec<Value> {
    let kinds = [("power", Kind::Power), ("mixed", Kind::Concave)];
    kinds
        .iter()
        .flat_map(|&(name, kind)| {
            SIZES.map(|(tasks, changed)| case(name, kind, tasks, changed, effort))
        })
        .collect()
}

fn case(name: &str, kind: Kind, tasks: usize, changed: usize, effort: Effort) -> Value {
    let instance = instance(kind, tasks, 1);
    let (mut random, mut round) = (Random::new(7), 0);
    let changes: Vec<Vec<(usize, f64)>> = (0..CYCLE)
        .map(|_| {
            let mut change = || {
                let task = (random.uniform() * tasks as f64) as usize;
                (task, instance.values[task] * random.between(0.95, 1.05))
            };
            (0..changed).map(|_| change()).collect()
        })
        .collect();
    let Ok(mut rounds) = SparseRounds::new(&instance.problem, &instance.values, 1.0) else {
        return json!(null);
    };
    let (mut warm, mut triad) = (Warm::new(&instance, 1e-9), Triad::new(tasks));
    let seconds = in_turns(
        effort,
        &mut [
            Contender::new("sparse", || {
                round += 1;
                black_box(rounds.change(&changes[round % CYCLE], 1.0)).ok();
            }),
            Contender::new("warm", || warm.call()),
            Contender::new("triad", || triad.pass()),
        ],
    );
    json!({ "family": "sparse", "curves": name, "tasks": tasks, "changed": changed, "seconds": seconds })
}
