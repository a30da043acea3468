//! Learners by name: `kl-ucb-plus`, `epsilon-greedy:epsilon=0.1`.

use std::str::FromStr;

use super::algorithm_1::Algorithm1;
use super::cucb::Cucb;
use super::epsilon_greedy::{DEFAULT_EPSILON, EpsilonGreedy};
use super::explore_then_commit::{self, ExploreThenCommit};
use super::greedy::Greedy;
use super::grid_ucb::GridUcb;
use super::hoeffding::Hoeffding;
use super::kl_ucb::KlUcb;
use super::kl_ucb_mixture::KlUcbMixture;
use super::kl_ucb_plus::{self, KlUcbPlus};
use super::lattimore::Lattimore;
use super::oful::Oful;
use super::thompson::Thompson;
use super::uniform::Uniform;
use super::{Learner, LearnerError, LearnerInputs, full};
use crate::feedback::Feedback;
use crate::parameters::{NameWithParameters, ParameterError};
use crate::problem::Task;
use crate::text::one_line;

/// Facts about a learner that help to choose it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearnerEntry {
    /// Its name in flags and files.
    pub name: &'static str,
    /// Other names that are accepted in place of `name`.
    pub aliases: &'static [&'static str],
    /// Its parameters with their defaults; empty if it has none.
    pub parameters: &'static str,
    /// The feedback that it needs.
    pub feedback: Feedback,
    /// Whether it needs to know the horizon.
    pub needs_horizon: bool,
    /// The regret guarantee that is proved in this model.
    pub guarantee: &'static str,
}

/// Generates [`LearnerSpec`], [`LEARNERS`], the defaults and [`LearnerSpec::entry`] from one table,
/// so that no learner can be missing from any of them.
macro_rules! learners {
    ($(
        $(#[$doc:meta])*
        $variant:ident $({ $(#[$field_doc:meta])* $field:ident: $type:ty = $default:expr })?
            => $entry:expr;
    )*) => {
        /// A built-in learner with its parameters.
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[non_exhaustive]
        pub enum LearnerSpec {
            $($(#[$doc])* $variant $({ $(#[$field_doc])* $field: $type })?,)*
        }

        const COUNT: usize = [$(stringify!($variant)),*].len();

        /// Every built-in learner, in the order in which lists show them.
        pub const LEARNERS: [LearnerEntry; COUNT] = [$($entry),*];

        /// Every built-in learner with default parameters, in the order of [`LEARNERS`].
        const DEFAULTS: [LearnerSpec; COUNT] =
            [$(LearnerSpec::$variant $({ $field: $default })?),*];

        impl LearnerSpec {
            /// Facts about this learner.
            #[must_use]
            pub fn entry(&self) -> LearnerEntry {
                match self {
                    $(Self::$variant $({ $field: _ })? => $entry,)*
                }
            }
        }
    };
}

/// An entry of a learner without parameters and aliases that needs censored feedback and no
/// horizon.
const fn entry(name: &'static str, guarantee: &'static str) -> LearnerEntry {
    LearnerEntry {
        name,
        aliases: &[],
        parameters: "",
        feedback: Feedback::Censored,
        needs_horizon: false,
        guarantee,
    }
}

learners! {
    /// KL-UCB+ in the allocation rule of Algorithm 1. The default.
    KlUcbPlus {
        /// The factor of the confidence level.
        c: f64 = kl_ucb_plus::DEFAULT_FACTOR
    } => LearnerEntry {
        aliases: &["sharp"],
        parameters: "c=1.1",
        ..entry(
            "kl-ucb-plus",
            "11.6 K√T + K for any curves; O(log T) under diminishing returns",
        )
    };
    /// Algorithm 1 of the paper.
    Algorithm1 => LearnerEntry {
        aliases: &["paper"],
        needs_horizon: true,
        ..entry(
            "algorithm-1",
            "Theorems 1 and 3: O(log² T) under diminishing returns, Õ(K√T) for any curves",
        )
    };
    /// Algorithm 1 with the confidence set of a mixture martingale.
    KlUcbMixture => LearnerEntry {
        aliases: &["tight"],
        needs_horizon: true,
        ..entry(
            "kl-ucb-mixture",
            "Theorems 1 and 3, same constants; its indices are confidence bounds",
        )
    };
    /// Algorithm 1 with the width of Hoeffding's inequality.
    Hoeffding => LearnerEntry {
        needs_horizon: true,
        ..entry("hoeffding", "Theorems 1 and 3, same constants")
    };
    /// KL-UCB with the confidence level log t.
    KlUcb => LearnerEntry { aliases: &["kl-log"], ..entry("kl-ucb", "none known here") };
    /// Thompson sampling.
    Thompson => entry("thompson", "Theorem 3's bound on the Bayesian regret");
    /// Combinatorial UCB.
    Cucb => entry("cucb", "O(log T) on M-sets");
    /// The observed means.
    Greedy => entry("greedy", "none; linear regret on thresholds");
    /// The observed means, with random exploring rounds.
    EpsilonGreedy {
        /// The probability that a round explores.
        epsilon: f64 = DEFAULT_EPSILON
    } => LearnerEntry {
        parameters: "epsilon=0.05",
        ..entry("epsilon-greedy", "none; never stops exploring")
    };
    /// Exploring rounds first, then fixed means.
    ExploreThenCommit {
        /// The number of exploring rounds; absent: T^(2/3).
        rounds: Option<u64> = None
    } => LearnerEntry {
        parameters: "rounds=T^(2/3)",
        needs_horizon: true,
        ..entry("explore-then-commit", "none for any curves")
    };
    /// The even split.
    Uniform => LearnerEntry {
        feedback: Feedback::Bandit,
        ..entry("uniform", "none; the even split")
    };
    /// Algorithm 1 with full feedback.
    Full => LearnerEntry {
        feedback: Feedback::Full,
        needs_horizon: true,
        ..entry("full", "Theorems 1 and 3; shows the cost of censoring")
    };
    /// A linear bandit on the feature F(x).
    Oful => LearnerEntry {
        aliases: &["linucb"],
        feedback: Feedback::Bandit,
        needs_horizon: true,
        ..entry(
            "oful",
            "Õ(K√T); √T cannot be beaten under bandit feedback (Theorem 2); also: linucb",
        )
    };
    /// UCB1 on a grid of allocations.
    GridUcb {
        /// Parts into which the budget is divided; absent: as many as about 200 allocations allow.
        units: Option<u32> = None
    } => LearnerEntry {
        parameters: "units=auto",
        feedback: Feedback::Bandit,
        ..entry("grid-ucb", "O(√(arms T log T)) against the best split of its grid")
    };
    /// Saturating linear curves of unknown slope.
    Lattimore => LearnerEntry {
        needs_horizon: true,
        ..entry(
            "lattimore",
            "none; the original has O(log² T) for rewards 1 and min(1, x/ν), ν unknown",
        )
    };
}

/// `kl-ucb-plus`.
impl Default for LearnerSpec {
    fn default() -> Self {
        Self::KlUcbPlus { c: kl_ucb_plus::DEFAULT_FACTOR }
    }
}

impl FromStr for LearnerSpec {
    type Err = LearnerError;

    fn from_str(text: &str) -> Result<Self, LearnerError> {
        Self::parse(text).map_err(|error| LearnerError::Invalid { text: one_line(text), error })
    }
}

impl LearnerSpec {
    fn parse(text: &str) -> Result<Self, ParameterError> {
        let names = LEARNERS.iter().map(|entry| entry.name);
        let aliases = LEARNERS.iter().flat_map(|entry| entry.aliases).copied();
        let mut named = NameWithParameters::parse(text, &names.chain(aliases).collect::<Vec<_>>())?;
        let matches_name =
            |entry: &LearnerEntry| entry.name == named.name || entry.aliases.contains(&named.name);
        let spec =
            DEFAULTS.into_iter().find(|spec| matches_name(&spec.entry())).unwrap_or_default();
        let spec = spec.with_parameters(&mut named)?;
        named.finish()?;
        Ok(spec)
    }

    /// The same learner with the parameters that are given.
    fn with_parameters(self, named: &mut NameWithParameters<'_>) -> Result<Self, ParameterError> {
        Ok(match self {
            Self::KlUcbPlus { c } => {
                Self::KlUcbPlus { c: named.number("c", 0.5..=100.0)?.unwrap_or(c) }
            }
            Self::EpsilonGreedy { epsilon } => Self::EpsilonGreedy {
                epsilon: named.number("epsilon", 0.0..=1.0)?.unwrap_or(epsilon),
            },
            Self::ExploreThenCommit { rounds } => {
                Self::ExploreThenCommit { rounds: named.whole("rounds", 1..=u64::MAX)?.or(rounds) }
            }
            Self::GridUcb { units } => {
                let given = named.whole("units", 1..=10_000)?.map(|units| units as u32);
                Self::GridUcb { units: given.or(units) }
            }
            Self::Algorithm1
            | Self::KlUcbMixture
            | Self::Hoeffding
            | Self::KlUcb
            | Self::Thompson
            | Self::Cucb
            | Self::Greedy
            | Self::Uniform
            | Self::Full
            | Self::Oful
            | Self::Lattimore => self,
        })
    }

    /// Its name, without parameters.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.entry().name
    }

    /// Whether it chooses the allocation itself, instead of weights for the oracle.
    #[must_use]
    pub fn chooses_allocation(&self) -> bool {
        matches!(self, Self::Uniform | Self::GridUcb { .. } | Self::Lattimore)
    }

    /// Whether its whole state consists of each task's number of completions and sum of rewards.
    /// The order of the outcomes and the decisions in between are then irrelevant.
    #[must_use]
    pub fn is_count_based(&self) -> bool {
        !matches!(
            self,
            Self::ExploreThenCommit { .. } | Self::Lattimore | Self::Oful | Self::GridUcb { .. }
        )
    }

    /// Whether its rounds may have scaled curves. `grid-ucb` compares the gains of fixed
    /// allocations, and `lattimore` estimates a fixed slope.
    #[must_use]
    pub fn allows_scale(&self) -> bool {
        !matches!(self, Self::GridUcb { .. } | Self::Lattimore)
    }

    /// Whether tasks may have volumes other than 1, fixed ones or those of a round.
    #[must_use]
    pub fn allows_volume(&self) -> bool {
        !matches!(self, Self::Full | Self::Oful | Self::GridUcb { .. } | Self::Lattimore)
    }

    /// Whether it starts from the completions that the tasks have [`seen`](crate::Task::seen).
    /// `uniform` learns nothing; `oful` and `grid-ucb` learn from whole rounds, `lattimore` from
    /// outcomes with their spends, neither of which a log's totals have.
    #[must_use]
    pub fn uses_seen(&self) -> bool {
        self.entry().feedback != Feedback::Bandit && *self != Self::Lattimore
    }

    /// Why observations of one problem cannot be used in an amended one; `None` if they can.
    #[must_use]
    pub fn amendment_obstacle(&self) -> Option<&'static str> {
        match self {
            Self::GridUcb { .. } => Some("its arms are splits of the present budget and tasks"),
            Self::Lattimore => Some("its bounds on the slopes follow from its own earlier splits"),
            Self::KlUcbPlus { .. }
            | Self::Algorithm1
            | Self::KlUcbMixture
            | Self::Hoeffding
            | Self::KlUcb
            | Self::Thompson
            | Self::Cucb
            | Self::Greedy
            | Self::EpsilonGreedy { .. }
            | Self::ExploreThenCommit { .. }
            | Self::Uniform
            | Self::Full
            | Self::Oful => None,
        }
    }

    /// Builds the learner. If the inputs have no horizon, the problem's is used.
    ///
    /// # Errors
    /// If it needs more feedback than it will receive, needs a horizon that is not given, needs
    /// tasks that complete at most once, or has an unsuitable grid.
    pub fn build(&self, inputs: &LearnerInputs<'_>) -> Result<Box<dyn Learner>, LearnerError> {
        let LearnerInputs { problem, horizon, feedback, seed } = *inputs;
        let entry = self.entry();
        if !feedback.covers(entry.feedback) {
            return Err(LearnerError::Feedback {
                learner: self.to_string(),
                needed: entry.feedback,
                given: feedback,
            });
        }
        if !self.allows_volume()
            && let Some(task) =
                problem.tasks().iter().find(|task| task.volume() != 1.0 && !task.is_retired())
        {
            return Err(LearnerError::Volume {
                learner: *self,
                task: one_line(task.name()),
                volume: task.volume(),
            });
        }
        let known = horizon.or(problem.horizon());
        let horizon = known.or((!entry.needs_horizon).then_some(1)).filter(|horizon| *horizon > 0);
        let horizon = horizon.ok_or(LearnerError::NoHorizon(*self))?;
        let tasks = problem.tasks().len();
        let volumes: Vec<f64> = problem.tasks().iter().map(Task::volume).collect();
        // Confidence bounds hold for every number of completions that the horizon allows on average.
        let largest = volumes.iter().fold(1.0, |largest, volume| volume.max(largest)).ceil() as u64;
        let completions = horizon.saturating_mul(largest);
        Ok(match *self {
            Self::Algorithm1 => Algorithm1::learner(tasks, completions),
            Self::KlUcbPlus { c } => KlUcbPlus::learner(volumes, c),
            Self::KlUcbMixture => KlUcbMixture::learner(tasks, completions),
            Self::Hoeffding => Hoeffding::learner(tasks, completions),
            Self::KlUcb => KlUcb::learner(&volumes),
            Self::Thompson => Thompson::learner(tasks, seed),
            Self::Greedy => Greedy::learner(tasks),
            Self::EpsilonGreedy { epsilon } => EpsilonGreedy::learner(tasks, epsilon, seed),
            Self::ExploreThenCommit { rounds } => ExploreThenCommit::learner(
                problem,
                rounds.unwrap_or_else(|| explore_then_commit::default_rounds(tasks, horizon)),
            ),
            Self::Uniform => Uniform::learner(problem),
            Self::Full => full::learner(tasks, horizon),
            Self::Cucb => Cucb::learner(tasks, largest),
            Self::Oful => Oful::learner(tasks, horizon),
            Self::GridUcb { units } => GridUcb::learner(problem, units)?,
            Self::Lattimore => Lattimore::learner(problem, horizon),
        })
    }
}

impl std::fmt::Display for LearnerSpec {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())?;
        match self {
            Self::KlUcbPlus { c } if *c != kl_ucb_plus::DEFAULT_FACTOR => {
                write!(formatter, ":c={c}")
            }
            Self::EpsilonGreedy { epsilon } if *epsilon != DEFAULT_EPSILON => {
                write!(formatter, ":epsilon={epsilon}")
            }
            Self::ExploreThenCommit { rounds: Some(rounds) } => {
                write!(formatter, ":rounds={rounds}")
            }
            Self::GridUcb { units: Some(units) } => write!(formatter, ":units={units}"),
            _ => Ok(()),
        }
    }
}
