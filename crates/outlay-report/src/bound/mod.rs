//! The regret bounds of a problem as a record, and the measured regret of a run next to them.

mod record;

use outlay::Problem;
use outlay::learner::LearnerSpec;
use outlay::simulation::Statistics;
use outlay::theory::{Bound, run_bound};

pub use record::{BoundRecord, BoundsRecord};

/// One learner on one problem of a run, with rewards in the problem's unit.
#[derive(Debug)]
pub struct MeasuredLearner {
    /// The problem, with the parameter of a grid.
    pub problem: String,
    /// The learner with its parameters.
    pub learner: String,
    /// The number of finished replications.
    pub replications: usize,
    /// Their regret.
    pub regret: Statistics,
    /// Sum of the success probabilities over rounds and tasks, averaged over the replications.
    pub success_mass: f64,
    /// The bound for this learner, if one is known.
    pub bound: Option<Bound>,
}

/// The measurements of a learner, one entry per replication.
#[derive(Debug, Clone, Copy)]
pub struct Measurements<'a> {
    /// Regrets, in the problem's unit.
    pub regret: &'a [f64],
    /// Sums of the success probabilities over rounds and tasks.
    pub success_mass: &'a [f64],
}

impl MeasuredLearner {
    /// The measurements of a learner on a problem. `trivial` is the largest possible regret, in
    /// multiples of the largest reward.
    #[must_use]
    pub fn new(
        (label, learner): (String, &str),
        measured: Measurements<'_>,
        (problem, horizon): (&Problem, u64),
        trivial: f64,
    ) -> Self {
        let success_mass = Statistics::of(measured.success_mass).mean;
        // A run of another version may contain a learner that is unknown here.
        let known = learner.parse::<LearnerSpec>().ok();
        let mut bound =
            known.and_then(|learner| run_bound(problem, &learner, horizon, success_mass));
        if let Some(bound) = &mut bound {
            bound.vacuous = bound.value.as_ref().ok().map(|value| *value >= trivial);
        }
        Self {
            problem: label,
            learner: learner.to_owned(),
            replications: measured.regret.len(),
            regret: Statistics::of(measured.regret),
            success_mass,
            bound,
        }
    }

    /// The bound in the problem's unit of reward, if there is one.
    #[must_use]
    pub fn bound_value(&self, problem: &Problem) -> Option<f64> {
        self.bound.as_ref()?.value.as_ref().ok().map(|value| value * problem.reward_max())
    }

    /// Regret as a share of the bound.
    #[must_use]
    pub fn ratio(&self, problem: &Problem) -> Option<f64> {
        self.bound_value(problem).map(|bound| self.regret.mean / bound)
    }
}
