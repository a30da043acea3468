//! The bounds that apply to a problem whose tasks may complete more than once in a round.

use super::applicable_bounds::{Question, outside_rounds, upper};
use super::bounds::{Bound, NotApplicable};
use super::{kl_ucb_plus_count_bound, worst_case_count_bound};
use crate::learner::{KL_UCB_PLUS_FACTOR, LearnerSpec};
use crate::problem::{CompletionLaw, Problem, Task};

/// The learners of Theorem 3 that accept counts.
const COUNT_LEARNERS: &str = "algorithm-1, kl-ucb-mixture, hoeffding";
const STEP: &str = "our step from Theorem 3 (not peer reviewed)";
const PROOF: &str = "our proof (not peer reviewed)";

/// The volumes and the law of the counts.
struct Counts {
    volumes: Vec<f64>,
    law: CompletionLaw,
}

impl Counts {
    fn new(problem: &Problem) -> Self {
        Self {
            volumes: problem.tasks().iter().map(Task::volume).collect(),
            law: problem.environment().completions.unwrap_or(CompletionLaw::Poisson),
        }
    }

    fn has_largest(&self) -> bool {
        matches!(self.law, CompletionLaw::Single | CompletionLaw::Binomial)
    }

    /// Theorem 3 for an expected number of completions.
    fn theorem_3(&self, horizon: u64, mass: f64) -> Result<f64, NotApplicable> {
        match self.has_largest() {
            true => Ok(worst_case_count_bound(&self.volumes, horizon, mass)),
            false => Err(NotApplicable::UnlimitedCounts),
        }
    }

    fn kl_ucb_plus(&self, horizon: u64, c: f64) -> f64 {
        kl_ucb_plus_count_bound(&self.volumes, self.law, horizon as f64, c)
    }
}

/// The reason why no bound for counts holds, if any.
fn outside_counts(problem: &Problem) -> Option<NotApplicable> {
    let varies = !problem.environment().volume.is_empty();
    outside_rounds(problem).or(varies.then_some(NotApplicable::VaryingVolumes))
}

impl Question<'_> {
    /// The bounds for any curves and any means.
    pub(super) fn count_bounds(&self) -> Vec<Bound> {
        let counts = Counts::new(self.problem);
        let rounds = self.horizon as f64;
        let outside = outside_counts(self.problem);
        let value = |value: Result<f64, NotApplicable>| outside.clone().map_or(value, Err);
        let largest: f64 = counts.volumes.iter().sum();
        let theorem_3 = |name, about: &str, mass: f64| {
            let bound = value(counts.theorem_3(self.horizon, mass * rounds));
            upper(name, STEP, COUNT_LEARNERS, about, bound)
        };
        vec![
            theorem_3(
                "Theorem 3, these curves",
                "any curves; completions at most T · max Σ V F",
                self.most_mass.min(largest),
            ),
            theorem_3("Theorem 3, any curves", "any curves; completions at most T · Σ V", largest),
            upper(
                "kl-ucb-plus, any curves",
                PROOF,
                "kl-ucb-plus",
                "any curves, every horizon",
                value(Ok(counts.kl_ucb_plus(self.horizon, KL_UCB_PLUS_FACTOR))),
            ),
        ]
    }
}

/// [`run_bound`](super::run_bound) with counts.
pub(super) fn count_run_bound(
    problem: &Problem,
    learner: &LearnerSpec,
    horizon: u64,
    completions: f64,
) -> Option<Bound> {
    let counts = Counts::new(problem);
    let outside = outside_counts(problem);
    let value = |value: Result<f64, NotApplicable>| outside.clone().map_or(value, Err);
    match learner {
        LearnerSpec::Algorithm1 | LearnerSpec::KlUcbMixture | LearnerSpec::Hoeffding => {
            let bound = value(counts.theorem_3(horizon, completions));
            let about = "any curves; from the completions of the run";
            Some(upper("Theorem 3, this run", STEP, COUNT_LEARNERS, about, bound))
        }
        LearnerSpec::KlUcbPlus { c } if *c > 0.5 => {
            let bound = value(Ok(counts.kl_ucb_plus(horizon, *c)));
            Some(upper("kl-ucb-plus, any curves", PROOF, "kl-ucb-plus", "any curves", bound))
        }
        _ => None,
    }
}
