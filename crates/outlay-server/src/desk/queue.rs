//! Commands on their way to the store. Whoever writes takes all that wait and commits them at once: while one commit is under way the
//! next batch gathers by itself, so nobody waits for a timer.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use tokio::sync::oneshot;

use super::figures::Tallies;
use super::live::Live;
use crate::store::{Command, Done, Refusal, Store, StoreError};

/// What the store answered to one command.
pub(super) type Answer = Result<Done, Refusal>;

/// Commands that belong into one transaction.
struct Job {
    commands: Vec<Command>,
    /// The campaign they are about: its memory changes with the store, before anybody is answered.
    live: Option<Arc<Live>>,
    reply: oneshot::Sender<Result<Vec<Answer>, StoreError>>,
}

/// Why a job was not done.
#[derive(Debug)]
pub(super) enum Trouble {
    /// Too many commands wait.
    Full,
    /// The store could not do it.
    Store(StoreError),
}

/// The way to the store.
#[derive(Debug)]
pub(super) struct Queue {
    sender: Mutex<Option<SyncSender<Job>>>,
    writers: Mutex<Vec<JoinHandle<()>>>,
    /// For a store that keeps nobody waiting: two changes of threads cost more than what there is to do.
    at_once: Option<Mutex<Writer>>,
    depth: Arc<AtomicU64>,
    failure: Arc<Failure>,
}

/// The store failed in a way that only a new process can mend.
#[derive(Debug, Default)]
struct Failure {
    is_failed: AtomicBool,
    what: Mutex<String>,
}

/// One thread's view of the queue.
#[derive(Debug)]
struct Writer {
    store: Arc<dyn Store>,
    jobs: Arc<Mutex<Receiver<Job>>>,
    tallies: Arc<Tallies>,
    depth: Arc<AtomicU64>,
    failure: Arc<Failure>,
    most_commands: usize,
}

/// Connections that write at the same time, where the store takes several.
const SHARED_WRITERS: usize = 4;

impl Queue {
    /// Starts the threads that write.
    pub(super) fn open(store: &Arc<dyn Store>, tallies: &Arc<Tallies>, most_waiting: usize, most_commands: usize) -> Self {
        let (sender, jobs) = sync_channel(most_waiting);
        let (depth, failure) = (Arc::new(AtomicU64::new(0)), Arc::new(Failure::default()));
        let jobs = Arc::new(Mutex::new(jobs));
        let writer = || Writer {
            store: Arc::clone(store),
            jobs: Arc::clone(&jobs),
            tallies: Arc::clone(tallies),
            depth: Arc::clone(&depth),
            failure: Arc::clone(&failure),
            most_commands,
        };
        let at_once = store.is_in_memory().then(|| Mutex::new(writer()));
        let threads = match (at_once.is_some(), store.is_shared()) {
            (true, _) => 0,
            (false, false) => 1,
            (false, true) => SHARED_WRITERS,
        };
        let start = |number: usize| {
            let writer = writer();
            std::thread::Builder::new().name(format!("store-{number}")).spawn(move || writer.run()).ok()
        };
        let writers = Mutex::new((0..threads).filter_map(start).collect());
        Self { sender: Mutex::new(Some(sender)), writers, at_once, depth, failure }
    }

    /// Has these commands carried out in one transaction.
    pub(super) async fn apply(&self, commands: Vec<Command>, live: Option<Arc<Live>>) -> Result<Vec<Answer>, Trouble> {
        if let Some(what) = self.failure() {
            return Err(Trouble::Store(StoreError { what, is_fatal: true }));
        }
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let ended = || Trouble::Store(StoreError { what: "the service is stopping".to_owned(), is_fatal: false });
        let (reply, answer) = oneshot::channel();
        let sender = sender.ok_or_else(ended)?;
        let job = Job { commands, live, reply };
        if let Some(writer) = &self.at_once {
            // One at a time: what memory learns has the order of what was written.
            writer.lock().unwrap_or_else(PoisonError::into_inner).write(vec![job]);
            return answer.await.map_err(|_| ended())?.map_err(Trouble::Store);
        }
        match sender.try_send(job) {
            Ok(()) => self.depth.fetch_add(1, Ordering::Relaxed),
            Err(TrySendError::Full(_)) => return Err(Trouble::Full),
            Err(TrySendError::Disconnected(_)) => return Err(ended()),
        };
        answer.await.map_err(|_| ended())?.map_err(Trouble::Store)
    }

    /// Jobs that wait.
    pub(super) fn depth(&self) -> u64 {
        self.depth.load(Ordering::Relaxed)
    }

    /// What went wrong for good, if something did.
    pub(super) fn failure(&self) -> Option<String> {
        let is_failed = self.failure.is_failed.load(Ordering::Acquire);
        is_failed.then(|| self.failure.what.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// Takes no more, and waits until what was taken is written.
    pub(super) fn drain(&self) {
        drop(self.sender.lock().unwrap_or_else(PoisonError::into_inner).take());
        for writer in self.writers.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            writer.join().ok();
        }
    }
}

impl Writer {
    fn run(self) {
        while let Some(batch) = self.next_batch() {
            self.depth.fetch_sub(batch.len() as u64, Ordering::Relaxed);
            self.write(batch);
        }
    }

    /// Waits for a job and takes what has gathered behind it; none at the end.
    fn next_batch(&self) -> Option<Vec<Job>> {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let first = jobs.recv().ok()?;
        let mut commands = first.commands.len();
        let mut batch = vec![first];
        while commands < self.most_commands
            && let Ok(job) = jobs.try_recv()
        {
            commands += job.commands.len();
            batch.push(job);
        }
        Some(batch)
    }

    fn write(&self, batch: Vec<Job>) {
        let mut commands = Vec::with_capacity(batch.len());
        let mut jobs = Vec::with_capacity(batch.len());
        for job in batch {
            jobs.push((commands.len()..commands.len() + job.commands.len(), job.live, job.reply));
            commands.extend(job.commands);
        }
        let mut touched: Vec<Arc<Live>> = jobs.iter().filter_map(|(_, live, _)| live.clone()).collect();
        touched.sort_by_key(Live::address);
        touched.dedup_by(|one, other| Arc::ptr_eq(one, other));
        let _kept_from_reading: Vec<_> = touched.iter().map(|live| live.keep_from_reading()).collect();
        let begin = Instant::now();
        let answers = if self.failure.is_failed.load(Ordering::Acquire) {
            Err(StoreError { what: self.failure.what.lock().unwrap_or_else(PoisonError::into_inner).clone(), is_fatal: true })
        } else {
            self.store.apply(&commands)
        };
        match answers {
            Ok(answers) => {
                self.tallies.committed(begin.elapsed(), &commands, &answers);
                let mut answers = answers.into_iter();
                for (range, live, reply) in jobs {
                    let mine: Vec<Answer> = answers.by_ref().take(range.len()).collect();
                    for (command, answer) in commands[range].iter().zip(&mine) {
                        if let (Some(live), Ok(done)) = (&live, answer) {
                            live.follow(command, done);
                        }
                    }
                    reply.send(Ok(mine)).ok();
                }
            }
            Err(error) => {
                self.tallies.failed();
                if error.is_fatal {
                    *self.failure.what.lock().unwrap_or_else(PoisonError::into_inner) = error.what.clone();
                    self.failure.is_failed.store(true, Ordering::Release);
                }
                for (_, _, reply) in jobs {
                    reply.send(Err(error.clone())).ok();
                }
            }
        }
    }
}
