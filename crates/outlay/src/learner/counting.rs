//! Learners that weigh a task by an index of its completions and rewards.

use super::counts::Counts;
use super::{Decision, Learner, Situation, StateError, parse, written};
use crate::feedback::{Completion, Feedback, Outcome};

/// What a task may be worth, from what was seen of it.
pub(super) trait Index: std::fmt::Debug + Send {
    /// A task's counts have changed.
    fn update(&mut self, task: usize, counts: &Counts);

    /// The indices for a round.
    fn indices(&mut self, round: u64, counts: &Counts, indices: &mut [f64]);
}

/// A learner with an index.
#[derive(Debug)]
pub(super) struct Counting<I> {
    counts: Counts,
    index: I,
    needs: Feedback,
}

impl<I: Index> Counting<I> {
    /// Counts the rewards of completions.
    pub(super) fn new(tasks: usize, index: I) -> Self {
        let mut learner = Self { counts: Counts::new(tasks), index, needs: Feedback::Censored };
        learner.update_all();
        learner
    }

    /// Counts every reward, also the forgone ones.
    pub(super) fn with_full_feedback(tasks: usize, index: I) -> Self {
        Self { needs: Feedback::Full, ..Self::new(tasks, index) }
    }

    fn update_all(&mut self) {
        for task in 0..self.counts.tasks() {
            self.index.update(task, &self.counts);
        }
    }
}

impl<I: Index> Learner for Counting<I> {
    fn needs(&self) -> Feedback {
        self.needs
    }

    fn decide(&mut self, situation: &Situation<'_>, numbers: &mut [f64]) -> Decision {
        self.index.indices(situation.round, &self.counts, numbers);
        Decision::Maximise
    }

    fn observe(&mut self, task: usize, outcome: Outcome) {
        let reward = match outcome {
            Outcome::Done(reward) => reward,
            Outcome::Forgone(reward) if self.needs == Feedback::Full => reward,
            Outcome::Forgone(_) | Outcome::Failed | Outcome::Missing => return,
        };
        self.counts.add(task, reward);
        self.index.update(task, &self.counts);
    }

    fn observe_completed(&mut self, completed: &[Completion]) {
        for &Completion { task, reward } in completed {
            self.counts.add(task, reward);
            self.index.update(task, &self.counts);
        }
    }

    fn save(&self) -> serde_json::Value {
        written(&self.counts)
    }

    fn load(&mut self, state: &serde_json::Value) -> Result<(), StateError> {
        let counts: Counts = parse(state)?;
        counts.check(self.counts.tasks())?;
        self.counts = counts;
        self.update_all();
        Ok(())
    }
}

/// An index that depends on a task's counts alone, not on the round.
pub(super) trait CountIndex: std::fmt::Debug + Send {
    /// From completions and the mean of their rewards, zero before the first.
    fn index(&self, completions: u64, mean: f64) -> f64;
}

/// Such an index, computed once a completion instead of once a round.
#[derive(Debug)]
pub(super) struct Remembered<I> {
    rule: I,
    indices: Vec<f64>,
}

impl<I: CountIndex> Remembered<I> {
    pub(super) fn new(tasks: usize, rule: I) -> Self {
        Self { rule, indices: vec![0.0; tasks] }
    }
}

impl<I: CountIndex> Index for Remembered<I> {
    fn update(&mut self, task: usize, counts: &Counts) {
        self.indices[task] = self.rule.index(counts.completions(task), counts.mean(task));
    }

    fn indices(&mut self, _: u64, _: &Counts, indices: &mut [f64]) {
        indices.copy_from_slice(&self.indices);
    }
}
