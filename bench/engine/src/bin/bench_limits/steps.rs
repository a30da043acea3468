//! Exact solution of step curves, compared with one sort of the slopes of their envelopes: any
//! method that ranks jumps by their return must sort them.

use std::hint::black_box;

use outlay::curve::Family;
use serde_json::{Value, json};

use crate::turns::{Contender, Effort, in_turns};
use outlay_bench_engine::instances::{Instance, Kind, instance};
use outlay_bench_engine::solve::{Cold, Warm};

pub(crate) fn measure(effort: Effort) -> Vec<Value> {
    [1000, 10_000].map(|tasks| case(tasks, effort)).into()
}

fn case(tasks: usize, effort: Effort) -> Value {
    let instance = instance(Kind::Steps, tasks, 1);
    let slopes = hull_slopes(&instance);
    let mut sorted = slopes.clone();
    let (mut cold, mut warm) = (Cold::new(&instance, 1e-9), Warm::new(&instance, 1e-9));
    let gap = cold.gap().max(warm.gap());
    let seconds = in_turns(
        effort,
        &mut [
            Contender::new("cold", || cold.call()),
            Contender::new("warm", || warm.call()),
            Contender::new("sort", || {
                sorted.copy_from_slice(black_box(&slopes));
                sorted.sort_unstable_by(f64::total_cmp);
                black_box(&mut sorted);
            }),
        ],
    );
    json!({ "family": "steps", "curves": "steps", "tasks": tasks, "slopes": slopes.len(), "gap": gap, "seconds": seconds })
}

/// The return per unit of spend at each vertex of each task's concave envelope.
fn hull_slopes(instance: &Instance) -> Vec<f64> {
    let mut slopes = Vec::new();
    for (task, value) in instance.problem.tasks().iter().zip(&instance.values) {
        let Family::Steps(steps) = task.curve().family() else { continue };
        let mut hull = vec![(0.0, 0.0)];
        for (&spend, &success) in steps.at().iter().zip(steps.heights()) {
            let corner = (spend, value * success);
            while hull.len() > 1
                && slope(hull[hull.len() - 2], hull[hull.len() - 1])
                    <= slope(hull[hull.len() - 1], corner)
            {
                hull.pop();
            }
            hull.push(corner);
        }
        slopes.extend(hull.windows(2).map(|pair| slope(pair[0], pair[1])));
    }
    slopes
}

fn slope(from: (f64, f64), to: (f64, f64)) -> f64 {
    (to.1 - from.1) / (to.0 - from.0)
}
