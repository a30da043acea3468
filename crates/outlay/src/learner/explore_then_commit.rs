//! `explore-then-commit`: first each task in turn gets all the weight, then the observed means
//! decide every later round.
//!
//! It explores in the first `rounds` rounds, by default T^(2/3) of them; a task without completions
//! then has mean 0.
//!
//! Guarantee: none for general curves; the usual O(T^(2/3)) if the whole budget completes every
//! task.

use serde::{Deserialize, Serialize};

use super::counts::Counts;
use super::{Decision, Learner, LearnerState, RoundContext, StateError};
use crate::feedback::Outcome;

#[derive(Debug, Clone)]
pub(super) struct ExploreThenCommit {
    rounds: u64,
    state: ExploreThenCommitState,
}

/// The saved state of `explore-then-commit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExploreThenCommitState {
    #[serde(flatten)]
    counts: Counts,
    /// The means at the end of the exploration.
    committed: Option<Vec<f64>>,
}

/// The default number of exploration rounds.
pub(super) fn default_rounds(tasks: usize, horizon: u64) -> u64 {
    let rounds = (horizon as f64).powf(2.0 / 3.0).ceil() as u64;
    rounds.max(tasks as u64).min(horizon)
}

impl ExploreThenCommit {
    pub(super) fn learner(tasks: usize, rounds: u64) -> Box<dyn Learner> {
        Box::new(Self {
            rounds,
            state: ExploreThenCommitState { counts: Counts::new(tasks), committed: None },
        })
    }
}

impl Learner for ExploreThenCommit {
    fn decide(&mut self, context: &RoundContext<'_>, numbers: &mut [f64]) -> Decision {
        if context.round <= self.rounds {
            let turn = ((context.round - 1) % numbers.len().max(1) as u64) as usize;
            numbers.fill(0.0);
            numbers[turn] = 1.0;
        } else {
            let counts = &self.state.counts;
            let means = self
                .state
                .committed
                .get_or_insert_with(|| (0..counts.tasks()).map(|task| counts.mean(task)).collect());
            numbers.copy_from_slice(means);
        }
        Decision::Weights
    }

    fn observe(&mut self, task: usize, outcome: Outcome) {
        if let Outcome::Done(reward) = outcome {
            self.state.counts.add(task, reward);
        }
    }

    fn save(&self) -> LearnerState {
        LearnerState::ExploreThenCommit(self.state.clone())
    }

    fn load(&mut self, state: &LearnerState) -> Result<(), StateError> {
        let state = match state {
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
        self.state = state;
        Ok(())
    }
}
