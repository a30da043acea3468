//! Index policies: the weight of a task is an index of its completions and rewards.

use super::counts::Counts;
use super::{Decision, Learner, LearnerState, RoundContext, StateError};
use crate::feedback::{Completion, Outcome};

/// An optimistic estimate of each task's mean reward from its counts.
pub(super) trait Index: std::fmt::Debug + Clone + Send + 'static {
    /// Updates the index of a task whose counts have changed.
    fn update(&mut self, task: usize, counts: &Counts);

    /// The indices for a round.
    fn indices(&mut self, round: u64, counts: &Counts, indices: &mut [f64]);
}

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
        match outcome {
            Outcome::Done(reward) => self.counts.add(task, reward),
            Outcome::Counted(completions) => self.counts.add_all(task, completions),
            Outcome::Forgone(reward) if self.uses_forgone => self.counts.add(task, reward),
            Outcome::Forgone(_) | Outcome::Failed | Outcome::Missing => return,
        }
        self.index.update(task, &self.counts);
    }

    fn observe_completed(&mut self, completed: &[Completion]) {
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
}

impl<I: CountIndex> CachedIndex<I> {
    pub(super) fn new(tasks: usize, rule: I) -> Self {
        Self { rule, indices: vec![0.0; tasks] }
    }
}

impl<I: CountIndex> Index for CachedIndex<I> {
    fn update(&mut self, task: usize, counts: &Counts) {
        self.indices[task] = self.rule.index(counts.completions(task) as f64, counts.mean(task));
    }

    fn indices(&mut self, _: u64, _: &Counts, indices: &mut [f64]) {
        indices.copy_from_slice(&self.indices);
    }
}
