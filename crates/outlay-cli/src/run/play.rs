//! Playing what is not there yet, with progress, and keeping each replication as it ends.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use outlay::simulation::{Experiment, Job, Replication};

use super::folder::RunFolder;
use super::interrupt;
use crate::console::{Progress, Work, locked};
use crate::failure::Failure;

/// How playing ended.
pub(crate) enum Ended {
    Complete,
    Stopped,
}

/// What is kept of a replication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    Everything,
    /// What it came to in the end, without the way there: a hundredth of the size.
    Ends,
}

impl Keep {
    fn of(self, replication: Replication) -> Replication {
        match self {
            Self::Everything => replication,
            Self::Ends => Replication { trace: Vec::new(), spend: Vec::new(), ..replication },
        }
    }
}

/// The replications of an experiment, as far as they are there.
pub(crate) struct Played {
    /// `cells[case][learner]`.
    cells: Vec<Vec<Cell>>,
    read_back: usize,
}

/// One learner on one problem.
#[derive(Clone)]
struct Cell {
    replications: Vec<Option<Replication>>,
    /// Spent inside the replications that were played now.
    time: Duration,
    read_back: bool,
}

impl Played {
    /// With what is known from before; what does not belong to the experiment is left aside: more
    /// replications than it asks for.
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
            let Some(place) = usize::try_from(job.replication)
                .ok()
                .and_then(|place| cell.replications.get_mut(place))
            else {
                continue;
            };
            if place.is_none() {
                *place = Some(replication);
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

    /// Those that are there: `[case][learner]`, in their order.
    pub(crate) fn replications(&self) -> Vec<Vec<Vec<Replication>>> {
        let of_cell = |cell: &Cell| cell.replications.iter().flatten().cloned().collect();
        self.cells.iter().map(|cells| cells.iter().map(of_cell).collect()).collect()
    }

    /// Rounds per second: `[case][learner]`. Absent where replications were read back: their time
    /// is not known.
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

/// How many threads were asked for; if none, as many as there are cores.
pub(crate) fn threads(asked: Option<u16>) -> NonZeroUsize {
    let asked = asked.and_then(|threads| NonZeroUsize::new(threads.into()));
    asked.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
}

/// Plays what is missing, with a bar of its own.
pub(crate) fn play(
    experiment: &Experiment,
    played: &mut Played,
    folder: &mut RunFolder,
    threads: NonZeroUsize,
    quiet: bool,
) -> Result<Ended, Failure> {
    let total: f64 = experiment.jobs().map(|job| rounds(experiment, job)).sum();
    let before = total - rounds_missing(experiment, played);
    let work = Work { unit: Some("rounds"), total, before, done: before };
    let progress = Progress::resumed("replications", played.total(), played.done(), work, quiet);
    progress.during(|progress| {
        play_missing(experiment, Keep::Everything, played, folder, threads, progress)
    })
}

fn rounds(experiment: &Experiment, job: Job) -> f64 {
    experiment.cases[job.case].horizon as f64
}

/// How many rounds are still to be played.
pub(crate) fn rounds_missing(experiment: &Experiment, played: &Played) -> f64 {
    experiment.jobs().filter(|job| !played.has(*job)).map(|job| rounds(experiment, job)).sum()
}

/// Plays what is missing and moves a bar that may be about more than this.
pub(crate) fn play_missing(
    experiment: &Experiment,
    keep: Keep,
    played: &mut Played,
    folder: &mut RunFolder,
    threads: NonZeroUsize,
    progress: &Mutex<Progress>,
) -> Result<Ended, Failure> {
    let missing: Vec<Job> = experiment.jobs().filter(|job| !played.has(*job)).collect();
    if missing.is_empty() {
        return Ok(Ended::Complete);
    }
    let stop = interrupt::flag()?;
    let mut trouble = None;
    let start = Instant::now();
    let clock = || start.elapsed();
    experiment.run_timed(&missing, threads, stop, clock, |job, replication, time| {
        let replication = keep.of(replication);
        if trouble.is_some() {
            return;
        }
        if let Err(failure) = folder.keep(job, &replication) {
            // Playing on without keeping it would be in vain.
            stop.store(true, Ordering::Relaxed);
            trouble = Some(failure);
            return;
        }
        played.add(job, replication, time);
        locked(progress).step_by(rounds(experiment, job));
    })?;
    match trouble {
        Some(failure) => Err(failure),
        None if played.done() < played.total() => Ok(Ended::Stopped),
        None => Ok(Ended::Complete),
    }
}
