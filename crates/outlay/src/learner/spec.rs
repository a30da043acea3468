//! Learners by name: `sharp`, `epsilon-greedy:epsilon=0.1`.

use std::str::FromStr;

use super::cucb::Cucb;
use super::epsilon_greedy::{DEFAULT_EPSILON, EpsilonGreedy};
use super::explore_then_commit::{self, ExploreThenCommit};
use super::greedy::Greedy;
use super::grid_ucb::GridUcb;
use super::hoeffding::Hoeffding;
use super::kl_log::KlLog;
use super::lattimore::Lattimore;
use super::oful::Oful;
use super::paper::Paper;
use super::sharp::{self, Sharp};
use super::thompson::Thompson;
use super::tight::Tight;
use super::uniform::Uniform;
use super::{Learner, full};
use crate::feedback::Feedback;
use crate::problem::Problem;
use crate::text::NameWithParameters;

/// A learner cannot be made: which, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LearnerError(pub String);

/// A learner as asked for, with its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum LearnerSpec {
    /// Algorithm 1 of the paper.
    Paper,
    /// The default: KL-UCB+ in the paper's allocation rule.
    Sharp {
        /// The factor of the confidence level.
        c: f64,
    },
    /// Algorithm 1 with a mixture martingale's confidence set.
    Tight,
    /// Algorithm 1 with Hoeffding's width.
    Hoeffding,
    /// KL-UCB with level log t.
    KlLog,
    /// Thompson sampling.
    Thompson,
    /// The means seen so far.
    Greedy,
    /// Greedy with random rounds.
    EpsilonGreedy {
        /// The chance that a round explores.
        epsilon: f64,
    },
    /// Exploring first, then fixed means.
    ExploreThenCommit {
        /// How many rounds explore; absent: T^(2/3).
        rounds: Option<u64>,
    },
    /// The even split.
    Uniform,
    /// Algorithm 1 that sees every reward.
    Full,
    /// Combinatorial UCB.
    Cucb,
    /// A linear bandit on the feature F(x).
    Oful,
    /// UCB1 on a grid of splits.
    GridUcb {
        /// Parts that the budget is cut into; absent: as many as about 200 splits allow.
        units: Option<u32>,
    },
    /// Saturating lines of unknown steepness.
    Lattimore,
}

impl LearnerSpec {
    /// Whether it names splits itself, instead of weights for the oracle.
    #[must_use]
    pub fn names_its_splits(&self) -> bool {
        matches!(self, Self::Uniform | Self::GridUcb { .. } | Self::Lattimore)
    }

    /// Whether completions and sums of rewards, a pair a task, are all that it learns from what
    /// came back: it then does not matter in which order that came, nor what was decided in
    /// between.
    #[must_use]
    pub fn learns_by_counting(&self) -> bool {
        !matches!(
            self,
            Self::ExploreThenCommit { .. } | Self::Lattimore | Self::Oful | Self::GridUcb { .. }
        )
    }
}

/// `sharp`.
impl Default for LearnerSpec {
    fn default() -> Self {
        Self::Sharp { c: sharp::DEFAULT_FACTOR }
    }
}

/// What there is to know of a learner before choosing it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearnerEntry {
    /// Its name in flags and files.
    pub name: &'static str,
    /// Its parameters with their defaults; empty if it has none.
    pub parameters: &'static str,
    /// What it must be shown.
    pub feedback: Feedback,
    /// Whether it must know the horizon.
    pub needs_horizon: bool,
    /// What is proved of it in this model.
    pub guarantee: &'static str,
}

const fn entry(
    name: &'static str,
    parameters: &'static str,
    feedback: Feedback,
    needs_horizon: bool,
    guarantee: &'static str,
) -> LearnerEntry {
    LearnerEntry { name, parameters, feedback, needs_horizon, guarantee }
}

/// Every learner.
pub const LEARNERS: [LearnerEntry; 15] = [
    entry(
        "sharp",
        "c=1.1",
        Feedback::Censored,
        false,
        "11.6 K√T + K for any curves; O(log T) under diminishing returns",
    ),
    entry(
        "paper",
        "",
        Feedback::Censored,
        true,
        "Theorems 1 and 3: O(log² T) under diminishing returns, Õ(K√T) for any curves",
    ),
    entry(
        "tight",
        "",
        Feedback::Censored,
        true,
        "Theorems 1 and 3, same constants; its indices are confidence bounds",
    ),
    entry("hoeffding", "", Feedback::Censored, true, "Theorems 1 and 3, same constants"),
    entry("kl-log", "", Feedback::Censored, false, "none known here"),
    entry("thompson", "", Feedback::Censored, false, "Theorem 3's bound on the Bayesian regret"),
    entry("cucb", "", Feedback::Censored, false, "O(log T) on M-sets"),
    entry("greedy", "", Feedback::Censored, false, "none; linear regret on thresholds"),
    entry("epsilon-greedy", "epsilon=0.05", Feedback::Censored, false, "none; explores for ever"),
    entry("explore-then-commit", "rounds=T^(2/3)", Feedback::Censored, true, "none for any curves"),
    entry("uniform", "", Feedback::Bandit, false, "none; the even split"),
    entry("full", "", Feedback::Full, true, "Theorems 1 and 3; shows the price of censoring"),
    entry(
        "oful",
        "",
        Feedback::Bandit,
        true,
        "Õ(K√T); √T cannot be beaten under bandit feedback (Theorem 2); also: linucb",
    ),
    entry(
        "grid-ucb",
        "units=auto",
        Feedback::Bandit,
        false,
        "O(√(arms T log T)) against the best split of its grid",
    ),
    entry(
        "lattimore",
        "",
        Feedback::Censored,
        true,
        "none; of the original O(log² T) for rewards 1 and min(1, x/ν), ν unknown",
    ),
];

/// Other names that are understood, for what they stand for.
const ALIASES: [(&str, &str); 1] = [("linucb", "oful")];

impl FromStr for LearnerSpec {
    type Err = LearnerError;

    fn from_str(text: &str) -> Result<Self, LearnerError> {
        Self::parse(text).map_err(|message| {
            LearnerError(format!("learner `{}`: {message}", crate::text::one_line(text)))
        })
    }
}

impl LearnerSpec {
    fn parse(text: &str) -> Result<Self, String> {
        let names =
            LEARNERS.iter().map(|entry| entry.name).chain(ALIASES.iter().map(|(alias, _)| *alias));
        let mut named = NameWithParameters::parse(text, &names.collect::<Vec<_>>())?;
        let alias = ALIASES.iter().find(|(alias, _)| *alias == named.name);
        let spec = match alias.map_or(named.name, |(_, name)| *name) {
            "paper" => Self::Paper,
            "sharp" => {
                Self::Sharp { c: named.number("c", 0.5..=100.0)?.unwrap_or(sharp::DEFAULT_FACTOR) }
            }
            "tight" => Self::Tight,
            "hoeffding" => Self::Hoeffding,
            "kl-log" => Self::KlLog,
            "thompson" => Self::Thompson,
            "greedy" => Self::Greedy,
            "epsilon-greedy" => Self::EpsilonGreedy {
                epsilon: named.number("epsilon", 0.0..=1.0)?.unwrap_or(DEFAULT_EPSILON),
            },
            "explore-then-commit" => {
                Self::ExploreThenCommit { rounds: named.whole("rounds", 1..=u64::MAX)? }
            }
            "uniform" => Self::Uniform,
            "full" => Self::Full,
            "cucb" => Self::Cucb,
            "oful" => Self::Oful,
            "lattimore" => Self::Lattimore,
            _ => {
                Self::GridUcb { units: named.whole("units", 1..=10_000)?.map(|units| units as u32) }
            }
        };
        named.finish()?;
        Ok(spec)
    }

    /// What there is to know of it.
    #[must_use]
    pub fn entry(&self) -> LearnerEntry {
        let name = self.name();
        LEARNERS.into_iter().find(|entry| entry.name == name).unwrap_or(LEARNERS[0])
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Sharp { .. } => "sharp",
            Self::Tight => "tight",
            Self::Hoeffding => "hoeffding",
            Self::KlLog => "kl-log",
            Self::Thompson => "thompson",
            Self::Greedy => "greedy",
            Self::EpsilonGreedy { .. } => "epsilon-greedy",
            Self::ExploreThenCommit { .. } => "explore-then-commit",
            Self::Uniform => "uniform",
            Self::Full => "full",
            Self::Cucb => "cucb",
            Self::Oful => "oful",
            Self::GridUcb { .. } => "grid-ucb",
            Self::Lattimore => "lattimore",
        }
    }

    /// The learner itself, for a problem. `feedback` is what it will be shown; `seed` is for its
    /// own draws.
    ///
    /// # Errors
    /// If it needs more feedback than it will get, a horizon that is not given, or too fine a grid.
    pub fn build(
        &self,
        problem: &Problem,
        horizon: Option<u64>,
        feedback: Feedback,
        seed: u64,
    ) -> Result<Box<dyn Learner>, LearnerError> {
        let entry = self.entry();
        if !feedback.covers(entry.feedback) {
            let message =
                format!("needs {} feedback and would get {feedback} feedback only", entry.feedback);
            return Err(LearnerError(format!("learner `{self}`: {message}")));
        }
        let known = horizon.or(problem.horizon());
        let horizon = known.or((!entry.needs_horizon).then_some(1)).filter(|horizon| *horizon > 0);
        let Some(horizon) = horizon else {
            let message = "must know the horizon: give the number of rounds, or take `sharp`, which needs none";
            return Err(LearnerError(format!("learner `{self}`: {message}")));
        };
        let tasks = problem.tasks().len();
        Ok(match *self {
            Self::Paper => Paper::learner(tasks, horizon),
            Self::Sharp { c } => Sharp::learner(tasks, c),
            Self::Tight => Tight::learner(tasks, horizon),
            Self::Hoeffding => Hoeffding::learner(tasks, horizon),
            Self::KlLog => KlLog::learner(tasks),
            Self::Thompson => Thompson::learner(tasks, seed),
            Self::Greedy => Greedy::learner(tasks),
            Self::EpsilonGreedy { epsilon } => EpsilonGreedy::learner(tasks, epsilon, seed),
            Self::ExploreThenCommit { rounds } => ExploreThenCommit::learner(
                tasks,
                rounds.unwrap_or_else(|| explore_then_commit::default_rounds(tasks, horizon)),
            ),
            Self::Uniform => Uniform::learner(problem),
            Self::Full => full::learner(tasks, horizon),
            Self::Cucb => Cucb::learner(tasks),
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
            Self::Sharp { c } if *c != sharp::DEFAULT_FACTOR => write!(formatter, ":c={c}"),
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
