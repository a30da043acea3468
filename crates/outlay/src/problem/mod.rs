//! What is to be decided: a budget per round and tasks with their curves.
//!
//! [`ProblemSpec`] is what somebody wrote, in Rust or in a file; [`ProblemSpec::check`] turns it
//! into a [`Problem`], or into *every* error at once, each with the path of its field. Only a
//! `Problem` can be solved.
//!
//! # Problem files
//! [`Problem::from_toml`] and [`Problem::from_json`] read the same keys:
//!
//! ```toml
//! budget = 1000.0         # per round, in any unit; default 1
//! horizon = 10000         # rounds planned; optional
//! reward_max = 1.0        # largest reward of one completion; default 1
//! leftover = "keep"       # or "spend": what happens to budget that buys nothing
//! [environment]           # for simulation: what changes from round to round
//! budget = { law = "sine", mean = 1000.0, amplitude = 200.0, period = 7.0 } # or "uniform" (low, high), or a list
//! delay = { law = "geometric", mean = 100.0 } # or "constant" (rounds), "uniform" (low, high)
//! available = 0.95        # the chance that a task is there in a round
//! [[task]]
//! name = "search"         # default: task-1, task-2, ...
//! curve = { family = "hill", half_at = 120.0, steepness = 2.5 }
//! value = 0.6             # mean reward of a success, if known
//! reward = { law = "bernoulli", mean = 0.6 }
//! min = 0.0               # also: max, fixed, exclude = true, at_least = 50.0, current = 80.0
//! ```
//!
//! | family | parameters |
//! |---|---|
//! | `power` | `exponent`, `scale` (default: the budget) |
//! | `saturating` | `full_at` |
//! | `exponential` | `scale` |
//! | `hill` | `half_at`, `steepness` |
//! | `logistic` | `mid`, `width` |
//! | `threshold` | `at` |
//! | `steps` | `at = [...]`, `success = [...]` |
//! | `piecewise` | `spend = [...]`, `success = [...]` |
//! | `empirical` | `samples = [...]`, or `file`, `column` and `where = { column = "value" }` |
//!
//! Every family takes `ceiling` and `floor` as well. The laws of a reward are `bernoulli`, `beta`
//! and `constant` (`mean`; for `beta` also `concentration`), `uniform` (`low`, `high`) and
//! `empirical` (as the curve).
//!
//! Tasks may come from a CSV file, one row a task: `tasks = { file = "tasks.csv" }`. Its columns
//! are named as the keys, those of the curve bare (`family`, `half_at`, `where.item`), those of the
//! reward as `reward.law`, `reward.mean`. An empty cell is a key that is not there, and the numbers
//! of a list are separated by `;`. Files are read through [`Files`]; all paths, also those in a CSV
//! file, are relative to the problem file.

mod check;
mod document;
mod environment;
mod errors;
mod nearest;
mod reward;
mod table;
mod write;

pub use document::{BUDGET_LAWS, DELAY_LAWS, Document, Files, NoFiles, REWARD_LAWS};
pub(crate) use environment::LONGEST_DELAY;
pub use environment::{BudgetLaw, DelayLaw, EnvironmentSpec};
pub(crate) use errors::one_line;
pub use errors::{ProblemError, ProblemErrors};
pub(crate) use nearest::suggestion;
pub use reward::RewardLaw;

use serde::Serialize;

use crate::curve::Curve;

/// A problem as written, before any check.
///
/// ```
/// use outlay::{Curve, ProblemSpec, TaskSpec};
/// let problem = ProblemSpec {
///     budget: 1000.0,
///     tasks: vec![
///         TaskSpec { value: Some(0.6), ..TaskSpec::new("search", Curve::hill(120.0, 2.5)?) },
///         TaskSpec { value: Some(0.4), max: Some(500.0), ..TaskSpec::new("social", Curve::power(0.5, 1000.0)?) },
///     ],
///     ..ProblemSpec::default()
/// }
/// .check()?;
/// assert_eq!(problem.tasks().len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ProblemSpec {
    /// What one round may spend, in any unit.
    pub budget: f64,
    /// Rounds planned; only some learners need it.
    pub horizon: Option<u64>,
    /// The largest reward of one completion.
    pub reward_max: f64,
    /// What happens to budget that buys nothing.
    pub leftover: Leftover,
    /// What changes from round to round, for simulation.
    pub environment: EnvironmentSpec,
    /// The tasks.
    pub tasks: Vec<TaskSpec>,
}

impl Default for ProblemSpec {
    fn default() -> Self {
        Self {
            budget: 1.0,
            horizon: None,
            reward_max: 1.0,
            leftover: Leftover::Keep,
            environment: EnvironmentSpec::default(),
            tasks: Vec::new(),
        }
    }
}

/// A task as written, before any check.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskSpec {
    /// Its name, unique in the problem.
    pub name: String,
    /// Its budget-to-success curve.
    pub curve: Curve,
    /// Mean reward of a success, if known: what the allocation maximises.
    pub value: Option<f64>,
    /// The law of the reward, for simulation.
    pub reward: Option<RewardLaw>,
    /// Spend at least this.
    pub min: Option<f64>,
    /// Spend at most this.
    pub max: Option<f64>,
    /// Spend exactly this.
    pub fixed: Option<f64>,
    /// Spend nothing.
    pub exclude: bool,
    /// Spend nothing or at least this.
    pub at_least: Option<f64>,
    /// What is spent today: where reports compare.
    pub current: Option<f64>,
    /// Where it was written, for messages: `tasks.csv line 7`. Empty: its place in the list,
    /// `task[2]` for the third.
    pub origin: String,
}

impl TaskSpec {
    /// A task without bounds and without a known value.
    #[must_use]
    pub fn new(name: impl Into<String>, curve: Curve) -> Self {
        Self {
            name: name.into(),
            curve,
            value: None,
            reward: None,
            min: None,
            max: None,
            fixed: None,
            exclude: false,
            at_least: None,
            current: None,
            origin: String::new(),
        }
    }
}

/// What happens to budget that buys nothing because every curve is flat from here on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Leftover {
    /// It stays unspent and is reported: spend adds up to *at most* the budget.
    #[default]
    Keep,
    /// It is spent all the same, on the first task with room: spend adds up to the budget.
    Spend,
}

/// A checked problem: the only kind that can be solved.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Problem {
    budget: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    horizon: Option<u64>,
    reward_max: f64,
    leftover: Leftover,
    #[serde(skip_serializing_if = "EnvironmentSpec::is_still")]
    environment: EnvironmentSpec,
    #[serde(rename = "task")]
    tasks: Vec<Task>,
}

/// A checked task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Task {
    name: String,
    curve: Curve,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reward: Option<RewardLaw>,
    #[serde(flatten)]
    bounds: Bounds,
    #[serde(skip_serializing_if = "Option::is_none")]
    current: Option<f64>,
}

/// What a task may be given: between `min` and `max`, and if `at_least` is positive, nothing or at
/// least that.
///
/// `fixed` is `min = max`, `exclude` is `max = 0`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bounds {
    /// At least this.
    #[serde(skip_serializing_if = "is_zero")]
    pub min: f64,
    /// At most this; infinite if unbounded.
    #[serde(skip_serializing_if = "is_unbounded")]
    pub max: f64,
    /// Nothing or at least this; zero if any spend will do, and whenever `min` is positive.
    #[serde(skip_serializing_if = "is_zero")]
    pub at_least: f64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_unbounded(max: &f64) -> bool {
    max.is_infinite()
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

impl Bounds {
    /// No bounds.
    pub const NONE: Self = Self { min: 0.0, max: f64::INFINITY, at_least: 0.0 };

    /// Whether a task may be given this; a bound that is missed by no more than the share `slack`
    /// counts as met.
    #[must_use]
    pub fn allows(&self, spend: f64, slack: f64) -> bool {
        let reaches = |bound: f64| spend >= bound * (1.0 - slack);
        reaches(self.min)
            && spend <= self.max * (1.0 + slack)
            && (spend == 0.0 || reaches(self.at_least))
    }
}

impl Problem {
    /// What one round may spend.
    #[must_use]
    pub fn budget(&self) -> f64 {
        self.budget
    }

    /// Rounds planned, if said.
    #[must_use]
    pub fn horizon(&self) -> Option<u64> {
        self.horizon
    }

    /// The largest reward of one completion.
    #[must_use]
    pub fn reward_max(&self) -> f64 {
        self.reward_max
    }

    /// What happens to budget that buys nothing.
    #[must_use]
    pub fn leftover(&self) -> Leftover {
        self.leftover
    }

    /// What changes from round to round, for simulation.
    #[must_use]
    pub fn environment(&self) -> &EnvironmentSpec {
        &self.environment
    }

    /// The tasks, in the order written.
    #[must_use]
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// The same problem with other bounds, one a task; whoever makes them answers for them.
    pub(crate) fn with_bounds(&self, bounds: &[Bounds]) -> Self {
        let mut changed = self.clone();
        changed.tasks.iter_mut().zip(bounds).for_each(|(task, bounds)| task.bounds = *bounds);
        changed
    }

    /// The same problem with other curves, one a task.
    pub(crate) fn with_curves(&self, curves: Vec<Curve>) -> Self {
        let tasks =
            self.tasks.iter().zip(curves).map(|(task, curve)| Task { curve, ..task.clone() });
        Self { tasks: tasks.collect(), ..self.clone() }
    }

    /// The tasks' values, if every task has one: `value`, else the mean of its `reward`.
    #[must_use]
    pub fn values(&self) -> Option<Vec<f64>> {
        self.tasks.iter().map(Task::value).collect()
    }
}

impl Task {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its budget-to-success curve.
    #[must_use]
    pub fn curve(&self) -> &Curve {
        &self.curve
    }

    /// Mean reward of a success, if known: `value`, else the mean of `reward`.
    #[must_use]
    pub fn value(&self) -> Option<f64> {
        self.value.or_else(|| self.reward.as_ref().map(RewardLaw::mean))
    }

    /// The law of the reward, if given.
    #[must_use]
    pub fn reward(&self) -> Option<&RewardLaw> {
        self.reward.as_ref()
    }

    /// What it may be given.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// What is spent today, if said.
    #[must_use]
    pub fn current(&self) -> Option<f64> {
        self.current
    }
}
