//! `explore-then-commit`: first each task in turn gets all the weight, then the observed means
//! decide every later round.
//!
//! It explores for at least `rounds` rounds, by default T^(2/3), and goes on until `rounds` outcomes
//! of every task were reported and at least one task was completed. Late outcomes therefore delay
//! the commitment. A task without completions then has mean 0. Retired tasks are not explored; a new
//! task is explored before it commits again.
//!
//! Guarantee: none for general curves; the usual O(T^(2/3)) if the whole budget completes every
//! task.

use serde::{Deserialize, Serialize};

use super::counts::Counts;
use super::{Decision, Learner, LearnerState, RoundContext, StateError};
use crate::feedback::{Completion, Outcome};
use crate::problem::Problem;

#[derive(Debug, Clone)]
pub(super) struct ExploreThenCommit {
    rounds: u64,
    /// The tasks that are not retired.
    active: Vec<usize>,
    state: ExploreThenCommitState,
}

/// The saved state of `explore-then-commit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExploreThenCommitState {
    #[serde(flatten)]
    counts: Counts,
    /// The number of reported outcomes of each task. Absent in states of earlier versions, which
    /// did not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outcomes: Option<Vec<u64>>,
    /// The means at the end of the exploration.
    committed: Option<Vec<f64>>,
}

impl ExploreThenCommitState {
    /// Whether there is enough data of these tasks to commit after `rounds` rounds of exploration.
    fn can_commit(&self, rounds: u64, active: &[usize]) -> bool {
        let has_outcomes =
            |outcomes: &Vec<u64>| active.iter().all(|task| outcomes[*task] >= rounds);
        self.outcomes.as_ref().is_none_or(has_outcomes)
            && active.iter().any(|task| self.counts.completions(*task) > 0)
    }

    fn count_outcome(&mut self, task: usize) {
        if let Some(outcomes) = &mut self.outcomes {
            outcomes[task] = outcomes[task].saturating_add(1);
        }
    }

    /// The mean observed reward of each task.
    fn means(&self) -> Vec<f64> {
        (0..self.counts.tasks()).map(|task| self.counts.mean(task)).collect()
    }
}

/// The default number of exploration rounds.
pub(super) fn default_rounds(tasks: usize, horizon: u64) -> u64 {
    let rounds = (horizon as f64).powf(2.0 / 3.0).ceil() as u64;
    rounds.max(tasks as u64).min(horizon)
}

impl ExploreThenCommit {
    pub(super) fn learner(problem: &Problem, rounds: u64) -> Box<dyn Learner> {
        let tasks = problem.tasks().len();
        let active = (0..tasks).filter(|task| !problem.tasks()[*task].is_retired()).collect();
        Box::new(Self {
            rounds,
            active,
            state: ExploreThenCommitState {
                counts: Counts::new(tasks),
                outcomes: Some(vec![0; tasks]),
                committed: None,
            },
        })
    }
}

impl Learner for ExploreThenCommit {
    fn decide(&mut self, context: &RoundContext<'_>, numbers: &mut [f64]) -> Decision {
        let state = &mut self.state;
        let is_explored = context.round > self.rounds;
        if is_explored && state.committed.is_none() && state.can_commit(self.rounds, &self.active) {
            state.committed = Some(state.means());
        }
        match state.committed.as_ref().filter(|_| is_explored) {
            Some(means) => numbers.copy_from_slice(means),
            None => {
                let turn = ((context.round - 1) % self.active.len().max(1) as u64) as usize;
                numbers.fill(0.0);
                numbers[self.active[turn]] = 1.0;
            }
        }
        Decision::Weights
    }

    fn observe(&mut self, task: usize, outcome: Outcome) {
        match outcome {
            Outcome::Missing => return,
            Outcome::Done(reward) => self.state.counts.add(task, reward),
            Outcome::Counted(completions) => self.state.counts.add_all(task, completions),
            Outcome::Failed | Outcome::Forgone(_) => {}
        }
        self.state.count_outcome(task);
    }

    fn observe_completed(&mut self, completed: &[Completion]) {
        for &Completion { task, reward } in completed {
            self.state.counts.add(task, reward);
        }
        (0..self.state.counts.tasks()).for_each(|task| self.state.count_outcome(task));
    }

    fn save(&self) -> LearnerState {
        LearnerState::ExploreThenCommit(self.state.clone())
    }

    fn load(&mut self, state: &LearnerState) -> Result<(), StateError> {
        let mut state = match state {
            LearnerState::ExploreThenCommit(state) => state.clone(),
            other => other.read()?,
        };
        let tasks = self.state.counts.tasks();
        state.counts.check(tasks)?;
        let fits = |means: &Vec<f64>| {
            means.len() == tasks && means.iter().all(|mean| (0.0..=1.0).contains(mean))
        };
        if !state.committed.as_ref().is_none_or(fits) {
            return Err(StateError::Means(tasks));
        }
        if let Some(found) = state.outcomes.as_ref().map(Vec::len).filter(|len| *len != tasks) {
            return Err(StateError::Length { field: "outcomes", found, tasks });
        }
        // Earlier versions committed without data: then every mean is 0, and nothing is funded.
        state.committed = state.committed.filter(|means| means.iter().any(|mean| *mean > 0.0));
        self.state = state;
        Ok(())
    }
}
