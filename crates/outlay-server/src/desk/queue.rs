//! Commands on their way to the store: those that wait are committed together, so nobody waits for
//! a timer or for a commit of his own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLockReadGuard};
use std::thread::JoinHandle;
use std::time::Instant;

use tokio::sync::oneshot;

use super::figures::Tallies;
use super::line::{Line, Turned};
use super::live::{Live, State};
use crate::store::{Command, Done, Refusal, Store, StoreError};

/// What the store answered to one command.
pub(super) type Answer = Result<Done, Refusal>;

/// Commands that belong into one transaction.
#[derive(Debug)]
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
    line: Arc<Line<Job>>,
    writers: Mutex<Vec<JoinHandle<()>>>,
    /// For a store that keeps nobody waiting: two changes of threads cost more than what there is
    /// to do.
    at_once: Option<Writer>,
    is_drained: AtomicBool,
    failure: Arc<Failure>,
}

/// The store failed in a way that only a new process can mend.
#[derive(Debug, Default)]
struct Failure {
    is_failed: AtomicBool,
    what: Mutex<String>,
}

impl Failure {
    fn set(&self, what: String) {
        *self.what.lock().unwrap_or_else(PoisonError::into_inner) = what;
        self.is_failed.store(true, Ordering::Release);
    }

    fn get(&self) -> Option<String> {
        let is_failed = self.is_failed.load(Ordering::Acquire);
        is_failed.then(|| self.what.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

/// One thread's view of the queue.
#[derive(Debug)]
struct Writer {
    store: Arc<dyn Store>,
    line: Arc<Line<Job>>,
    tallies: Arc<Tallies>,
    failure: Arc<Failure>,
}

/// Connections that write at the same time, where the store takes several.
const SHARED_WRITERS: usize = 4;

impl Queue {
    /// Starts the threads that write.
    pub(super) fn open(
        store: &Arc<dyn Store>,
        tallies: &Arc<Tallies>,
        most_waiting: usize,
        most_commands: usize,
    ) -> Self {
        let (line, failure) =
            (Arc::new(Line::new(most_waiting, most_commands)), Arc::new(Failure::default()));
        let writer = || Writer {
            store: Arc::clone(store),
            line: Arc::clone(&line),
            tallies: Arc::clone(tallies),
            failure: Arc::clone(&failure),
        };
        let at_once = store.is_in_memory().then(writer);
        let threads = match (at_once.is_some(), store.is_shared()) {
            (true, _) => 0,
            (false, false) => 1,
            (false, true) => SHARED_WRITERS,
        };
        let start = |number: usize| {
            let writer = writer();
            std::thread::Builder::new()
                .name(format!("store-{number}"))
                .spawn(move || writer.run())
                .ok()
        };
        let writers = Mutex::new((0..threads).filter_map(start).collect());
        Self { line, writers, at_once, is_drained: AtomicBool::new(false), failure }
    }

    /// For a store that is written to at once: what keeps the counts from being read until the
    /// memory has followed. To be held before the campaign's state is, if something is to be
    /// [sent](Self::send_holding) while it is.
    pub(super) fn keep_from_reading<'a>(&self, live: &'a Live) -> Option<RwLockReadGuard<'a, ()>> {
        self.at_once.as_ref().map(|_| live.keep_from_reading())
    }

    /// Sends commands on their way, to be carried out in one transaction. Whether or not anybody
    /// waits for the answer: what is sent is carried out, and the campaign's memory follows.
    pub(super) fn send(
        &self,
        commands: Vec<Command>,
        live: Option<&Arc<Live>>,
    ) -> Result<Waiting, Trouble> {
        let live = live.map(|live| (live, self.keep_from_reading(live)));
        match &live {
            Some((live, Some(_))) => {
                self.send_holding(commands, Some(live), Some(&mut live.state()))
            }
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
        if let Some(writer) = &self.at_once {
            if self.is_drained.load(Ordering::Acquire) {
                return Err(ended());
            }
            return Ok(Waiting::Over(writer.write_now(&commands, state)));
        }
        let (reply, answer) = oneshot::channel();
        self.line.push(commands.len(), Job { commands, live: live.cloned(), reply }).map_err(
            |turned| match turned {
                Turned::Full => Trouble::Full,
                Turned::Closed => ended(),
            },
        )?;
        Ok(Waiting::For(answer))
    }

    /// Jobs that wait.
    pub(super) fn depth(&self) -> u64 {
        self.line.len() as u64
    }

    /// What went wrong for good, if something did.
    pub(super) fn failure(&self) -> Option<String> {
        self.failure.get()
    }

    /// Takes no more, and waits until what was taken is written.
    pub(super) fn drain(&self) {
        self.is_drained.store(true, Ordering::Release);
        self.line.close();
        for writer in self.writers.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            writer.join().ok();
        }
    }
}

impl Writer {
    fn run(self) {
        while let Some(batch) = self.line.next() {
            if catch_unwind(AssertUnwindSafe(|| self.write(batch))).is_err() {
                self.failure.set(
                    "writing to the store broke off; this is a bug in outlay, please report it"
                        .to_owned(),
                );
            }
            self.line.done();
        }
    }

    fn write(&self, batch: Vec<Job>) {
        let mut commands = Vec::with_capacity(batch.len());
        let mut jobs = Vec::with_capacity(batch.len());
        for job in batch {
            jobs.push((commands.len()..commands.len() + job.commands.len(), job.live, job.reply));
            commands.extend(job.commands);
        }
        let mut touched: Vec<Arc<Live>> =
            jobs.iter().filter_map(|(_, live, _)| live.clone()).collect();
        touched.sort_by_key(Live::address);
        touched.dedup_by(|one, other| Arc::ptr_eq(one, other));
        let _kept_from_reading: Vec<_> =
            touched.iter().map(|live| live.keep_from_reading()).collect();
        let mut answers = self.carry_out(&commands).map(Vec::into_iter);
        let mut replies = Vec::with_capacity(jobs.len());
        for (range, live, reply) in jobs {
            let mine = match &mut answers {
                Ok(answers) => Ok(answers.by_ref().take(range.len()).collect()),
                Err(error) => Err(error.clone()),
            };
            if let Some(live) = live {
                follow(&mut live.state(), &commands[range], &mine);
            }
            replies.push((reply, mine));
        }
        // Not before all have been followed: whoever is answered asks again, and would fight for
        // the state with those behind him.
        for (reply, mine) in replies {
            reply.send(mine).ok();
        }
    }

    /// The same for commands that nobody else's wait with. Its state is held all the while: what
    /// memory learns has the order of what was written.
    fn write_now(
        &self,
        commands: &[Command],
        state: Option<&mut State>,
    ) -> Result<Vec<Answer>, StoreError> {
        let answers = self.carry_out(commands);
        if let Some(state) = state {
            follow(state, commands, &answers);
        }
        answers
    }

    fn carry_out(&self, commands: &[Command]) -> Result<Vec<Answer>, StoreError> {
        if let Some(what) = self.failure.get() {
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
                    self.failure.set(error.what.clone());
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
