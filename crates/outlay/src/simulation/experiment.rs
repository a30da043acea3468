//! Experiments: every learner on every problem, on several threads. Results do not depend on the
//! number of threads.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use super::environment::mean_rewards;
use super::summary::summarise;
use super::{ExperimentError, Play, Replication, Summary};
use crate::campaign::CampaignError;
use crate::feedback::Feedback;
use crate::instance::Instance;
use crate::learner::{LearnerChoice, LearnerInputs};
use crate::problem::Problem;

/// The source of a problem.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// A given problem.
    Problem(Arc<Problem>),
    /// A named instance, which may depend on horizon and seed.
    Instance(Instance),
}

impl Source {
    /// The problem for a horizon and a seed.
    ///
    /// # Errors
    /// If the instance cannot be built.
    pub fn problem(&self, horizon: u64, seed: u64) -> Result<Arc<Problem>, ExperimentError> {
        match self {
            Self::Problem(problem) => Ok(Arc::clone(problem)),
            Self::Instance(instance) => Ok(Arc::new(instance.problem(horizon, seed)?)),
        }
    }
}

/// One point of an experiment's grid: a problem and a horizon.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// Its problem.
    pub source: Source,
    /// The number of rounds.
    pub horizon: u64,
    /// The parameter of the grid and its value.
    pub parameter: Option<(String, f64)>,
}

/// Learners, problems and the number of replications.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// The problems.
    pub cases: Vec<Case>,
    /// The learners.
    pub learners: Vec<LearnerChoice>,
    /// The feedback of all learners. `None`: each receives the feedback that it needs.
    pub feedback: Option<Feedback>,
    /// The number of replications of each learner on each problem.
    pub replications: u64,
    /// Replication r has the seed `seed + r`, r = 0, 1, …
    pub seed: u64,
}

/// One replication of an experiment.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct Job {
    /// The position of the case.
    pub case: usize,
    /// The position of the learner.
    pub learner: usize,
    /// The replication, counted from 0.
    pub replication: u64,
}

impl Experiment {
    /// All jobs, ordered by case, replication and learner.
    pub fn jobs(&self) -> impl Iterator<Item = Job> {
        let (learners, replications) = (self.learners.len(), self.replications);
        (0..self.cases.len()).flat_map(move |case| {
            (0..replications).flat_map(move |replication| {
                (0..learners).map(move |learner| Job { case, learner, replication })
            })
        })
    }

    /// The feedback that a learner receives.
    #[must_use]
    pub fn feedback_of(&self, learner: &LearnerChoice) -> Feedback {
        self.feedback.unwrap_or_else(|| learner.feedback())
    }

    /// Checks that every replication can run.
    ///
    /// # Errors
    /// The first problem found: no learner, a problem without rewards, a learner that needs more
    /// feedback, or similar.
    pub fn check(&self) -> Result<(), ExperimentError> {
        if self.cases.is_empty() || self.learners.is_empty() || self.replications == 0 {
            return Err(ExperimentError::Empty);
        }
        for case in &self.cases {
            if case.horizon == 0 {
                return Err(ExperimentError::NoRounds);
            }
            let problem = case.source.problem(case.horizon, self.seed)?;
            mean_rewards(&problem)?;
            for learner in &self.learners {
                check_profiles(&problem, learner)?;
                learner.build(&LearnerInputs {
                    problem: &problem,
                    horizon: Some(case.horizon),
                    feedback: self.feedback_of(learner),
                    seed: self.seed,
                })?;
            }
        }
        Ok(())
    }

    /// Runs one job; `None` if `stop` was set before its end.
    ///
    /// # Errors
    /// As [`Play::run`].
    pub fn play(
        &self,
        job: Job,
        stop: &AtomicBool,
    ) -> Result<Option<Replication>, ExperimentError> {
        let (case, learner) = (&self.cases[job.case], &self.learners[job.learner]);
        let seed = self.seed.wrapping_add(job.replication);
        let problem = case.source.problem(case.horizon, seed)?;
        let feedback = self.feedback_of(learner);
        let horizon = case.horizon;
        Play { problem: &problem, learner, feedback, horizon, seed }.run(stop)
    }

    /// Runs the jobs on `threads` threads and passes each result to `finished` on the calling
    /// thread as soon as it is complete. The order of completion depends on the machine; the
    /// results do not. Setting `stop` ends the run early; unfinished jobs are dropped.
    ///
    /// # Errors
    /// The first error of a job; the remaining jobs are skipped.
    pub fn run(
        &self,
        jobs: &[Job],
        threads: NonZeroUsize,
        stop: &AtomicBool,
        mut finished: impl FnMut(Job, Replication),
    ) -> Result<(), ExperimentError> {
        let no_clock = || Duration::ZERO;
        self.run_timed(jobs, threads, stop, no_clock, |job, replication, _| {
            finished(job, replication);
        })
    }

    /// As [`Experiment::run`], and also reports how long each job took by `clock`, which returns
    /// the time since a fixed instant. The library itself reads no clock.
    ///
    /// # Errors
    /// As [`Experiment::run`].
    pub fn run_timed(
        &self,
        jobs: &[Job],
        threads: NonZeroUsize,
        stop: &AtomicBool,
        clock: impl Fn() -> Duration + Sync,
        mut finished: impl FnMut(Job, Replication, Duration),
    ) -> Result<(), ExperimentError> {
        let play = |job| {
            let start = clock();
            let replication = self.play(job, stop)?;
            Ok(replication.map(|replication| (replication, clock().saturating_sub(start))))
        };
        on_threads(jobs, threads, stop, play, |job, (replication, time)| {
            finished(job, replication, time);
        })
    }

    /// Runs every job on `threads` threads and returns one summary per case.
    ///
    /// # Errors
    /// As [`Experiment::check`] and [`Experiment::run`].
    pub fn run_all(&self, threads: NonZeroUsize) -> Result<Vec<Summary>, ExperimentError> {
        self.check()?;
        let jobs: Vec<Job> = self.jobs().collect();
        let mut finished: Vec<(Job, Replication)> = Vec::with_capacity(jobs.len());
        self.run(&jobs, threads, &AtomicBool::new(false), |job, replication| {
            finished.push((job, replication));
        })?;
        finished.sort_unstable_by_key(|(job, _)| *job);
        let mut results = vec![vec![Vec::new(); self.learners.len()]; self.cases.len()];
        for (job, replication) in finished {
            results[job.case][job.learner].push(replication);
        }
        self.summaries(&results)
    }

    /// Summarises the replications, one summary per case. `results[case][learner]` holds the
    /// replications in their order.
    ///
    /// # Errors
    /// If a case's problem cannot be built.
    pub fn summaries(
        &self,
        results: &[Vec<Vec<Replication>>],
    ) -> Result<Vec<Summary>, ExperimentError> {
        self.cases
            .iter()
            .zip(results)
            .map(|(case, learners)| summarise(self, case, learners))
            .collect()
    }
}

/// Whether a learner can use the scales and volumes that the environment tells it.
fn check_profiles(problem: &Problem, learner: &LearnerChoice) -> Result<(), CampaignError> {
    let environment = problem.environment();
    let Some(spec) = learner.built_in().filter(|_| environment.has_profiles()) else {
        return Ok(());
    };
    let refuses_scale = !environment.scale.is_empty() && !spec.allows_scale();
    let refuses_volume = !environment.volume.is_empty() && !spec.allows_volume();
    let what = match (refuses_scale && !environment.hide_scale, refuses_volume) {
        (true, _) => "scale",
        (_, true) => "volume",
        _ => return Ok(()),
    };
    Err(CampaignError::FixedCurves { what, learner: learner.to_string() })
}

/// Runs the jobs on `threads` threads and passes each result to `finished` on the calling thread.
pub(crate) fn on_threads<J: Copy + Send + Sync, T: Send, E: Send>(
    jobs: &[J],
    threads: NonZeroUsize,
    stop: &AtomicBool,
    play: impl Fn(J) -> Result<Option<T>, E> + Sync,
    mut finished: impl FnMut(J, T),
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads.get().min(jobs.len()) {
            let (sender, next, play) = (sender.clone(), &next, &play);
            scope.spawn(move || {
                while let Some(&job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let result = play(job);
                    // The receiver was dropped: an error has ended the run.
                    if sender.send((job, result)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for (job, result) in receiver {
            match result {
                Ok(Some(result)) => finished(job, result),
                Ok(None) => {}
                Err(error) => {
                    stop.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
        Ok(())
    })
}
