//! Learners: how the next split is chosen from what came back.
//!
//! A learner knows the curves' number and what it was told; it knows neither the oracle nor the
//! environment. Each round it either gives every task a weight, and the oracle finds the best split
//! for these weights, or it names a split itself.
//!
//! To add one: copy `hoeffding.rs` (an index), or `uniform.rs` (a split of its own); add it to
//! [`LearnerSpec`] and to [`LEARNERS`]; `tests/learner_conformance.rs` then runs its suite on it.

mod algorithm_1;
mod beta_draw;
mod counting;
mod counts;
mod cucb;
mod elementary;
mod epsilon_greedy;
mod explore_then_commit;
mod fluid;
mod full;
mod greedy;
mod grid_ucb;
mod hoeffding;
pub(crate) mod kl;
mod kl_ucb;
mod kl_ucb_mixture;
mod kl_ucb_plus;
mod lattimore;
mod oful;
mod spec;
mod thompson;
mod uniform;

pub use algorithm_1::log_term;
pub(crate) use fluid::fluid_index;
pub(crate) use kl_ucb_plus::DEFAULT_FACTOR as KL_UCB_PLUS_FACTOR;
pub use spec::{LEARNERS, LearnerEntry, LearnerError, LearnerSpec};
pub use uniform::even_split;

use crate::feedback::{Completion, Feedback, Outcome};

/// What a learner knows of the round that it decides.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    /// The round, counted from 1.
    pub round: u64,
    /// What may be spent in it.
    pub budget: f64,
    /// Which tasks are there; absent: all.
    pub available: Option<&'a [bool]>,
}

impl Situation<'_> {
    /// Whether a task is there this round.
    #[must_use]
    pub fn has(&self, task: usize) -> bool {
        self.available.is_none_or(|available| available[task])
    }
}

/// What a learner wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The best split for the weights that it wrote.
    Maximise,
    /// The split that it wrote.
    Split,
}

/// A learner's saved state does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StateError(pub String);

/// A rule that turns what came back into the next split.
pub trait Learner: std::fmt::Debug + Send {
    /// What it must be shown.
    fn needs(&self) -> Feedback;

    /// Decides a round: writes one number a task, weights or spends, and says which.
    fn decide(&mut self, situation: &Situation<'_>, numbers: &mut [f64]) -> Decision;

    /// After the oracle's answer to [`Decision::Maximise`], if it
    /// [`reconsiders`](Learner::reconsiders): it may write other weights and ask again (`true`).
    /// `success` is the chance of success of each task under the answer.
    fn reconsider(&mut self, success: &[f64], weights: &mut [f64]) -> bool {
        let _ = (success, weights);
        false
    }

    /// Takes what is told of one task in one round. Outcomes may come late and in any order.
    fn observe(&mut self, task: usize, outcome: Outcome) {
        let _ = (task, outcome);
    }

    /// Takes a whole round under censored feedback: who completed; the others failed. The same as
    /// each outcome by itself.
    fn observe_completed(&mut self, completed: &[Completion]) {
        for &Completion { task, reward } in completed {
            self.observe(task, Outcome::Done(reward));
        }
    }

    /// Whether outcomes must come with what was spent on them: see [`Learner::observe_spent`].
    fn needs_spends(&self) -> bool {
        false
    }

    /// Takes what is told of one task in one round in which it was given `spend`; in place of the
    /// other two, if it [`needs_spends`](Learner::needs_spends). Failures are told here, too.
    fn observe_spent(&mut self, task: usize, spend: f64, outcome: Outcome) {
        let _ = spend;
        self.observe(task, outcome);
    }

    /// Whether it may ask again after an answer: see [`Learner::reconsider`].
    fn reconsiders(&self) -> bool {
        false
    }

    /// Takes the rewards of a whole round, in multiples of the largest reward: what bandit feedback
    /// shows.
    fn observe_gain(&mut self, played: &Played<'_>, gain: f64) {
        let _ = (played, gain);
    }

    /// Everything that it has learnt.
    fn save(&self) -> serde_json::Value;

    /// Takes over what another of its kind had learnt.
    ///
    /// # Errors
    /// If the state is not one of this kind or does not fit the problem.
    fn load(&mut self, state: &serde_json::Value) -> Result<(), StateError>;
}

/// A split that was played.
#[derive(Debug, Clone, Copy)]
pub struct Played<'a> {
    /// The round.
    pub round: u64,
    /// What each task got.
    pub spend: &'a [f64],
    /// Each task's chance of success.
    pub success: &'a [f64],
}

/// What a learner of this kind has saved.
fn parse<T: serde::de::DeserializeOwned>(state: &serde_json::Value) -> Result<T, StateError> {
    T::deserialize(state).map_err(|error| StateError(format!("learner: {error}")))
}

/// A state that serde can always write.
fn written<T: serde::Serialize>(state: &T) -> serde_json::Value {
    serde_json::to_value(state).unwrap_or_default()
}
