//! Index policies: the weight of a task is an index of its completions and rewards.

use super::counts::{Counts, mean};
use super::{Decision, Learner, LearnerState, RoundContext, StateError};
use crate::feedback::{Completion, Outcome};
use crate::numeric::dispatch::{Loop, vectorised};

/// An optimistic estimate of each task's mean reward from its counts.
pub(super) trait Index: std::fmt::Debug + Clone + Send + 'static {
    /// Updates the index of a task whose counts have changed.
    fn update(&mut self, task: usize, counts: &Counts);

    /// Counts completions of different tasks.
    fn count_batch(&mut self, completed: &[Completion], counts: &mut Counts) {
        for &Completion { task, reward } in completed {
            counts.add(task, reward);
            self.update(task, counts);
        }
    }

    /// The indices for a round.
    fn indices(&mut self, round: u64, counts: &Counts, indices: &mut [f64]);
}

/// The smallest number of completions for which batching pays off.
pub(super) const MIN_BATCH: usize = 12;

/// A learner with an index.
#[derive(Debug, Clone)]
pub(super) struct IndexPolicy<I> {
    counts: Counts,
    index: I,
    /// Whether it also learns from the rewards of tasks that failed (full feedback).
    uses_forgone: bool,
}

impl<I: Index> IndexPolicy<I> {
    /// Counts the rewards of completions.
    pub(super) fn new(tasks: usize, index: I) -> Self {
        let mut learner = Self { counts: Counts::new(tasks), index, uses_forgone: false };
        learner.update_all();
        learner
    }

    /// Counts every reward, including forgone ones.
    pub(super) fn with_full_feedback(tasks: usize, index: I) -> Self {
        Self { uses_forgone: true, ..Self::new(tasks, index) }
    }

    fn update_all(&mut self) {
        for task in 0..self.counts.tasks() {
            self.index.update(task, &self.counts);
        }
    }
}

impl<I: Index> Learner for IndexPolicy<I> {
    fn decide(&mut self, context: &RoundContext<'_>, numbers: &mut [f64]) -> Decision {
        self.index.indices(context.round, &self.counts, numbers);
        Decision::Weights
    }

    fn observe(&mut self, task: usize, outcome: Outcome) {
        let reward = match outcome {
            Outcome::Done(reward) => reward,
            Outcome::Forgone(reward) if self.uses_forgone => reward,
            Outcome::Forgone(_) | Outcome::Failed | Outcome::Missing => return,
        };
        self.counts.add(task, reward);
        self.index.update(task, &self.counts);
    }

    fn observe_completed(&mut self, completed: &[Completion]) {
        if completed.len() >= MIN_BATCH {
            return self.index.count_batch(completed, &mut self.counts);
        }
        for &Completion { task, reward } in completed {
            self.counts.add(task, reward);
            self.index.update(task, &self.counts);
        }
    }

    fn save(&self) -> LearnerState {
        LearnerState::Counts(self.counts.clone())
    }

    fn load(&mut self, state: &LearnerState) -> Result<(), StateError> {
        self.counts = state.counts(self.counts.tasks())?;
        self.update_all();
        Ok(())
    }
}

/// An index that depends on a task's counts alone, not on the round.
pub(super) trait CountIndex: std::fmt::Debug + Clone + Send + 'static {
    /// The index from completions and their mean reward, which is zero before the first.
    fn index(&self, completions: f64, mean: f64) -> f64;
}

/// A [`CountIndex`], computed once per completion instead of once per round.
#[derive(Debug, Clone)]
pub(super) struct CachedIndex<I> {
    rule: I,
    indices: Vec<f64>,
    batch: Batch,
    changed: Vec<f64>,
}

impl<I: CountIndex> CachedIndex<I> {
    pub(super) fn new(tasks: usize, rule: I) -> Self {
        let batch = Batch::new(tasks);
        Self { rule, indices: vec![0.0; tasks], changed: vec![0.0; batch.places()], batch }
    }
}

impl<I: CountIndex> Index for CachedIndex<I> {
    fn update(&mut self, task: usize, counts: &Counts) {
        self.indices[task] = self.rule.index(counts.completions(task) as f64, counts.mean(task));
    }

    fn count_batch(&mut self, completed: &[Completion], counts: &mut Counts) {
        let (completions, sums) = self.batch.count(completed, counts);
        vectorised(Indices { rule: &self.rule, completions, sums, indices: &mut self.changed });
        for (completion, index) in completed.iter().zip(&self.changed) {
            self.indices[completion.task] = *index;
        }
    }

    fn indices(&mut self, _: u64, _: &Counts, indices: &mut [f64]) {
        indices.copy_from_slice(&self.indices);
    }
}

/// Computes new indices in one loop, so that divisions and roots overlap.
struct Indices<'a, I> {
    rule: &'a I,
    completions: &'a [u64],
    sums: &'a [u64],
    indices: &'a mut [f64],
}

impl<I: CountIndex> Loop for Indices<'_, I> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for ((&completions, &sum), index) in
            self.completions.iter().zip(self.sums).zip(self.indices)
        {
            *index = self.rule.index(completions as f64, mean(completions as f64, sum as f64));
        }
    }
}

/// The counts of tasks that change together, padded to full blocks.
#[derive(Debug, Clone)]
pub(super) struct Batch {
    completions: Vec<u64>,
    sums: Vec<u64>,
}

/// The lanes that a compiler puts into one pass of a loop, so that no scalar remainder is left.
const BLOCK: usize = 16;

impl Batch {
    pub(super) fn new(tasks: usize) -> Self {
        let places = tasks.next_multiple_of(BLOCK);
        Self { completions: vec![0; places], sums: vec![0; places] }
    }

    pub(super) fn places(&self) -> usize {
        self.sums.len()
    }

    /// Counts these completions. Returns completions and sums of rewards, in billionths, for them
    /// and the padding of their last block.
    pub(super) fn count(
        &mut self,
        completed: &[Completion],
        counts: &mut Counts,
    ) -> (&[u64], &[u64]) {
        self.gather(
            completed.iter().map(|completion| counts.add(completion.task, completion.reward)),
        )
    }

    /// As [`Batch::count`], for counts that are already up to date.
    pub(super) fn gather(
        &mut self,
        changed: impl ExactSizeIterator<Item = (u64, u64)>,
    ) -> (&[u64], &[u64]) {
        let blocks = ..changed.len().next_multiple_of(BLOCK).min(self.places());
        for ((counts, completions), sum) in changed.zip(&mut self.completions).zip(&mut self.sums) {
            (*completions, *sum) = counts;
        }
        (&self.completions[blocks], &self.sums[blocks])
    }
}
