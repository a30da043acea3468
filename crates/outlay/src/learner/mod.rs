//! Learners: policies that choose the next allocation from the outcomes so far.
//!
//! A learner knows neither the oracle nor the environment. In each round it either gives every task
//! a weight, for which the oracle finds the best allocation, or it chooses the allocation itself.
//! Most built-in learners are index policies: the weight of a task is an optimistic estimate of the
//! mean reward of its completions.
//!
//! # A learner of your own
//!
//! Implement [`Learner`] in your own crate and pass it to a [`Campaign`](crate::campaign::Campaign)
//! or an [`Experiment`](crate::simulation::Experiment) as a [`LearnerChoice::custom`]. Only
//! [`decide`](Learner::decide) and [`observe`](Learner::observe) are required.
//!
//! ```
//! use outlay::campaign::{Campaign, CampaignOptions};
//! use outlay::feedback::Outcome;
//! use outlay::learner::{Decision, Learner, LearnerChoice, RoundContext};
//! use outlay::{Curve, ProblemSpec, TaskSpec};
//!
//! /// Weighs each task by its mean reward, starting from 1 completion with reward 1.
//! #[derive(Debug, Clone)]
//! struct OptimisticMean {
//!     completions: Vec<f64>,
//!     rewards: Vec<f64>,
//! }
//!
//! impl Learner for OptimisticMean {
//!     fn decide(&mut self, _: &RoundContext<'_>, numbers: &mut [f64]) -> Decision {
//!         for (task, weight) in numbers.iter_mut().enumerate() {
//!             *weight = self.rewards[task] / self.completions[task];
//!         }
//!         Decision::Weights
//!     }
//!
//!     fn observe(&mut self, task: usize, outcome: Outcome) {
//!         if let Outcome::Done(reward) = outcome {
//!             self.completions[task] += 1.0;
//!             self.rewards[task] += reward.share();
//!         }
//!     }
//! }
//!
//! let tasks = vec![TaskSpec::new("search", Curve::exponential(90.0)?)];
//! let problem = ProblemSpec { budget: 100.0, tasks, ..ProblemSpec::default() }.check()?;
//! let learner = LearnerChoice::custom("optimistic-mean", |inputs| {
//!     let ones = vec![1.0; inputs.problem.tasks().len()];
//!     OptimisticMean { completions: ones.clone(), rewards: ones }
//! });
//! let options = CampaignOptions { learner, ..CampaignOptions::default() };
//! let mut campaign = Campaign::new(&problem, options)?;
//! assert_eq!(campaign.allocate(100.0, None)?.allocation.spend, [100.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A built-in learner
//!
//! To add one, copy `hoeffding.rs` (an index policy) or `uniform.rs` (a learner that chooses the
//! allocation itself) and add a row to the table in `spec.rs`. The compiler then asks for the rest,
//! and `tests/learner/conformance.rs` runs its checks on the new learner.

mod algorithm_1;
mod beta_draw;
mod choice;
mod counts;
mod cucb;
mod epsilon_greedy;
mod error;
mod explore_then_commit;
mod fluid;
mod full;
mod greedy;
mod grid_ucb;
mod hoeffding;
mod index_policy;
pub(crate) mod kl;
mod kl_ucb;
mod kl_ucb_mixture;
mod kl_ucb_plus;
mod lattimore;
mod oful;
mod spec;
mod state;
mod thompson;
mod uniform;

pub use algorithm_1::log_term;
pub use choice::{CustomLearner, LearnerChoice, LearnerInputs};
pub use counts::Counts;
pub use error::{LearnerError, StateError};
pub use explore_then_commit::ExploreThenCommitState;
pub(crate) use fluid::fluid_index;
pub use grid_ucb::GridUcbState;
pub(crate) use kl_ucb_plus::DEFAULT_FACTOR as KL_UCB_PLUS_FACTOR;
pub use lattimore::LattimoreState;
pub use oful::OfulState;
pub use spec::{LEARNERS, LearnerEntry, LearnerSpec};
pub use state::LearnerState;
pub use uniform::even_split;

use crate::feedback::{Completion, Outcome};

/// The round that a learner decides.
#[derive(Debug, Clone, Copy, Default)]
pub struct RoundContext<'a> {
    /// The round, counted from 1.
    pub round: u64,
    /// The budget of the round.
    pub budget: f64,
    /// Which tasks are available; absent: all.
    pub available: Option<&'a [bool]>,
    /// The scales of the curves in this round: task `k` has the curve `F_k(x / scale[k])`; absent:
    /// all 1. A learner that writes weights need not use them, because the oracle does.
    pub scale: Option<&'a [f64]>,
    /// The volumes of this round; absent: those of the problem.
    pub volume: Option<&'a [f64]>,
}

impl RoundContext<'_> {
    /// Whether a task is available in this round.
    #[must_use]
    pub fn has(&self, task: usize) -> bool {
        self.available.is_none_or(|available| available[task])
    }
}

/// The meaning of the numbers that a learner wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Weights: the oracle finds the best allocation for them.
    Weights,
    /// The allocation itself.
    Allocation,
}

/// An allocation that was played.
#[derive(Debug, Clone, Copy)]
pub struct PlayedRound<'a> {
    /// The round.
    pub round: u64,
    /// The spend on each task.
    pub spend: &'a [f64],
    /// The success probability of each task.
    pub success: &'a [f64],
}

/// A policy that chooses the next allocation from the outcomes so far.
///
/// The [module documentation](self) has an example.
pub trait Learner: std::fmt::Debug + Send + CloneLearner {
    /// Decides a round: writes one number per task, weights or spends, and returns which.
    fn decide(&mut self, context: &RoundContext<'_>, numbers: &mut [f64]) -> Decision;

    /// Learns from the outcome of one task in one round. Outcomes may arrive late and in any order.
    ///
    /// Under bandit feedback [`Learner::observe_gain`] is called instead.
    fn observe(&mut self, task: usize, outcome: Outcome);

    /// Learns from a whole round under censored feedback: these tasks completed, the others failed.
    ///
    /// The effect must be that of calling [`Learner::observe`] for each completion.
    fn observe_completed(&mut self, completed: &[Completion]) {
        for &Completion { task, reward } in completed {
            self.observe(task, Outcome::Done(reward));
        }
    }

    /// Learns from the total reward of a round, in multiples of the largest reward. Called under
    /// bandit feedback only.
    fn observe_gain(&mut self, played: &PlayedRound<'_>, gain: f64) {
        let _ = (played, gain);
    }

    /// Whether outcomes must come with the spend: see [`Learner::observe_spent`].
    fn needs_spends(&self) -> bool {
        false
    }

    /// Learns from the outcome of one task in a round in which `spend` was spent on it. Called in
    /// place of [`Learner::observe`] if the learner [`needs_spends`](Learner::needs_spends), also
    /// for failures.
    fn observe_spent(&mut self, task: usize, spend: f64, outcome: Outcome) {
        let _ = spend;
        self.observe(task, outcome);
    }

    /// Whether it may change its weights after an allocation: see [`Learner::revise_weights`].
    fn revises_weights(&self) -> bool {
        false
    }

    /// Called with the oracle's allocation for [`Decision::Weights`] if the learner
    /// [`revises_weights`](Learner::revises_weights). It may write other weights and return `true`
    /// for another allocation. `success` is the success probability of each task under the
    /// allocation.
    fn revise_weights(&mut self, success: &[f64], weights: &mut [f64]) -> bool {
        let _ = (success, weights);
        false
    }

    /// The state to save. The default is [`LearnerState::Empty`].
    fn save(&self) -> LearnerState {
        LearnerState::Empty
    }

    /// Restores a saved state.
    ///
    /// # Errors
    /// If the state belongs to another kind of learner or to another problem. The default returns
    /// [`StateError::Unsupported`].
    fn load(&mut self, state: &LearnerState) -> Result<(), StateError> {
        let _ = state;
        Err(StateError::Unsupported)
    }
}

/// Clones a boxed learner. Implemented for every learner that is `Clone`.
pub trait CloneLearner {
    /// A boxed copy.
    fn clone_box(&self) -> Box<dyn Learner>;
}

impl<L: Learner + Clone + 'static> CloneLearner for L {
    fn clone_box(&self) -> Box<dyn Learner> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Learner> {
    fn clone(&self) -> Self {
        (**self).clone_box()
    }
}
