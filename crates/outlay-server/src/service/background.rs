//! Work on large messages: parsing, validating or serialising one takes milliseconds of processor
//! time.
//!
//! The work runs on a few threads with a lower priority, so that the threads that handle small
//! requests get a processor as soon as they need one. Campaigns take turns, see [`FairQueue`].

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use super::fair_queue::FairQueue;
use super::solvers::{broken, lower_priority};
use crate::error::ApiError;

/// The largest number of threads; at most one less than there are processors.
const MOST_THREADS: usize = 4;
/// Bytes of a message that cost one unit in the turns of the campaigns.
const BYTES_PER_COST: usize = 1024;

type Work = Box<dyn FnOnce() + Send>;

/// Threads for large messages.
pub(crate) struct Background {
    waiting: Arc<Mutex<FairQueue<u64, Work>>>,
    /// Only its threads for blocking work are used.
    threads: Option<Runtime>,
}

impl fmt::Debug for Background {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Background").finish_non_exhaustive()
    }
}

impl Background {
    pub(crate) fn new() -> std::io::Result<Self> {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self::with_threads(cores.saturating_sub(1).clamp(1, MOST_THREADS))
    }

    fn with_threads(most: usize) -> std::io::Result<Self> {
        let threads = Builder::new_current_thread()
            .max_blocking_threads(most)
            .thread_name("large-messages")
            .on_thread_start(lower_priority)
            .build()?;
        Ok(Self { waiting: Arc::new(Mutex::new(FairQueue::new())), threads: Some(threads) })
    }

    /// Runs work on a message of about this many bytes when its campaign has its turn. If the
    /// client disconnects before, the work is skipped.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        campaign: &str,
        bytes: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let (result, done) = oneshot::channel();
        let work = move || {
            if !result.is_closed() {
                // The receiver is gone if the client has disconnected.
                let _ = result.send(work());
            }
        };
        let mut hasher = DefaultHasher::new();
        campaign.hash(&mut hasher);
        let cost = 1 + bytes / BYTES_PER_COST;
        lock(&self.waiting).push(hasher.finish(), cost, Box::new(work));
        let waiting = Arc::clone(&self.waiting);
        // As many tasks as jobs; each runs the job whose turn it is.
        let next = move || {
            let job = lock(&waiting).take(0);
            job.into_iter().for_each(|job| job());
        };
        drop(self.threads.as_ref().ok_or_else(broken)?.spawn_blocking(next));
        done.await.map_err(|_| broken())
    }
}

/// The queue is consistent between any two operations.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Background {
    fn drop(&mut self) {
        // Dropping it would block, and panic where blocking is not allowed.
        if let Some(threads) = self.threads.take() {
            threads.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    /// All other jobs wait for the first.
    #[tokio::test]
    async fn campaigns_take_turns() {
        let background = Background::with_threads(1).unwrap();
        let (go, wait) = mpsc::channel::<()>();
        let order = Arc::new(Mutex::new(Vec::new()));
        let note = |name: &'static str| {
            let order = Arc::clone(&order);
            move || lock(&order).push(name)
        };
        let first = background.run("a", 1, move || wait.recv().unwrap_or_default());
        let all = async {
            let rest = futures_util::future::join3(
                background.run("a", 1_000_000, note("a")),
                background.run("a", 1_000_000, note("a")),
                background.run("b", 1000, note("b")),
            );
            let mut rest = std::pin::pin!(rest);
            let soon = tokio::time::timeout(Duration::from_millis(1), &mut rest);
            assert!(soon.await.is_err(), "they do not wait");
            drop(go);
            rest.await
        };
        let (first, _) = futures_util::future::join(first, all).await;
        first.unwrap();
        assert_eq!(*lock(&order), ["b", "a", "a"]);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn background_threads_have_a_lower_priority() {
        let background = Background::new().unwrap();
        let nice = || super::super::solvers::niceness();
        let here = nice();
        assert!(background.run("a", 1, nice).await.unwrap() > here);
        assert_eq!(nice(), here, "the thread that answers has kept its own");
    }

    #[tokio::test]
    async fn a_panic_is_an_error_and_the_next_job_is_done() {
        let background = Background::with_threads(1).unwrap();
        let broken: Result<(), _> = background.run("a", 1, || panic!("on purpose")).await;
        assert!(broken.is_err());
        assert_eq!(background.run("a", 1, || 7).await.unwrap(), 7);
    }
}
