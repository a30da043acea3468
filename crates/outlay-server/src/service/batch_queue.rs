//! Queue of jobs for the writer threads.
//!
//! A thread takes a batch of the waiting jobs, and the next batch accumulates while it is written.
//! A transaction costs more than most of its contents, so a second thread starts only when the
//! waiting jobs justify another transaction.
//!
//! The jobs of a batch are taken from all campaigns in turn, see [`FairQueue`], and the size of a
//! batch is limited. A job therefore waits for at most one transaction of bounded length and for
//! the turn of its campaign, whatever other campaigns send.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::fair_queue::FairQueue;

/// Number of commands that justifies another concurrent transaction.
const WORTH_ANOTHER: usize = 64;

/// Waiting jobs, each of one or more commands.
#[derive(Debug)]
pub(super) struct BatchQueue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    most_waiting: usize,
}

#[derive(Debug)]
struct State<T> {
    /// By campaign, each with its number of commands.
    waiting: FairQueue<usize, (usize, T)>,
    most_cost: usize,
    /// Number of commands of all waiting jobs.
    commands: usize,
    /// Batches being written.
    writing: usize,
    /// Threads waiting for a batch, and the number of them that were notified and have not woken up
    /// yet. Notifying an absent thread costs as much as notifying a present one.
    asleep: usize,
    called: usize,
    is_closed: bool,
}

impl<T> State<T> {
    fn is_worth_a_batch(&self) -> bool {
        !self.waiting.is_empty() && self.commands >= self.writing * WORTH_ANOTHER
    }

    fn take(&mut self) -> Vec<T> {
        let taken = self.waiting.take(self.most_cost);
        self.commands -= taken.iter().map(|(commands, _)| commands).sum::<usize>();
        taken.into_iter().map(|(_, job)| job).collect()
    }

    /// True if a sleeping thread must be notified; it then counts as notified.
    fn calls(&mut self) -> bool {
        let calls = self.is_worth_a_batch() && self.asleep > self.called;
        self.called += usize::from(calls);
        calls
    }
}

/// Size of a job.
#[derive(Debug, Clone, Copy)]
pub(super) struct JobSize {
    pub(super) commands: usize,
    /// Duration, in rows of counts that are changed.
    pub(super) cost: usize,
}

/// Reason why a job is not accepted.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PushError {
    Full,
    Closed,
}

impl<T> BatchQueue<T> {
    /// A batch costs at most `most_cost`, unless it is a single job.
    pub(super) fn new(most_waiting: usize, most_cost: usize) -> Self {
        let state = State {
            waiting: FairQueue::new(),
            most_cost,
            commands: 0,
            writing: 0,
            asleep: 0,
            called: 0,
            is_closed: false,
        };
        Self { state: Mutex::new(state), changed: Condvar::new(), most_waiting }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job behind the others of its campaign; any number identifies a campaign.
    pub(super) fn push(&self, campaign: usize, size: JobSize, job: T) -> Result<(), PushError> {
        let mut state = self.state();
        if state.is_closed {
            return Err(PushError::Closed);
        }
        if state.waiting.len() >= self.most_waiting {
            return Err(PushError::Full);
        }
        state.waiting.push(campaign, size.cost, (size.commands, job));
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
            if state.is_closed && state.waiting.is_empty() {
                return None;
            }
            state.asleep += 1;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.asleep -= 1;
            state.called = state.called.saturating_sub(1);
        }
        let batch = state.take();
        state.writing += 1;
        if state.calls() {
            self.changed.notify_one();
        }
        Some(batch)
    }

    /// A batch is written; its writer looks for the next.
    pub(super) fn done(&self) {
        let mut state = self.state();
        state.writing -= 1;
        if state.is_closed {
            self.changed.notify_all();
        }
    }

    /// Accepts no more jobs. Waiting jobs are still written.
    pub(super) fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_all();
    }

    pub(super) fn len(&self) -> usize {
        self.state().waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn small(commands: usize) -> JobSize {
        JobSize { commands, cost: commands }
    }

    impl<T> BatchQueue<T> {
        /// A job of the only campaign.
        fn add(&self, commands: usize, job: T) -> Result<(), PushError> {
            self.push(1, small(commands), job)
        }
    }

    /// The reports of a large campaign arrive first, but the small campaign does not wait for them.
    #[test]
    fn a_small_campaign_does_not_wait_for_all_reports_of_a_large_one() {
        let queue = BatchQueue::new(1000, 2048);
        let large = JobSize { commands: 1, cost: 3001 };
        (0..3).for_each(|job| queue.push(1, large, job).unwrap());
        (10..12).for_each(|job| queue.push(2, small(1), job).unwrap());
        let next = || {
            let batch = queue.next();
            queue.done();
            batch
        };
        assert_eq!(next(), Some(vec![10, 11]));
        assert_eq!(next(), Some(vec![0]));
        queue.push(2, small(1), 12).unwrap();
        assert_eq!(next(), Some(vec![12]));
        assert_eq!([next(), next()], [Some(vec![1]), Some(vec![2])]);
    }

    #[test]
    fn one_batch_at_a_time_until_another_is_worth_it() {
        let queue = BatchQueue::new(1000, 10_000);
        queue.add(1, 0).unwrap();
        assert_eq!(queue.next(), Some(vec![0]));
        (1..WORTH_ANOTHER).for_each(|job| queue.add(1, job).unwrap());
        assert!(
            !queue.state().is_worth_a_batch(),
            "what waits can wait for the batch that is written"
        );
        queue.add(1, WORTH_ANOTHER).unwrap();
        assert_eq!(queue.next().unwrap().len(), WORTH_ANOTHER);
        (0..WORTH_ANOTHER).for_each(|job| queue.add(1, job).unwrap());
        assert!(!queue.state().is_worth_a_batch(), "a third needs twice as much");
        queue.done();
        assert!(queue.state().is_worth_a_batch());
        queue.done();
        queue.add(5 * WORTH_ANOTHER, 7).unwrap();
        assert!(queue.state().is_worth_a_batch(), "commands count, not jobs");
    }

    #[test]
    fn limits() {
        let queue = BatchQueue::new(3, 6);
        assert_eq!(
            [3, 3, 1, 1].map(|commands| queue.add(commands, commands)),
            [Ok(()), Ok(()), Ok(()), Err(PushError::Full)]
        );
        assert_eq!(
            (queue.next(), queue.len()),
            (Some(vec![3, 3]), 1),
            "a batch is full when the next job does not fit, and no job is split"
        );
        queue.close();
        assert_eq!(queue.add(1, 1), Err(PushError::Closed));
        queue.done();
        assert_eq!((queue.next(), queue.next()), (Some(vec![1]), None));
    }

    /// Many threads on both sides: every job is taken once, and all threads end.
    #[test]
    fn every_job_is_taken_once() {
        let queue = Arc::new(BatchQueue::new(usize::MAX, 100));
        let taken = Arc::new(AtomicUsize::new(0));
        let writers: Vec<_> = (0..4)
            .map(|_| {
                let (queue, taken) = (Arc::clone(&queue), Arc::clone(&taken));
                std::thread::spawn(move || {
                    while let Some(batch) = queue.next() {
                        taken.fetch_add(batch.len(), Ordering::SeqCst);
                        queue.done();
                    }
                })
            })
            .collect();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..5000).for_each(|job| queue.add(1 + job % 3, job).unwrap()));
            }
        });
        // Without another push: waiting jobs are written before the end.
        while queue.len() > 0 {
            std::thread::yield_now();
        }
        queue.close();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        assert_eq!(taken.load(Ordering::SeqCst), 20_000);
    }
}
