//! The setting of a claim's experiments and their results.

use std::sync::Arc;

use crate::instance::{Instance, InstanceError};
use crate::learner::LearnerSpec;
use crate::problem::{EnvironmentSpec, ProblemSpec, Task, TaskSpec};
use crate::simulation::{
    Case, Experiment, ExperimentError, Replication, Source, Statistics, trace_rounds,
};

/// The number and length of the runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Two minutes on two cores.
    Quick,
    /// Within an hour on two cores.
    Full,
}

/// The learners that the claims are about. Tests replace one by a broken learner to check that the
/// verdict fails.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Subjects {
    /// Algorithm 1.
    pub algorithm_1: LearnerSpec,
    /// Algorithm 1 with a smaller confidence set.
    pub kl_ucb_mixture: LearnerSpec,
    /// The default learner.
    pub kl_ucb_plus: LearnerSpec,
}

/// The setting of the experiments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    /// The number and length of the runs.
    pub scale: Scale,
    /// The learners.
    pub subjects: Subjects,
}

impl Setting {
    /// A setting with the learners that the claims are about.
    #[must_use]
    pub fn new(scale: Scale) -> Self {
        let subjects = Subjects {
            algorithm_1: LearnerSpec::Algorithm1,
            kl_ucb_mixture: LearnerSpec::KlUcbMixture,
            kl_ucb_plus: LearnerSpec::default(),
        };
        Self { scale, subjects }
    }

    /// One of two values, by the scale.
    pub(super) fn choose<T>(&self, quick: T, full: T) -> T {
        match self.scale {
            Scale::Quick => quick,
            Scale::Full => full,
        }
    }
}

/// Replications by case, learner and number.
pub type Results = Vec<Vec<Vec<Replication>>>;

/// The results of a claim's experiments.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// The setting.
    pub setting: &'a Setting,
    /// The experiments: [`super::Claim::experiments`] for the same setting.
    pub experiments: &'a [Experiment],
    /// The results of each experiment.
    pub results: &'a [Results],
}

impl<'a> Evidence<'a> {
    /// The replications of a learner in a case.
    pub(super) fn runs(&self, experiment: usize, case: usize, learner: usize) -> &'a [Replication] {
        let cell = self
            .results
            .get(experiment)
            .and_then(|cases| cases.get(case))
            .and_then(|learners| learners.get(learner));
        cell.map(Vec::as_slice).unwrap_or_default()
    }

    /// Statistics of their regrets.
    pub(super) fn regret(&self, experiment: usize, case: usize, learner: usize) -> Statistics {
        statistics(self.runs(experiment, case, learner), |run| run.regret)
    }
}

/// Statistics of a number of each replication.
pub(super) fn statistics(runs: &[Replication], number: impl Fn(&Replication) -> f64) -> Statistics {
    Statistics::of(&runs.iter().map(number).collect::<Vec<f64>>())
}

/// Half of the 95 % interval of a mean.
pub(super) fn half(statistics: &Statistics) -> f64 {
    statistics.high95.map_or(f64::INFINITY, |high| high - statistics.mean)
}

/// An experiment on instances by name.
pub(super) fn experiment(
    instances: &[impl AsRef<str>],
    horizon: u64,
    learners: &[LearnerSpec],
    replications: u64,
) -> Result<Experiment, ExperimentError> {
    let case = |name: &str| {
        let source = Source::Instance(name.parse::<Instance>()?);
        Ok(Case { name: name.to_owned(), source, horizon, parameter: None })
    };
    let names = instances.iter().map(AsRef::as_ref);
    let cases = names.map(case).collect::<Result<Vec<Case>, ExperimentError>>()?;
    let learners = learners.iter().copied().map(Into::into).collect();
    Ok(Experiment { cases, learners, feedback: None, replications, seed: 1 })
}

/// One such experiment per horizon, with its number of replications.
pub(super) fn experiments(
    instances: &[impl AsRef<str>],
    horizons: &[(u64, u64)],
    learners: &[LearnerSpec],
) -> Result<Vec<Experiment>, ExperimentError> {
    let at = |&(horizon, replications): &(u64, u64)| {
        experiment(instances, horizon, learners, replications)
    };
    horizons.iter().map(at).collect()
}

/// The regret of a run after a number of rounds, linear in the logarithm of the rounds between the
/// points that are kept.
pub(super) fn regret_after(run: &Replication, horizon: u64, rounds: f64) -> f64 {
    let kept = trace_rounds(horizon);
    let Some(above) = kept.iter().position(|kept| *kept as f64 >= rounds) else {
        return run.regret;
    };
    let at = |place: usize| run.trace.get(place).copied().unwrap_or(f64::NAN);
    let Some(below) = above.checked_sub(1) else { return at(above) };
    let (low, high) = ((kept[below] as f64).ln(), (kept[above] as f64).ln());
    at(below) + (at(above) - at(below)) * (rounds.ln() - low) / (high - low)
}

/// A case of an instance without bounds in a varying environment.
pub(super) fn case_in(
    instance: &str,
    label: &str,
    environment: EnvironmentSpec,
    horizon: u64,
) -> Result<Case, ExperimentError> {
    let still = instance.parse::<Instance>()?.problem(horizon, 1)?;
    let task = |task: &Task| TaskSpec {
        reward: task.reward().cloned(),
        ..TaskSpec::new(task.name(), task.curve().clone())
    };
    let tasks = still.tasks().iter().map(task).collect();
    let spec = ProblemSpec { tasks, environment, horizon: Some(horizon), ..ProblemSpec::default() };
    let problem = spec
        .check()
        .map_err(|errors| InstanceError::Problem { instance: instance.to_owned(), errors })?;
    let name = format!("{instance}, {label}");
    Ok(Case { name, source: Source::Problem(Arc::new(problem)), horizon, parameter: None })
}
