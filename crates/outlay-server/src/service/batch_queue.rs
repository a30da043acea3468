//! Jobs in line for the threads that write.
//!
//! Whoever writes takes all that wait, and while one batch is written the next gathers by itself. A
//! transaction costs more than what is in it, so a second thread only begins when what waits is
//! worth a transaction of its own.
//!
//! A job of many rows has a transaction to itself, in turn with those of few: these wait for one of
//! them at most, however many there are.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// So many commands are worth another transaction at the same time.
const WORTH_ANOTHER: usize = 64;
/// A job of more rows than this has a transaction to itself.
const HEAVY_ROWS: usize = 256;

/// A line of jobs, each of one or more commands.
#[derive(Debug)]
pub(super) struct BatchQueue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    most_waiting: usize,
    most_commands: usize,
}

#[derive(Debug)]
struct State<T> {
    /// Each with the number of its commands.
    waiting: VecDeque<(usize, T)>,
    /// Those of many rows.
    heavy: VecDeque<(usize, T)>,
    /// The last batch was one of these.
    was_heavy: bool,
    /// Of all that wait.
    commands: usize,
    /// Batches that are being written.
    writing: usize,
    /// Threads that wait for a batch, and how many of them have been called and are not awake yet.
    /// To call one that is not there costs as much as to call one that is.
    asleep: usize,
    called: usize,
    is_closed: bool,
}

impl<T> State<T> {
    fn is_worth_a_batch(&self) -> bool {
        !self.is_empty() && self.commands >= self.writing * WORTH_ANOTHER
    }

    fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.heavy.is_empty()
    }

    /// The next batch: one heavy job, or others.
    fn take(&mut self, most_commands: usize) -> Vec<T> {
        self.was_heavy = !self.heavy.is_empty() && (self.waiting.is_empty() || !self.was_heavy);
        let (from, most_jobs) =
            if self.was_heavy { (&mut self.heavy, 1) } else { (&mut self.waiting, usize::MAX) };
        let mut batch = Vec::with_capacity(from.len().min(most_jobs));
        let mut taken = 0;
        while taken < most_commands
            && batch.len() < most_jobs
            && let Some((commands, job)) = from.pop_front()
        {
            taken += commands;
            batch.push(job);
        }
        self.commands -= taken;
        batch
    }

    /// Whether somebody is to be called; he is then taken for called.
    fn calls(&mut self) -> bool {
        let calls = self.is_worth_a_batch() && self.asleep > self.called;
        self.called += usize::from(calls);
        calls
    }
}

/// How much there is to write.
#[derive(Debug, Clone, Copy)]
pub(super) struct JobSize {
    pub(super) commands: usize,
    pub(super) rows: usize,
}

/// Why a job cannot stand in line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PushError {
    Full,
    Closed,
}

impl<T> BatchQueue<T> {
    pub(super) fn new(most_waiting: usize, most_commands: usize) -> Self {
        let state = State {
            waiting: VecDeque::new(),
            heavy: VecDeque::new(),
            was_heavy: false,
            commands: 0,
            writing: 0,
            asleep: 0,
            called: 0,
            is_closed: false,
        };
        Self { state: Mutex::new(state), changed: Condvar::new(), most_waiting, most_commands }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a job at the end of the queue.
    pub(super) fn push(&self, size: JobSize, job: T) -> Result<(), PushError> {
        let mut state = self.state();
        if state.is_closed {
            return Err(PushError::Closed);
        }
        if state.waiting.len() + state.heavy.len() >= self.most_waiting {
            return Err(PushError::Full);
        }
        let is_heavy = size.rows > HEAVY_ROWS;
        let queue = if is_heavy { &mut state.heavy } else { &mut state.waiting };
        queue.push_back((size.commands, job));
        state.commands += size.commands;
        let calls = state.calls();
        drop(state);
        if calls {
            self.changed.notify_one();
        }
        Ok(())
    }

    /// Waits for a batch that is worth writing; none at the end. Each must be followed by
    /// [`done`](Self::done).
    pub(super) fn next(&self) -> Option<Vec<T>> {
        let mut state = self.state();
        while !state.is_worth_a_batch() {
            if state.is_closed && state.is_empty() {
                return None;
            }
            state.asleep += 1;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.asleep -= 1;
            state.called = state.called.saturating_sub(1);
        }
        let batch = state.take(self.most_commands);
        state.writing += 1;
        if state.calls() {
            self.changed.notify_one();
        }
        Some(batch)
    }

    /// A batch is written: whoever wrote it looks for the next.
    pub(super) fn done(&self) {
        let mut state = self.state();
        state.writing -= 1;
        if state.is_closed {
            self.changed.notify_all();
        }
    }

    /// Lets nobody in any more. Those in line are still written.
    pub(super) fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_all();
    }

    pub(super) fn len(&self) -> usize {
        let state = self.state();
        state.waiting.len() + state.heavy.len()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn small(commands: usize) -> JobSize {
        JobSize { commands, rows: commands }
    }

    /// Only the first of them is waited for.
    #[test]
    fn jobs_of_many_rows_take_turns_with_the_others() {
        let line = BatchQueue::new(1000, 10_000);
        let heavy = JobSize { commands: 1, rows: 3000 };
        (0..3).for_each(|job| line.push(heavy, job).unwrap());
        (10..12).for_each(|job| line.push(small(1), job).unwrap());
        let next = || {
            let batch = line.next();
            line.done();
            batch
        };
        assert_eq!(next(), Some(vec![0]));
        assert_eq!(next(), Some(vec![10, 11]));
        assert_eq!([next(), next()], [Some(vec![1]), Some(vec![2])]);
    }

    #[test]
    fn one_batch_at_a_time_until_another_is_worth_it() {
        let line = BatchQueue::new(1000, 10_000);
        line.push(small(1), 0).unwrap();
        assert_eq!(line.next(), Some(vec![0]));
        (1..WORTH_ANOTHER).for_each(|job| line.push(small(1), job).unwrap());
        assert!(
            !line.state().is_worth_a_batch(),
            "what waits can wait for the batch that is written"
        );
        line.push(small(1), WORTH_ANOTHER).unwrap();
        assert_eq!(line.next().unwrap().len(), WORTH_ANOTHER);
        (0..WORTH_ANOTHER).for_each(|job| line.push(small(1), job).unwrap());
        assert!(!line.state().is_worth_a_batch(), "a third needs twice as much");
        line.done();
        assert!(line.state().is_worth_a_batch());
        line.done();
        line.push(small(5 * WORTH_ANOTHER), 7).unwrap();
        assert!(line.state().is_worth_a_batch(), "commands count, not jobs");
    }

    #[test]
    fn limits() {
        let line = BatchQueue::new(3, 4);
        assert_eq!(
            [3, 3, 1, 1].map(|commands| line.push(small(commands), commands)),
            [Ok(()), Ok(()), Ok(()), Err(PushError::Full)]
        );
        assert_eq!(
            (line.next(), line.len()),
            (Some(vec![3, 3]), 1),
            "a batch is full when it has enough, and no job is split"
        );
        line.close();
        assert_eq!(line.push(small(1), 1), Err(PushError::Closed));
        line.done();
        assert_eq!((line.next(), line.next()), (Some(vec![1]), None));
    }

    /// Many threads on both sides: everything is taken once, and everybody comes to an end.
    #[test]
    fn nobody_is_forgotten() {
        let line = Arc::new(BatchQueue::new(usize::MAX, 100));
        let taken = Arc::new(AtomicUsize::new(0));
        let writers: Vec<_> = (0..4)
            .map(|_| {
                let (line, taken) = (Arc::clone(&line), Arc::clone(&taken));
                std::thread::spawn(move || {
                    while let Some(batch) = line.next() {
                        taken.fetch_add(batch.len(), Ordering::SeqCst);
                        line.done();
                    }
                })
            })
            .collect();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    (0..5000).for_each(|job| line.push(small(1 + job % 3), job).unwrap())
                });
            }
        });
        // Without another push: whoever is in line is served before the end.
        while line.len() > 0 {
            std::thread::yield_now();
        }
        line.close();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        assert_eq!(taken.load(Ordering::SeqCst), 20_000);
    }
}
