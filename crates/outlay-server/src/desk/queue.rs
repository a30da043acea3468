//! Commands on their way to the store. Whoever writes takes all that wait and commits them at once: while one commit is under way the
//! next batch gathers by itself, so nobody waits for a timer.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::thread::JoinHandle;
use std::time::Instant;

use tokio::sync::oneshot;

use super::figures::Tallies;
use super::live::{Live, State};
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

/// The answer to commands that were sent.
#[derive(Debug)]
pub(super) enum Waiting {
    Over(Result<Vec<Answer>, StoreError>),
    For(oneshot::Receiver<Result<Vec<Answer>, StoreError>>),
}

impl Waiting {
    pub(super) async fn answer(self) -> Result<Vec<Answer>, Trouble> {
        let answer = match self {
            Self::Over(answer) => answer,
            Self::For(answer) => answer.await.map_err(|_| ended())?,
        };
        answer.map_err(Trouble::Store)
    }
}

fn ended() -> Trouble {
    Trouble::Store(StoreError { what: "the service is stopping".to_owned(), is_fatal: false })
}

/// The way to the store.
#[derive(Debug)]
pub(super) struct Queue {
    sender: RwLock<Option<SyncSender<Job>>>,
    writers: Mutex<Vec<JoinHandle<()>>>,
    /// For a store that keeps nobody waiting: two changes of threads cost more than what there is to do.
    at_once: Option<Writer>,
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
        let at_once = store.is_in_memory().then(writer);
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
        Self { sender: RwLock::new(Some(sender)), writers, at_once, depth, failure }
    }

    /// For a store that is written to at once: what keeps the counts from being read until the memory has followed. To be held before
    /// the campaign's state is, if something is to be [sent](Self::send_holding) while it is.
    pub(super) fn keep_from_reading<'a>(&self, live: &'a Live) -> Option<RwLockReadGuard<'a, ()>> {
        self.at_once.as_ref().map(|_| live.keep_from_reading())
    }

    /// Sends commands on their way, to be carried out in one transaction. Whether or not anybody waits for the answer: what is sent is
    /// carried out, and the campaign's memory follows.
    pub(super) fn send(&self, commands: Vec<Command>, live: Option<&Arc<Live>>) -> Result<Waiting, Trouble> {
        let live = live.map(|live| (live, self.keep_from_reading(live)));
        match &live {
            Some((live, Some(_))) => self.send_holding(commands, Some(live), Some(&mut live.state())),
            Some((live, None)) => self.send_holding(commands, Some(live), None),
            None => self.send_holding(commands, None, None),
        }
    }

    /// The same for whoever holds the campaign's state already.
    pub(super) fn send_holding(
        &self,
        commands: Vec<Command>,
        live: Option<&Arc<Live>>,
        state: Option<&mut State>,
    ) -> Result<Waiting, Trouble> {
        if let Some(what) = self.failure() {
            return Err(Trouble::Store(StoreError { what, is_fatal: true }));
        }
        let sender = self.sender.read().unwrap_or_else(PoisonError::into_inner);
        let sender = sender.as_ref().ok_or_else(ended)?;
        if let Some(writer) = &self.at_once {
            return Ok(Waiting::Over(writer.write_now(&commands, state)));
        }
        let (reply, answer) = oneshot::channel();
        match sender.try_send(Job { commands, live: live.cloned(), reply }) {
            Ok(()) => self.depth.fetch_add(1, Ordering::Relaxed),
            Err(TrySendError::Full(_)) => return Err(Trouble::Full),
            Err(TrySendError::Disconnected(_)) => return Err(ended()),
        };
        Ok(Waiting::For(answer))
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
        drop(self.sender.write().unwrap_or_else(PoisonError::into_inner).take());
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
        let mut answers = self.carry_out(&commands).map(Vec::into_iter);
        for (range, live, reply) in jobs {
            let mine = match &mut answers {
                Ok(answers) => Ok(answers.by_ref().take(range.len()).collect()),
                Err(error) => Err(error.clone()),
            };
            if let Some(live) = live {
                follow(&mut live.state(), &commands[range], &mine);
            }
            reply.send(mine).ok();
        }
    }

    /// The same for commands that nobody else's wait with. Its state is held all the while: what memory learns has the order of what
    /// was written.
    fn write_now(&self, commands: &[Command], state: Option<&mut State>) -> Result<Vec<Answer>, StoreError> {
        let answers = self.carry_out(commands);
        if let Some(state) = state {
            follow(state, commands, &answers);
        }
        answers
    }

    fn carry_out(&self, commands: &[Command]) -> Result<Vec<Answer>, StoreError> {
        if self.failure.is_failed.load(Ordering::Acquire) {
            let what = self.failure.what.lock().unwrap_or_else(PoisonError::into_inner).clone();
            self.tallies.failed();
            return Err(StoreError { what, is_fatal: true });
        }
        let begin = Instant::now();
        let answers = self.store.apply(commands);
        match &answers {
            Ok(answers) => self.tallies.committed(begin.elapsed(), commands, answers),
            Err(error) => {
                self.tallies.failed();
                if error.is_fatal {
                    *self.failure.what.lock().unwrap_or_else(PoisonError::into_inner) = error.what.clone();
                    self.failure.is_failed.store(true, Ordering::Release);
                }
            }
        }
        answers
    }
}

/// The memory of a campaign follows the store.
fn follow(state: &mut State, commands: &[Command], answers: &Result<Vec<Answer>, StoreError>) {
    let mut answers = answers.iter().flatten();
    for command in commands {
        match answers.next() {
            Some(Ok(done)) => state.follow(command, done),
            Some(Err(_)) | None => state.take_back(command),
        }
    }
}
