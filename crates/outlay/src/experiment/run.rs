//! Every learner on every problem, over all cores. Results do not depend on the number of threads.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use super::lockstep::together;
use super::summary::summarise;
use super::{ExperimentError, Play, Replication, Summary};
use crate::environment::Environment;
use crate::feedback::Feedback;
use crate::instance::Instance;
use crate::learner::LearnerSpec;
use crate::problem::Problem;

/// Where the problem of a case comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// A checked problem.
    Problem(Arc<Problem>),
    /// One by name, which may depend on horizon and seed.
    Instance(Instance),
}

impl Source {
    /// The problem for a horizon and a seed.
    ///
    /// # Errors
    /// If the instance cannot be made.
    pub fn problem(&self, horizon: u64, seed: u64) -> Result<Arc<Problem>, ExperimentError> {
        match self {
            Self::Problem(problem) => Ok(Arc::clone(problem)),
            Self::Instance(instance) => Ok(Arc::new(instance.problem(horizon, seed)?)),
        }
    }

    /// Whether the problem depends on the seed.
    fn depends_on_seed(&self) -> bool {
        matches!(self, Self::Instance(instance) if instance.depends_on_seed())
    }
}

/// One point of an experiment's grid: a problem and a horizon.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// How it is called.
    pub name: String,
    /// Its problem.
    pub source: Source,
    /// Rounds.
    pub horizon: u64,
    /// The grid's parameter and its value here.
    pub parameter: Option<(String, f64)>,
}

/// What is to be played.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// Problems.
    pub cases: Vec<Case>,
    /// Who plays; each is shown what it needs, or `feedback`.
    pub learners: Vec<LearnerSpec>,
    /// What all are shown; absent: each what it needs.
    pub feedback: Option<Feedback>,
    /// Replications of each learner on each problem.
    pub replications: u64,
    /// Replication r has the seed `seed + r`, r = 0, 1, …
    pub seed: u64,
}

/// How an experiment is run. Results do not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Threads that play.
    pub threads: NonZeroUsize,
    /// Whether a thread plays several replications of one problem together, where that is quicker.
    pub lockstep: bool,
}

impl From<NonZeroUsize> for Pace {
    /// So many threads, and replications together.
    fn from(threads: NonZeroUsize) -> Self {
        Self { threads, lockstep: true }
    }
}

/// One replication of an experiment.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct Job {
    /// Which case.
    pub case: usize,
    /// Which learner.
    pub learner: usize,
    /// Which replication, from 0.
    pub replication: u64,
}

impl Experiment {
    /// Every job: all learners of a replication before the next replication.
    pub fn jobs(&self) -> impl Iterator<Item = Job> {
        let (learners, replications) = (self.learners.len(), self.replications);
        (0..self.cases.len()).flat_map(move |case| {
            (0..replications).flat_map(move |replication| {
                (0..learners).map(move |learner| Job { case, learner, replication })
            })
        })
    }

    /// What a learner is shown.
    #[must_use]
    pub fn feedback_of(&self, learner: &LearnerSpec) -> Feedback {
        self.feedback.unwrap_or(learner.entry().feedback)
    }

    /// Refuses what could not be run, before anything is.
    ///
    /// # Errors
    /// What is wrong first: no learner, a problem without rewards, a learner that is shown too
    /// little.
    pub fn check(&self) -> Result<(), ExperimentError> {
        if self.cases.is_empty() || self.learners.is_empty() || self.replications == 0 {
            return Err(ExperimentError::Empty(
                "an experiment needs at least one problem, one learner and one replication",
            ));
        }
        for case in &self.cases {
            if case.horizon == 0 {
                return Err(ExperimentError::Empty("horizon: must be at least 1, not 0"));
            }
            let problem = case.source.problem(case.horizon, self.seed)?;
            Environment::new(&problem, self.seed)?;
            for learner in &self.learners {
                learner.build(
                    &problem,
                    Some(case.horizon),
                    self.feedback_of(learner),
                    self.seed,
                )?;
            }
        }
        Ok(())
    }

    /// Plays one job; `None` if `stop` was set before its end.
    ///
    /// # Errors
    /// As [`Play::run`].
    pub fn play(
        &self,
        job: Job,
        stop: &AtomicBool,
    ) -> Result<Option<Replication>, ExperimentError> {
        self.with_play(job, |play| play.run(stop))
    }

    /// Plays jobs of one case and learner together where that is quicker, and others one by one;
    /// `None` if `stop` was set before their end. What they come to is what [`Experiment::play`]
    /// says of each.
    ///
    /// # Errors
    /// As [`Play::run`].
    pub fn play_together(
        &self,
        jobs: &[Job],
        stop: &AtomicBool,
    ) -> Result<Option<Vec<Replication>>, ExperimentError> {
        let one_kind = jobs.first().filter(|first| {
            jobs.iter().all(|job| (job.case, job.learner) == (first.case, first.learner))
        });
        if let Some(&first) = one_kind
            .filter(|first| jobs.len() > 1 && !self.cases[first.case].source.depends_on_seed())
        {
            let seeds: Vec<u64> =
                jobs.iter().map(|job| self.seed.wrapping_add(job.replication)).collect();
            return self.with_play(first, |play| play.run_together(&seeds, stop));
        }
        jobs.iter().map(|&job| self.play(job, stop)).collect()
    }

    fn with_play<T>(
        &self,
        job: Job,
        run: impl FnOnce(&Play<'_>) -> Result<T, ExperimentError>,
    ) -> Result<T, ExperimentError> {
        let (case, learner) = (&self.cases[job.case], &self.learners[job.learner]);
        let seed = self.seed.wrapping_add(job.replication);
        let problem = case.source.problem(case.horizon, seed)?;
        run(&Play {
            problem: &problem,
            learner,
            feedback: self.feedback_of(learner),
            horizon: case.horizon,
            seed,
        })
    }

    /// Jobs that are played together, so many that every thread has something to do.
    fn groups(&self, jobs: &[Job], pace: Pace) -> Result<Vec<Vec<Job>>, ExperimentError> {
        let share = if pace.lockstep { jobs.len().div_ceil(pace.threads.get()) } else { 1 };
        let mut kinds: BTreeMap<(usize, usize), Vec<Job>> = BTreeMap::new();
        jobs.iter().for_each(|&job| kinds.entry((job.case, job.learner)).or_default().push(job));
        let mut groups = Vec::new();
        for jobs in kinds.values() {
            let mut left = &jobs[..];
            let can =
                share.min(jobs.len()) > 1 && !self.cases[jobs[0].case].source.depends_on_seed();
            let goes_together = can && self.with_play(jobs[0], |play| Ok(play.goes_together()))?;
            while !left.is_empty() {
                let (group, rest) =
                    left.split_at(if goes_together { together(left.len().min(share)) } else { 1 });
                groups.push(group.to_vec());
                left = rest;
            }
        }
        // All learners of a replication before the next replication.
        groups
            .sort_by_key(|group| group.first().map(|job| (job.case, job.replication, job.learner)));
        Ok(groups)
    }

    /// Plays the jobs on several threads and hands over each as it ends, on the calling thread. The
    /// order in which they end depends on the machine, what they come to does not. Setting `stop`
    /// ends it early, without the jobs under way.
    ///
    /// # Errors
    /// The first that a job meets; the others are then left.
    pub fn run(
        &self,
        jobs: &[Job],
        pace: impl Into<Pace>,
        stop: &AtomicBool,
        finished: impl FnMut(Job, Replication),
    ) -> Result<(), ExperimentError> {
        self.run_with(jobs, pace, stop, |jobs| self.play_together(jobs, stop), finished)
    }

    /// As [`Experiment::run`], with more around jobs than [`Experiment::play_together`]: a clock,
    /// for instance, which this library does not have. `play` runs on the threads and returns as
    /// many results as there are jobs.
    ///
    /// # Errors
    /// As [`Experiment::run`].
    pub fn run_with<T: Send>(
        &self,
        jobs: &[Job],
        pace: impl Into<Pace>,
        stop: &AtomicBool,
        play: impl Fn(&[Job]) -> Result<Option<Vec<T>>, ExperimentError> + Sync,
        mut finished: impl FnMut(Job, T),
    ) -> Result<(), ExperimentError> {
        let pace = pace.into();
        let groups = self.groups(jobs, pace)?;
        let groups: Vec<&[Job]> = groups.iter().map(Vec::as_slice).collect();
        on_threads(&groups, pace.threads, stop, play, |jobs, results| {
            jobs.iter().zip(results).for_each(|(job, result)| finished(*job, result));
        })
    }

    /// What the replications add up to, a summary a case. `results[case][learner]` holds the
    /// replications in their order.
    ///
    /// # Errors
    /// If a case's problem cannot be made.
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

/// Plays the jobs on `threads` threads and hands over each as it ends, on the calling thread.
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
                    // Nobody listens any more: an error has ended the run.
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
