//! Commands on their way to the store. Waiting commands are committed together, so none of them
//! waits for a timer or needs a separate commit.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLockReadGuard};
use std::thread::JoinHandle;
use std::time::Instant;

use tokio::sync::oneshot;

use super::batch_queue::{BatchQueue, JobSize, PushError};
use super::campaign_cache::CachedCampaign;
use super::campaign_state::State;
use super::metrics::Counters;
use crate::store::{Command, Done, Refusal, Store, StoreError};

/// Result of one command.
pub(super) type Answer = Result<Done, Refusal>;

/// Commands of one transaction.
#[derive(Debug)]
struct WriteJob {
    commands: Vec<Command>,
    /// The campaign they belong to: its memory changes with the store, before the requests are
    /// answered.
    cached: Option<Arc<CachedCampaign>>,
    reply: oneshot::Sender<Result<Vec<Answer>, StoreError>>,
}

/// Reason why a job was not done.
#[derive(Debug)]
pub(super) enum WriteError {
    /// Too many commands are waiting.
    Full,
    /// The store failed.
    Store(StoreError),
}

/// The pending results of commands.
#[derive(Debug)]
pub(super) enum Waiting {
    Over(Result<Vec<Answer>, StoreError>),
    For(oneshot::Receiver<Result<Vec<Answer>, StoreError>>),
}

impl Waiting {
    pub(super) async fn answer(self) -> Result<Vec<Answer>, WriteError> {
        let answer = match self {
            Self::Over(answer) => answer,
            Self::For(answer) => answer.await.map_err(|_| ended())?,
        };
        answer.map_err(WriteError::Store)
    }
}

fn ended() -> WriteError {
    WriteError::Store(StoreError { what: "the service is stopping".to_owned(), is_fatal: false })
}

/// The queue of the store.
#[derive(Debug)]
pub(super) struct GroupCommit {
    line: Arc<BatchQueue<WriteJob>>,
    writers: Mutex<Vec<JoinHandle<()>>>,
    /// For a store that never blocks: switching threads twice would cost more than the work.
    at_once: Option<Writer>,
    is_drained: AtomicBool,
    /// Jobs rejected because the queue was full.
    refused: AtomicU64,
    failure: Arc<Failure>,
}

/// The store failed in a way that only a restart can repair.
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
    line: Arc<BatchQueue<WriteJob>>,
    counters: Arc<Counters>,
    failure: Arc<Failure>,
}

/// Connections that write at the same time, if the store supports several.
const SHARED_WRITERS: usize = 4;

impl GroupCommit {
    /// Starts the threads that write.
    pub(super) fn open(
        store: &Arc<dyn Store>,
        counters: &Arc<Counters>,
        most_waiting: usize,
        most_cost: usize,
    ) -> Self {
        let (line, failure) =
            (Arc::new(BatchQueue::new(most_waiting, most_cost)), Arc::new(Failure::default()));
        let writer = || Writer {
            store: Arc::clone(store),
            line: Arc::clone(&line),
            counters: Arc::clone(counters),
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
        Self {
            line,
            writers,
            at_once,
            is_drained: AtomicBool::new(false),
            refused: AtomicU64::new(0),
            failure,
        }
    }

    /// For a store that is written to directly: a guard that keeps the counts from being read until
    /// memory is updated. To be taken before the state of the campaign is locked, if commands are
    /// to be [sent](Self::send_holding) while it is.
    pub(super) fn keep_from_reading<'a>(
        &self,
        cached: &'a CachedCampaign,
    ) -> Option<RwLockReadGuard<'a, ()>> {
        self.at_once.as_ref().map(|_| cached.keep_from_reading())
    }

    /// Sends commands, to be carried out in one transaction. They are carried out and applied in
    /// memory even if the caller does not wait for the result.
    pub(super) fn send(
        &self,
        commands: Vec<Command>,
        cached: Option<&Arc<CachedCampaign>>,
    ) -> Result<Waiting, WriteError> {
        let cached = cached.map(|cached| (cached, self.keep_from_reading(cached)));
        match &cached {
            Some((cached, Some(_))) => {
                self.send_holding(commands, Some(cached), Some(&mut cached.state()))
            }
            Some((cached, None)) => self.send_holding(commands, Some(cached), None),
            None => self.send_holding(commands, None, None),
        }
    }

    /// The same for callers that already hold the state of the campaign.
    pub(super) fn send_holding(
        &self,
        commands: Vec<Command>,
        cached: Option<&Arc<CachedCampaign>>,
        state: Option<&mut State>,
    ) -> Result<Waiting, WriteError> {
        if let Some(what) = self.failure() {
            return Err(WriteError::Store(StoreError { what, is_fatal: true }));
        }
        if let Some(writer) = &self.at_once {
            if self.is_drained.load(Ordering::Acquire) {
                return Err(ended());
            }
            return Ok(Waiting::Over(writer.write_now(&commands, cached, state)));
        }
        let (reply, answer) = oneshot::channel();
        // Commands without a campaign take turns like a campaign.
        let campaign = cached.map_or(0, CachedCampaign::address);
        self.line
            .push(campaign, size(&commands), WriteJob { commands, cached: cached.cloned(), reply })
            .map_err(|turned| match turned {
                PushError::Full => {
                    self.refused.fetch_add(1, Ordering::Relaxed);
                    WriteError::Full
                }
                PushError::Closed => ended(),
            })?;
        Ok(Waiting::For(answer))
    }

    /// Number of jobs rejected because the queue was full.
    pub(super) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Number of waiting jobs.
    pub(super) fn depth(&self) -> u64 {
        self.line.len() as u64
    }

    /// The fatal error, if there was one.
    pub(super) fn failure(&self) -> Option<String> {
        self.failure.get()
    }

    /// Accepts no more jobs, and waits until the accepted ones are written.
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

    fn write(&self, batch: Vec<WriteJob>) {
        let mut commands = Vec::with_capacity(batch.len());
        let mut jobs = Vec::with_capacity(batch.len());
        for job in batch {
            if job.cached.as_ref().is_some_and(|cached| cached.is_deleted()) {
                refuse_deleted(job);
                continue;
            }
            jobs.push((commands.len()..commands.len() + job.commands.len(), job.cached, job.reply));
            commands.extend(job.commands);
        }
        let mut touched: Vec<Arc<CachedCampaign>> =
            jobs.iter().filter_map(|(_, cached, _)| cached.clone()).collect();
        touched.sort_by_key(CachedCampaign::address);
        touched.dedup_by(|one, other| Arc::ptr_eq(one, other));
        let _kept_from_reading: Vec<_> =
            touched.iter().map(|cached| cached.keep_from_reading()).collect();
        let mut answers = self.carry_out(&commands).map(Vec::into_iter);
        let mut replies = Vec::with_capacity(jobs.len());
        for (range, cached, reply) in jobs {
            let mine = match &mut answers {
                Ok(answers) => Ok(answers.by_ref().take(range.len()).collect()),
                Err(error) => Err(error.clone()),
            };
            if let Some(cached) = cached {
                let mut state = cached.state();
                apply_committed(&mut state, &commands[range], &mine);
                cached.relieve(&mut state);
                cached.note_change();
            }
            replies.push((reply, mine));
        }
        // Only after all have been applied: clients send their next request at once, and would
        // compete for the state with the remaining jobs.
        for (reply, mine) in replies {
            reply.send(mine).ok();
        }
    }

    /// The same for a store that is written to directly. The state is locked meanwhile, so that
    /// memory applies writes in their order.
    fn write_now(
        &self,
        commands: &[Command],
        cached: Option<&Arc<CachedCampaign>>,
        state: Option<&mut State>,
    ) -> Result<Vec<Answer>, StoreError> {
        let is_deleted = cached.is_some_and(|cached| cached.is_deleted());
        let answers = if is_deleted { Ok(deleted(commands)) } else { self.carry_out(commands) };
        if let Some((cached, state)) = cached.zip(state) {
            apply_committed(state, commands, &answers);
            cached.relieve(state);
            cached.note_change();
        }
        answers
    }

    fn carry_out(&self, commands: &[Command]) -> Result<Vec<Answer>, StoreError> {
        if let Some(what) = self.failure.get() {
            self.counters.failed();
            return Err(StoreError { what, is_fatal: true });
        }
        let begin = Instant::now();
        let answers = self.store.apply(commands);
        match &answers {
            Ok(answers) => self.counters.committed(begin.elapsed(), commands, answers),
            Err(error) => {
                self.counters.failed();
                if error.is_fatal {
                    self.failure.set(error.what.clone());
                }
            }
        }
        answers
    }
}

/// Spends of a split that take as long to write as one changed count.
const NUMBERS_PER_ROW: usize = 32;

/// Costs more than a batch, so such a job has a separate one.
const WHOLE_BATCH: usize = 16_384;

fn size(commands: &[Command]) -> JobSize {
    let rows = |command: &Command| match command {
        Command::Tell(tell) => tell.items.len(),
        Command::Ask(ask) => ask.split.spend.len() / NUMBERS_PER_ROW,
        // Alone in its batch: later commands find that the campaign is gone.
        Command::Delete(_) => WHOLE_BATCH,
        _ => 0,
    };
    let cost = commands.iter().map(|command| 1 + rows(command)).sum();
    JobSize { commands: commands.len(), cost }
}

/// The results for a deleted campaign.
fn deleted(commands: &[Command]) -> Vec<Answer> {
    commands.iter().map(|_| Err(Refusal::NoCampaign)).collect()
}

/// Answers a job for a campaign that was deleted while it waited.
fn refuse_deleted(job: WriteJob) {
    let answers = Ok(deleted(&job.commands));
    if let Some(cached) = &job.cached {
        apply_committed(&mut cached.state(), &job.commands, &answers);
    }
    job.reply.send(answers).ok();
}

/// Applies committed commands in the memory of a campaign.
fn apply_committed(
    state: &mut State,
    commands: &[Command],
    answers: &Result<Vec<Answer>, StoreError>,
) {
    let mut answers = answers.iter().flatten();
    for command in commands {
        match answers.next() {
            Some(Ok(done)) => state.apply_committed(command, done),
            Some(Err(_)) | None => state.rollback(command),
        }
    }
}
