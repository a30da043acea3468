//! Counters of the service.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::write_queue::Answer;
use crate::store::{Command, Done, Refusal};

/// A histogram; the last bucket has no bound.
#[derive(Debug)]
pub(super) struct Buckets<const N: usize> {
    bounds: [f64; N],
    counts: [AtomicU64; N],
    above: AtomicU64,
    /// In millionths.
    sum: AtomicU64,
}

impl<const N: usize> Buckets<N> {
    fn new(bounds: [f64; N]) -> Self {
        Self {
            bounds,
            counts: std::array::from_fn(|_| AtomicU64::new(0)),
            above: AtomicU64::new(0),
            sum: AtomicU64::new(0),
        }
    }

    fn add(&self, number: f64) {
        let place = self.bounds.iter().position(|bound| number <= *bound);
        place.map_or(&self.above, |place| &self.counts[place]).fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add((number * 1e6) as u64, Ordering::Relaxed);
    }

    fn read(&self) -> Histogram {
        let bounds = self.bounds.iter().copied().chain([f64::INFINITY]);
        let counts =
            self.counts.iter().chain([&self.above]).map(|count| count.load(Ordering::Relaxed));
        Histogram {
            buckets: bounds.zip(counts).collect(),
            sum: self.sum.load(Ordering::Relaxed) as f64 / 1e6,
        }
    }
}

/// A histogram of numbers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Histogram {
    /// A bound, and the number of values up to it and above the previous bound; the last bound is
    /// infinite.
    pub buckets: Vec<(f64, u64)>,
    /// Their sum.
    pub sum: f64,
}

/// Counters since the start of the process.
#[derive(Debug)]
pub(super) struct Counters {
    commit_seconds: Buckets<12>,
    batch_commands: Buckets<8>,
    campaigns: AtomicU64,
    deleted: AtomicU64,
    rounds: AtomicU64,
    outcomes: AtomicU64,
    duplicates: AtomicU64,
    late: AtomicU64,
    conflicts: AtomicU64,
    clipped: AtomicU64,
    failures: AtomicU64,
}

impl Counters {
    pub(super) fn new() -> Self {
        Self {
            commit_seconds: Buckets::new([
                0.0001, 0.0003, 0.001, 0.003, 0.005, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0,
            ]),
            batch_commands: Buckets::new([1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 256.0, 1024.0]),
            campaigns: AtomicU64::new(0),
            deleted: AtomicU64::new(0),
            rounds: AtomicU64::new(0),
            outcomes: AtomicU64::new(0),
            duplicates: AtomicU64::new(0),
            late: AtomicU64::new(0),
            conflicts: AtomicU64::new(0),
            clipped: AtomicU64::new(0),
            failures: AtomicU64::new(0),
        }
    }

    pub(super) fn committed(&self, took: Duration, commands: &[Command], answers: &[Answer]) {
        self.commit_seconds.add(took.as_secs_f64());
        self.batch_commands.add(commands.len() as f64);
        for (command, answer) in commands.iter().zip(answers) {
            match (command, answer) {
                (Command::Create(_), Ok(Done::Created)) => add(&self.campaigns, 1),
                (Command::Delete(_), Ok(_)) => add(&self.deleted, 1),
                (Command::Ask(ask), Ok(_)) => add(&self.rounds, ask.rounds.end - ask.rounds.start),
                (Command::Tell(tell), Ok(Done::Told { is_new, .. })) => {
                    let new = is_new.iter().filter(|is_new| **is_new).count() as u64;
                    add(&self.outcomes, new);
                    add(&self.duplicates, is_new.len() as u64 - new);
                    add(&self.late, if tell.is_late { new } else { 0 });
                }
                (_, Err(Refusal::Conflict { .. })) => add(&self.conflicts, 1),
                _ => {}
            }
        }
    }

    /// Number of campaigns: those at the start and those created since.
    pub(super) fn campaigns(&self, at_start: u64) -> u64 {
        let begun = self.campaigns.load(Ordering::Relaxed);
        (at_start + begun).saturating_sub(self.deleted.load(Ordering::Relaxed))
    }

    /// Counts new outcomes whose reward was clipped.
    pub(super) fn clipped(&self, outcomes: u64) {
        add(&self.clipped, outcomes);
    }

    pub(super) fn failed(&self) {
        add(&self.failures, 1);
    }

    pub(super) fn read(&self) -> ServiceMetrics {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ServiceMetrics {
            commit_seconds: self.commit_seconds.read(),
            batch_commands: self.batch_commands.read(),
            rounds: read(&self.rounds),
            outcomes: read(&self.outcomes),
            duplicates: read(&self.duplicates),
            late: read(&self.late),
            conflicts: read(&self.conflicts),
            clipped: read(&self.clipped),
            store_failures: read(&self.failures),
            ..ServiceMetrics::default()
        }
    }
}

fn add(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}

/// Activity of the service since it was opened, and its present state.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ServiceMetrics {
    /// Duration of commits.
    pub commit_seconds: Histogram,
    /// Number of commands per commit.
    pub batch_commands: Histogram,
    /// Jobs waiting for the store.
    pub queue_depth: u64,
    /// Rounds issued.
    pub rounds: u64,
    /// Outcomes accepted.
    pub outcomes: u64,
    /// Outcomes that repeated an earlier one.
    pub duplicates: u64,
    /// Outcomes that arrived after their round had expired.
    pub late: u64,
    /// Reports rejected because they contradicted an earlier outcome.
    pub conflicts: u64,
    /// New outcomes whose reward was above the largest one and was clipped.
    pub clipped: u64,
    /// Batches that the store could not write.
    pub store_failures: u64,
    /// Jobs rejected because the queue of the store was full.
    pub queue_full: u64,
    /// Requests that failed because no split was found in time.
    pub unsolved: u64,
    /// Campaigns in memory.
    pub campaigns: Vec<CampaignMetrics>,
}

/// Metrics of a campaign.
#[derive(Debug, Clone, PartialEq)]
pub struct CampaignMetrics {
    /// Its id.
    pub id: String,
    /// Open rounds that have not expired.
    pub open_rounds: u64,
    /// Reported successes.
    pub completions: u64,
    /// Successes that the curves predict for the reported outcomes.
    pub expected_completions: f64,
    /// Milliseconds since the counts were read, if other processes also write; otherwise 0.
    pub stats_age_ms: u64,
}
