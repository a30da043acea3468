//! Measured regret of a run, next to the bounds.

use std::path::{Path, PathBuf};

use outlay::Problem;
use outlay::simulation::{Job, Replication};
use outlay_report::bound::{MeasuredLearner, Measurements};

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
                if replications.is_empty() {
                    continue;
                }
                let of = |number: fn(&Replication) -> f64| -> Vec<f64> {
                    replications.iter().map(|replication| number(replication)).collect()
                };
                let (regret, success_mass) = (of(|one| one.regret), of(|one| one.success_mass));
                learners.push(MeasuredLearner::new(
                    (label(&case.name, case.parameter.as_ref()), learner),
                    Measurements { regret: &regret, success_mass: &success_mass },
                    (problem, case.horizon),
                    trivial,
                ));
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
