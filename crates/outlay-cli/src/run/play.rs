//! Runs the missing replications of an experiment and saves each one when it ends.

use std::num::NonZeroUsize;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use outlay::simulation::{Experiment, Job, Replication};

use super::folder::RunFolder;
use super::interrupt;
use crate::failure::Failure;
use crate::output::progress::{Progress, Work, with_progress};

/// How a run ended.
pub(crate) enum RunEnd {
    Complete,
    Interrupted,
}

/// Parts of a replication that are saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    Everything,
    /// The final results without the trace, which is a hundredth of the size.
    WithoutTrace,
}

impl Keep {
    fn apply(self, replication: Replication) -> Replication {
        match self {
            Self::Everything => replication,
            Self::WithoutTrace => {
                Replication { trace: Vec::new(), spend: Vec::new(), ..replication }
            }
        }
    }
}

/// The finished replications of an experiment.
pub(crate) struct Played {
    /// `cells[case][learner]`.
    cells: Vec<Vec<Cell>>,
    read_back: usize,
}

/// One learner on one problem.
#[derive(Clone)]
struct Cell {
    replications: Vec<Option<Replication>>,
    /// Time spent in the replications that this process ran.
    time: Duration,
    /// True if replications of an earlier process were read.
    read_back: bool,
}

impl Played {
    /// Starts with the replications of an earlier process. Those beyond the requested number are
    /// ignored.
    pub(crate) fn new(experiment: &Experiment, known: Vec<(Job, Replication)>) -> Self {
        let empty = Cell {
            replications: vec![None; experiment.replications as usize],
            time: Duration::ZERO,
            read_back: false,
        };
        let mut played = Self {
            cells: vec![vec![empty; experiment.learners.len()]; experiment.cases.len()],
            read_back: 0,
        };
        for (job, replication) in known {
            let Some(cell) =
                played.cells.get_mut(job.case).and_then(|cells| cells.get_mut(job.learner))
            else {
                continue;
            };
            let Some(slot) = usize::try_from(job.replication)
                .ok()
                .and_then(|number| cell.replications.get_mut(number))
            else {
                continue;
            };
            if slot.is_none() {
                *slot = Some(replication);
                cell.read_back = true;
                played.read_back += 1;
            }
        }
        played
    }

    pub(crate) fn read_back(&self) -> usize {
        self.read_back
    }

    pub(crate) fn done(&self) -> usize {
        self.cells.iter().flatten().map(|cell| cell.replications.iter().flatten().count()).sum()
    }

    pub(crate) fn total(&self) -> usize {
        self.cells.iter().flatten().map(|cell| cell.replications.len()).sum()
    }

    fn has(&self, job: Job) -> bool {
        self.cells[job.case][job.learner].replications[job.replication as usize].is_some()
    }

    fn add(&mut self, job: Job, replication: Replication, time: Duration) {
        let cell = &mut self.cells[job.case][job.learner];
        cell.replications[job.replication as usize] = Some(replication);
        cell.time += time;
    }

    /// The finished replications: `[case][learner]`, in order.
    pub(crate) fn replications(&self) -> Vec<Vec<Vec<Replication>>> {
        let of_cell = |cell: &Cell| cell.replications.iter().flatten().cloned().collect();
        self.cells.iter().map(|cells| cells.iter().map(of_cell).collect()).collect()
    }

    /// Rounds per second: `[case][learner]`. Absent if replications were read from a file, because
    /// their time is unknown.
    pub(crate) fn speeds(&self, experiment: &Experiment) -> Vec<Vec<Option<f64>>> {
        let speed = |horizon: u64, cell: &Cell| {
            let rounds = horizon as f64 * cell.replications.len() as f64;
            Some(rounds / cell.time.as_secs_f64())
                .filter(|speed| !cell.read_back && speed.is_finite())
        };
        let cases = experiment.cases.iter().zip(&self.cells);
        cases
            .map(|(case, cells)| cells.iter().map(|cell| speed(case.horizon, cell)).collect())
            .collect()
    }
}

/// The requested number of threads, or the number of cores.
pub(crate) fn threads(requested: Option<u16>) -> NonZeroUsize {
    let requested = requested.and_then(|threads| NonZeroUsize::new(threads.into()));
    requested.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
}

/// Runs the missing replications with a progress bar.
pub(crate) fn play(
    experiment: &Experiment,
    played: &mut Played,
    folder: &mut RunFolder,
    threads: NonZeroUsize,
    quiet: bool,
) -> Result<RunEnd, Failure> {
    let total: f64 = experiment.jobs().map(|job| rounds(experiment, job)).sum();
    let work = Work {
        steps_name: "replications",
        steps: played.total(),
        steps_done: played.done(),
        unit: Some("rounds"),
        total,
        done: total - rounds_missing(experiment, played),
    };
    with_progress(work, quiet, |progress| {
        play_missing(experiment, Keep::Everything, played, folder, threads, progress)
    })
}

fn rounds(experiment: &Experiment, job: Job) -> f64 {
    experiment.cases[job.case].horizon as f64
}

/// Number of rounds in the missing replications.
pub(crate) fn rounds_missing(experiment: &Experiment, played: &Played) -> f64 {
    experiment.jobs().filter(|job| !played.has(*job)).map(|job| rounds(experiment, job)).sum()
}

/// Runs the missing replications and advances a progress bar, which may cover more than this.
pub(crate) fn play_missing(
    experiment: &Experiment,
    keep: Keep,
    played: &mut Played,
    folder: &mut RunFolder,
    threads: NonZeroUsize,
    progress: &Progress,
) -> Result<RunEnd, Failure> {
    let missing: Vec<Job> = experiment.jobs().filter(|job| !played.has(*job)).collect();
    if missing.is_empty() {
        return Ok(RunEnd::Complete);
    }
    let stop = interrupt::flag()?;
    let mut save_error = None;
    let start = Instant::now();
    let clock = || start.elapsed();
    experiment.run_timed(&missing, threads, stop, clock, |job, replication, time| {
        let replication = keep.apply(replication);
        if save_error.is_some() {
            return;
        }
        if let Err(failure) = folder.save(job, &replication) {
            // Results that cannot be saved would be lost.
            stop.store(true, Ordering::Relaxed);
            save_error = Some(failure);
            return;
        }
        played.add(job, replication, time);
        progress.step_by(rounds(experiment, job));
    })?;
    match save_error {
        Some(failure) => Err(failure),
        None if played.done() < played.total() => Ok(RunEnd::Interrupted),
        None => Ok(RunEnd::Complete),
    }
}
