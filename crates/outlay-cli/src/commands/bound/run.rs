//! Measured regret of a run, next to the bounds.

use std::path::{Path, PathBuf};

use outlay::Problem;
use outlay::learner::LearnerSpec;
use outlay::simulation::{Job, Replication, Statistics};
use outlay::theory::{Bound, run_bound};

use crate::failure::Failure;
use crate::run::{CaseRecord, RunRecord, label, read_run};

/// A run read from its folder.
pub(super) struct Run {
    path: PathBuf,
    record: RunRecord,
    replications: Vec<(Job, Replication)>,
}

/// Measurements on the given problem.
pub(super) struct Measured {
    pub(super) path: PathBuf,
    pub(super) learners: Vec<MeasuredLearner>,
}

/// One learner on one problem of the run, with rewards in the problem's unit.
pub(super) struct MeasuredLearner {
    pub(super) problem: String,
    pub(super) learner: String,
    pub(super) replications: usize,
    pub(super) regret: Statistics,
    /// Sum of the success probabilities over rounds and tasks, averaged over the replications.
    pub(super) success_mass: f64,
    /// The bound for this learner, if one is known.
    pub(super) bound: Option<Bound>,
}

impl Run {
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let (record, replications) = read_run(path)?;
        Ok(Self { path: path.to_owned(), record, replications })
    }

    pub(super) fn seed(&self) -> u64 {
        self.record.seed
    }

    /// The learners that were run on this problem with this horizon.
    pub(super) fn measured(
        self,
        problem: &Problem,
        horizon: u64,
        trivial: f64,
    ) -> Result<Measured, Failure> {
        let cases: Vec<(usize, &CaseRecord)> = self
            .record
            .cases
            .iter()
            .enumerate()
            .filter(|(_, case)| case.horizon == horizon && case.is_about(problem, self.seed()))
            .collect();
        if cases.is_empty() {
            return Err(self.other_problem(problem, horizon));
        }
        let mut learners = Vec::new();
        for (position, case) in cases {
            for (number, learner) in self.record.learners.iter().enumerate() {
                let replications = self.replications_of(position, number);
                if !replications.is_empty() {
                    learners.push(MeasuredLearner::new(
                        case,
                        learner,
                        &replications,
                        problem,
                        trivial,
                    ));
                }
            }
        }
        if learners.is_empty() {
            return Err(Failure(format!(
                "{} has no finished replications yet",
                self.path.display()
            )));
        }
        Ok(Measured { path: self.path, learners })
    }

    /// The requested replications, each once and in order.
    fn replications_of(&self, case: usize, learner: usize) -> Vec<&Replication> {
        let is_asked = |job: &Job| {
            job.case == case && job.learner == learner && job.replication < self.record.replications
        };
        let mut found: Vec<&(Job, Replication)> =
            self.replications.iter().filter(|(job, _)| is_asked(job)).collect();
        found.sort_by_key(|(job, _)| job.replication);
        found.dedup_by_key(|(job, _)| job.replication);
        found.into_iter().map(|(_, replication)| replication).collect()
    }

    /// The error that the run has no matching case.
    fn other_problem(&self, problem: &Problem, horizon: u64) -> Failure {
        let path = self.path.display();
        let mut horizons: Vec<String> = self
            .record
            .cases
            .iter()
            .filter(|case| case.is_about(problem, self.seed()))
            .map(|case| case.horizon.to_string())
            .collect();
        horizons.dedup();
        if horizons.is_empty() {
            return Failure(format!(
                "{path} is a run of another problem: {}",
                self.record.names().join(", ")
            ));
        }
        Failure(format!(
            "{path} is a run over {} rounds, not {horizon}: give --horizon",
            horizons.join(" or ")
        ))
    }
}

impl MeasuredLearner {
    fn new(
        case: &CaseRecord,
        learner: &str,
        replications: &[&Replication],
        problem: &Problem,
        trivial: f64,
    ) -> Self {
        let of = |number: fn(&Replication) -> f64| {
            Statistics::of(
                &replications.iter().map(|replication| number(replication)).collect::<Vec<f64>>(),
            )
        };
        let success_mass = of(|replication| replication.success_mass).mean;
        // A run of another version may contain a learner that is unknown here.
        let known = learner.parse::<LearnerSpec>().ok();
        let mut bound =
            known.and_then(|learner| run_bound(problem, &learner, case.horizon, success_mass));
        if let Some(bound) = &mut bound {
            bound.vacuous = bound.value.as_ref().ok().map(|value| *value >= trivial);
        }
        Self {
            problem: label(&case.name, case.parameter.as_ref()),
            learner: learner.to_owned(),
            replications: replications.len(),
            regret: of(|replication| replication.regret),
            success_mass,
            bound,
        }
    }

    /// The bound in the problem's unit of reward, if there is one.
    pub(super) fn bound_value(&self, problem: &Problem) -> Option<f64> {
        self.bound.as_ref()?.value.as_ref().ok().map(|value| value * problem.reward_max())
    }

    /// Regret as a share of the bound.
    pub(super) fn ratio(&self, problem: &Problem) -> Option<f64> {
        self.bound_value(problem).map(|bound| self.regret.mean / bound)
    }
}
