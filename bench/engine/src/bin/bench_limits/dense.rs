//! Rounds on concave curves in which every value changes, compared with a triad and a pass of
//! exponentials.

use serde_json::{Value, json};

use crate::turns::{Contender, Effort, in_turns};
use outlay_bench_engine::instances::{Kind, instance};
use outlay_bench_engine::limits::{Exponentials, Triad};
use outlay_bench_engine::solve::{Cold, Warm};

const CASES: [(&str, Kind); 6] = [
    ("power", Kind::Power),
    ("mixed", Kind::Concave),
    ("exponential", Kind::Exponential),
    ("hill, steepness below 1", Kind::ConcaveHill),
    ("hill, steepness 1", Kind::Hyperbolic),
    ("logistic, mid 0", Kind::ConcaveLogistic),
];

pub(crate) fn measure(effort: Effort) -> Vec<Value> {
    let sizes = [10, 100, 10_000, 1_000_000];
    CASES
        .iter()
        .flat_map(|&(name, kind)| sizes.map(|tasks| case(name, kind, tasks, effort)))
        .collect()
}

fn case(name: &str, kind: Kind, tasks: usize, effort: Effort) -> Value {
    let instance = instance(kind, tasks, 1);
    let (mut cold, mut warm) = (Cold::new(&instance, 1e-9), Warm::new(&instance, 1e-9));
    let (mut triad, mut exponentials) = (Triad::new(tasks), Exponentials::new(tasks));
    let gap = cold.gap().max(warm.gap());
    let seconds = in_turns(
        effort,
        &mut [
            Contender::new("cold", || cold.call()),
            Contender::new("warm", || warm.call()),
            Contender::new("triad", || triad.pass()),
            Contender::new("exponentials", || exponentials.pass()),
        ],
    );
    json!({ "family": "dense", "curves": name, "tasks": tasks, "gap": gap, "seconds": seconds })
}
