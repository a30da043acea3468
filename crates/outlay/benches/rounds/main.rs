//! Whole simulated rounds per second, one core: `cargo bench --bench rounds`.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use outlay::experiment::Play;
use outlay::instance::Instance;
use outlay::learner::LearnerSpec;

fn main() {
    let filter = std::env::args().nth(1).filter(|text| !text.starts_with('-')).unwrap_or_default();
    for (instance, horizon) in [
        ("square-roots", 2_000_000u64),
        ("power:tasks=10", 1_000_000),
        ("power:tasks=100", 100_000),
        ("m-set", 1_000_000),
        ("k-armed", 1_000_000),
        ("saturating-jobs", 500_000),
    ] {
        for learner in ["paper", "sharp", "tight", "hoeffding", "thompson", "cucb", "uniform"] {
            if !format!("{instance} {learner}").contains(&filter) {
                continue;
            }
            let made: Instance = instance.parse().unwrap();
            let spec: LearnerSpec = learner.parse().unwrap();
            let problem = made.problem(horizon, 1).unwrap();
            let mut best = 0.0f64;
            for seed in 1..=3 {
                let start = Instant::now();
                let run = Play { problem: &problem, learner: &spec, feedback: spec.entry().feedback, horizon, seed }
                    .run(&AtomicBool::new(false))
                    .unwrap()
                    .unwrap();
                std::hint::black_box(run);
                best = best.max(horizon as f64 / start.elapsed().as_secs_f64());
            }
            println!("{instance:<18} {learner:<10} {:>12.0} rounds/s  {:>8.1} ns/round", best, 1e9 / best);
        }
    }
}
