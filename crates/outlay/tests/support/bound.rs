//! The worst-case bounds, for every run that a test plays.

use outlay::learner::LearnerSpec;
use outlay::simulation::Replication;
use outlay::theory::{kl_ucb_plus_bound, worst_case_bound};

/// Theorem 3 (corrected) from the run's own success mass, and the bound of `kl-ucb-plus`, for
/// rewards up to 1 that arrive at once. They bound means, but single runs stay far below them.
pub(crate) fn assert_worst_case_bound(learner: &LearnerSpec, run: &Replication, horizon: u64) {
    let tasks = run.completions.len();
    let bound = match learner {
        LearnerSpec::Algorithm1
        | LearnerSpec::KlUcbMixture
        | LearnerSpec::Hoeffding
        | LearnerSpec::Full => worst_case_bound(tasks, horizon, run.success_mass),
        LearnerSpec::KlUcbPlus { c } => kl_ucb_plus_bound(tasks, horizon as f64, *c),
        _ => return,
    };
    assert!(run.regret <= bound, "{learner}, seed {}: regret {} > {bound}", run.seed, run.regret);
}
