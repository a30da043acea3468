//! Empirical curves of a thousand samples each, compared with one pass over all jumps.

use std::hint::black_box;

use outlay::curve::Family;
use pulp::Arch;
use serde_json::{Value, json};

use crate::turns::{Contender, Effort, in_turns};
use outlay_bench_engine::instances::{Instance, Kind, instance};
use outlay_bench_engine::solve::{Cold, Warm};

const TASKS: usize = 1000;
const SAMPLES: usize = 1000;

pub(crate) fn measure(effort: Effort) -> Vec<Value> {
    let instance = instance(Kind::Empirical { samples: SAMPLES }, TASKS, 1);
    let jumps = Jumps::of(&instance);
    let (mut cold, mut warm) = (Cold::new(&instance, 1e-9), Warm::new(&instance, 1e-9));
    let gap = cold.gap().max(warm.gap());
    let seconds = in_turns(
        effort,
        &mut [
            Contender::new("cold", || cold.call()),
            Contender::new("warm", || warm.call()),
            Contender::new("pass", || {
                black_box(jumps.pass());
            }),
        ],
    );
    vec![
        json!({ "family": "empirical", "curves": "empirical", "tasks": TASKS, "jumps": jumps.at.len(), "gap": gap, "seconds": seconds }),
    ]
}

/// Positions and heights of all jumps.
struct Jumps {
    arch: Arch,
    at: Vec<f64>,
    heights: Vec<f64>,
}

impl Jumps {
    fn of(instance: &Instance) -> Self {
        let (mut at, mut heights) = (Vec::new(), Vec::new());
        for task in instance.problem.tasks() {
            if let Family::Empirical(curve) = task.curve().family() {
                at.extend_from_slice(curve.at());
                heights.extend_from_slice(curve.heights());
            }
        }
        Self { arch: Arch::new(), at, heights }
    }

    /// Reads 16 bytes per jump; sixteen sums, so that no addition waits for the previous one.
    fn pass(&self) -> f64 {
        let (at, heights) = (black_box(&self.at), black_box(&self.heights));
        self.arch.dispatch(|| {
            let mut sums = [0.0f64; 16];
            for (at, heights) in at.chunks_exact(16).zip(heights.chunks_exact(16)) {
                for ((sum, at), height) in sums.iter_mut().zip(at).zip(heights) {
                    *sum += at * height;
                }
            }
            sums.iter().sum()
        })
    }
}
