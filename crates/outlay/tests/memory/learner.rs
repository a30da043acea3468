//! A simulated round allocates nothing, because simulations play millions of them.

use std::sync::atomic::AtomicBool;

use outlay::instance::Instance;
use outlay::learner::{LEARNERS, LearnerSpec};
use outlay::simulation::{Play, trace_rounds};
use stats_alloc::Region;

use crate::ALLOCATOR;

pub(crate) fn longer_runs_allocate_no_more() {
    for name in ["power", "m-set", "k-armed:tasks=4", "saturating-jobs"] {
        for entry in LEARNERS {
            let learner: LearnerSpec = entry.name.parse().unwrap();
            let allocations = |horizon: u64| {
                let problem = name.parse::<Instance>().unwrap().problem(horizon, 1).unwrap();
                let region = Region::new(ALLOCATOR);
                let play = Play {
                    problem: &problem,
                    learner: &learner.into(),
                    feedback: entry.feedback,
                    horizon,
                    seed: 1,
                };
                play.run(&AtomicBool::new(false)).unwrap();
                let change = region.change();
                change.allocations + change.reallocations
            };
            // Each point of the trace keeps its spends; buffers may grow a few times more.
            let (short, long) = (allocations(500), allocations(5000));
            let points = trace_rounds(5000).len() - trace_rounds(500).len();
            assert!(
                long <= short + points + 20,
                "{name} {learner}: {short} allocations in 500 rounds, {long} in 5000"
            );
        }
    }
}
