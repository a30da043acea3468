//! Runs solvers off the threads that handle requests, with bounded concurrency and a deadline. The
//! exception are campaigns of a few tasks that need no search, as long as the last split of the
//! campaign took less than 0.25 ms: handing them to another thread takes longer than solving them.
//!
//! There are two lanes, so that quick searches do not wait behind slow ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use outlay::curve::{Family, Shape};
use outlay::{Problem, Task};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{Instant, timeout_at};

use crate::error::{ApiError, ErrorCode};

/// Searches that took less than this use the quick lane, in microseconds.
const QUICK_MICROS: u64 = 10_000;
/// Searches that took less than this may run on the threads that handle requests, in microseconds.
const INSTANT_MICROS: u64 = 250;
/// Problems of concave curves with at most this many tasks are quick: there is nothing to branch
/// on.
pub(crate) const QUICK_TASKS: usize = 100;
/// Niceness of the threads for slow work.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;
/// Largest number of concurrent quick searches.
const QUICK_PERMITS: usize = 2;

/// The queue that a search waits in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    Quick,
    Slow,
}

/// Time to solve a problem, as far as it is known.
#[derive(Debug)]
pub(crate) struct SolveTime(AtomicU64);

impl SolveTime {
    /// Before the first search. Problems that may be hard are treated as hard.
    pub(crate) fn expected(problem: &Problem) -> Self {
        let time = Self(AtomicU64::new(0));
        time.reset(problem);
        time
    }

    /// The problem is another one now.
    pub(crate) fn reset(&self, problem: &Problem) {
        let is_quick =
            problem.tasks().len() <= QUICK_TASKS && problem.tasks().iter().all(has_no_search);
        self.0.store(if is_quick { 0 } else { u64::MAX }, Ordering::Relaxed);
    }

    pub(crate) fn set(&self, took: Duration) {
        self.0.store(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// True if it takes less time than handing the search to another thread.
    pub(crate) fn is_instant(&self) -> bool {
        self.0.load(Ordering::Relaxed) < INSTANT_MICROS
    }

    pub(crate) fn lane(&self) -> Lane {
        if self.0.load(Ordering::Relaxed) < QUICK_MICROS { Lane::Quick } else { Lane::Slow }
    }
}

/// True if the spend of a task follows from the price alone: a concave closed-form curve without
/// `at_least`.
pub(crate) fn has_no_search(task: &Task) -> bool {
    let has_formula = matches!(
        task.curve().family(),
        Family::Power(_)
            | Family::Saturating(_)
            | Family::Exponential(_)
            | Family::Hill(_)
            | Family::Logistic(_)
    );
    has_formula && task.curve().shape() == Shape::Concave && task.bounds().at_least == 0.0
}

/// Whether a search continues after its client has disconnected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhenAbandoned {
    Finish,
    Cancel,
}

/// Runs solvers. A permit is held until the solver returns, even if the client has disconnected.
#[derive(Debug)]
pub(crate) struct Solvers {
    quick: Arc<Semaphore>,
    slow: Arc<Semaphore>,
    timeout: Duration,
    shed: AtomicU64,
}

/// Sets the flag when it is dropped.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Solvers {
    /// One core is left for the threads that handle requests, if there is more than one.
    pub(crate) fn new(timeout: Duration) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            quick: Arc::new(Semaphore::new(QUICK_PERMITS)),
            slow: Arc::new(Semaphore::new(cores.saturating_sub(1).max(1))),
            timeout,
            shed: AtomicU64::new(0),
        }
    }

    /// Deadline of a request that arrives now.
    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.timeout
    }

    /// Number of requests that were not answered in time or not started.
    pub(crate) fn shed(&self) -> u64 {
        self.shed.load(Ordering::Relaxed)
    }

    /// Waits, but not beyond the deadline.
    pub(crate) async fn wait<T>(
        &self,
        deadline: Instant,
        work: impl Future<Output = T>,
    ) -> Result<T, ApiError> {
        timeout_at(deadline, work).await.map_err(|_| self.too_late())
    }

    /// Runs work that takes a processor for a while. The flag that it receives is set when the
    /// deadline has passed.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        lane: Lane,
        deadline: Instant,
        when_abandoned: WhenAbandoned,
        work: impl FnOnce(&Arc<AtomicBool>) -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let permits = match lane {
            Lane::Quick => &self.quick,
            Lane::Slow => &self.slow,
        };
        let permit = self.wait(deadline, Arc::clone(permits).acquire_owned()).await?;
        let cancel = Arc::new(AtomicBool::new(false));
        let given = Arc::clone(&cancel);
        let (solution, solved) = oneshot::channel();
        let solve = move || {
            // The receiver is gone if the client has disconnected.
            let _ = solution.send(work(&given));
            drop(permit);
        };
        match lane {
            Lane::Quick => drop(tokio::task::spawn_blocking(solve)),
            Lane::Slow => start_thread(solve)?,
        }
        let _cancel_on_drop =
            (when_abandoned == WhenAbandoned::Cancel).then(|| CancelOnDrop(Arc::clone(&cancel)));
        match timeout_at(deadline, solved).await {
            Ok(solved) => solved.map_err(|_| broken()),
            Err(_) => {
                cancel.store(true, Ordering::Relaxed);
                Err(self.too_late())
            }
        }
    }

    fn too_late(&self) -> ApiError {
        self.shed.fetch_add(1, Ordering::Relaxed);
        let detail = format!("no split was found within {} s", self.timeout.as_secs_f64());
        ApiError::new(ErrorCode::Busy, detail)
            .hint("the problem is hard, or too many problems are being solved; try again later")
    }
}

/// Runs slow work on its own thread, with a lower priority.
fn start_thread(work: impl FnOnce() + Send + 'static) -> Result<(), ApiError> {
    let started = std::thread::Builder::new().name("solver".to_owned()).spawn(move || {
        lower_priority();
        work();
    });
    started.map(drop).map_err(|_| broken())
}

/// Gives the current thread a lower priority than the threads that handle requests. Only on Linux,
/// where priorities belong to threads.
pub(super) fn lower_priority() {
    // If this is not permitted, the work is done nevertheless.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, NICE);
}

/// The niceness of the current thread.
#[cfg(all(test, target_os = "linux"))]
pub(super) fn niceness() -> i32 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    // The name of the thread, in brackets, may contain spaces.
    let (_, fields) = stat.rsplit_once(')').unwrap();
    fields.split_whitespace().nth(16).unwrap().parse().unwrap()
}

pub(super) fn broken() -> ApiError {
    ApiError::new(ErrorCode::Internal, "this is a bug in outlay; please report it")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(50);

    /// Works until it is cancelled.
    fn endless(cancel: &Arc<AtomicBool>) {
        while !cancel.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[tokio::test]
    async fn after_the_deadline_work_is_cancelled_and_its_permit_returned() {
        let solvers = Solvers::new(SHORT);
        let before = solvers.slow.available_permits();
        let late = solvers.run(Lane::Slow, solvers.deadline(), WhenAbandoned::Finish, endless);
        assert_eq!(late.await.unwrap_err().code, ErrorCode::Busy);
        assert_eq!(solvers.shed(), 1);
        while solvers.slow.available_permits() < before {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_permit_lives_as_long_as_the_work_not_the_client() {
        let solvers = Solvers::new(Duration::from_secs(60));
        let (let_go, wait) = std::sync::mpsc::channel::<()>();
        let before = solvers.slow.available_permits();
        let work = move |_: &Arc<AtomicBool>| wait.recv().unwrap_or_default();
        let abandoned = solvers.run(Lane::Slow, solvers.deadline(), WhenAbandoned::Finish, work);
        assert!(tokio::time::timeout(SHORT, abandoned).await.is_err());
        assert_eq!(solvers.slow.available_permits(), before - 1);
        drop(let_go);
        while solvers.slow.available_permits() < before {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn abandoned_work_can_be_cancelled() {
        let solvers = Solvers::new(Duration::from_secs(60));
        let before = solvers.slow.available_permits();
        let abandoned = solvers.run(Lane::Slow, solvers.deadline(), WhenAbandoned::Cancel, endless);
        assert!(tokio::time::timeout(SHORT, abandoned).await.is_err());
        while solvers.slow.available_permits() < before {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn quick_work_does_not_wait_for_slow_work() {
        let solvers = Arc::new(Solvers::new(SHORT));
        let slow = Arc::clone(&solvers);
        let slow = tokio::spawn(async move {
            slow.run(Lane::Slow, slow.deadline(), WhenAbandoned::Finish, endless).await
        });
        tokio::task::yield_now().await;
        let quick = solvers.run(Lane::Quick, solvers.deadline(), WhenAbandoned::Finish, |_| 7);
        assert_eq!(quick.await.unwrap(), 7);
        assert!(slow.await.unwrap().is_err());
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn slow_work_has_a_lower_priority() {
        let solvers = Solvers::new(Duration::from_secs(60));
        let nice = |_: &Arc<AtomicBool>| niceness();
        let slow = solvers.run(Lane::Slow, solvers.deadline(), WhenAbandoned::Finish, nice);
        assert_eq!(slow.await.unwrap(), (niceness() + NICE).min(19));
    }

    #[test]
    fn the_lane_follows_the_measured_time() {
        let problem = |curve: &str| {
            let text = format!(r#"{{"budget": 1, "task": [{{"curve": {{{curve}}}}}]}}"#);
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            Problem::from_value(&value, &outlay::problem::NoFiles).unwrap()
        };
        let hard =
            SolveTime::expected(&problem(r#""family": "hill", "half_at": 1, "steepness": 9"#));
        assert_eq!(hard.lane(), Lane::Slow);
        hard.set(Duration::from_millis(2));
        assert_eq!(hard.lane(), Lane::Quick);
        hard.set(Duration::from_secs(2));
        assert_eq!(hard.lane(), Lane::Slow);
        let easy = SolveTime::expected(&problem(r#""family": "exponential", "scale": 1"#));
        assert_eq!(easy.lane(), Lane::Quick);
        assert!(easy.is_instant() && !hard.is_instant());
        easy.set(Duration::from_micros(300));
        assert_eq!((easy.lane(), easy.is_instant()), (Lane::Quick, false));
    }
}
