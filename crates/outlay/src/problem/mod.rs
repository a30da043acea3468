//! Problems: a budget per round and tasks with their budget-to-success curves.
//!
//! A [`ProblemSpec`] is unchecked input, from Rust or from a file. [`ProblemSpec::check`] turns it
//! into a [`Problem`], or returns *every* error at once, each with the path of its field. Only a
//! `Problem` can be solved.
//!
//! # Problem files
//! [`Problem::from_toml`] and [`Problem::from_json`] read the same keys:
//!
//! ```toml
//! budget = 1000.0         # per round, in any unit; default 1
//! horizon = 10000         # rounds planned; optional
//! reward_max = 1.0        # largest reward of one completion; default 1
//! leftover = "keep"       # or "spend": the use of budget that cannot increase the value
//! reward_over_max = "refuse" # or "clip": reported rewards above reward_max count as reward_max
//! currency = "EUR"        # words for tables and reports: the unit of budget and spends,
//! period = "day"          # the length of a round,
//! reward_unit = "EUR"     # and the unit of rewards; default: the currency
//! [environment]           # for simulation: the parts that change from round to round
//! # The law of the budget may also be "uniform" (low, high), or a list.
//! budget = { law = "sine", mean = 1000.0, amplitude = 200.0, period = 7.0 }
//! delay = { law = "geometric", mean = 100.0 } # or "constant" (rounds), "uniform" (low, high)
//! available = 0.95        # the probability that a task is available in a round
//! completions = "poisson" # or "single", "binomial", or a table for "negative-binomial"
//! scale = { search = [0.8, 1.2] } # round r plays F(x / scale); or { file = "week.csv" }
//! volume = { search = [8, 12] }   # the volume of each round; or a file
//! hide_scale = false      # whether learners are not told scale and volume
//! [[task]]
//! name = "search"         # default: task-1, task-2, ...
//! curve = { family = "hill", half_at = 120.0, steepness = 2.5 }
//! value = 0.6             # mean reward of a completion, if known
//! volume = 1.0            # expected completions per round at success 1; default 1
//! reward = { law = "bernoulli", mean = 0.6 }
//! min = 0.0               # also: max, fixed, exclude = true, at_least = 50.0, current = 80.0
//! covers = [10.0, 140.0]  # spends of the log that the curve was fitted to
//! seen = { completions = 812, reward = 50344.1 } # totals of that log
//! retired = false         # true: out of the campaign; it gets nothing and has no outcomes
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
//! Tasks may come from a CSV file, one row per task: `tasks = { file = "tasks.csv" }`. Its columns
//! have the names of the keys: without prefix for the curve (`family`, `half_at`, `where.item`),
//! with prefix for the reward (`reward.law`, `reward.mean`). An empty cell means that the key is
//! unset, and the numbers of a list are separated by `;`. Files are read through [`Files`]; all
//! paths, also those in a CSV file, are relative to the problem file.

mod amend;
mod bounded;
mod check;
mod environment;
mod errors;
mod feasibility;
mod file;
mod origins;
mod profile;
mod reward;
mod round_curves;
mod shared_tasks;
mod units;

pub use amend::{AmendError, Amendment, FieldChange};
pub(crate) use environment::LONGEST_DELAY;
pub use environment::{BudgetLaw, CompletionLaw, DelayLaw, EnvironmentSpec};
pub use errors::{
    ExpectedType, FoundValue, LowerBoundKeys, ProblemError, ProblemErrorKind, ProblemErrors,
    UnknownTask,
};
pub(crate) use feasibility::affordable;
pub use feasibility::{FEASIBILITY_TOLERANCE, covers, is_feasible, max_total};
pub use file::{
    BUDGET_LAWS, COMPLETION_LAWS, DELAY_LAWS, Document, Files, LimitsForm, NoFiles, REWARD_LAWS,
};
pub use profile::Profile;
pub(crate) use profile::by_position;
pub use reward::RewardLaw;
pub use round_curves::{RoundCurvesError, SCALE_RANGE};
pub(crate) use shared_tasks::SharedTasks;
pub use units::Units;

use serde::Serialize;

use crate::curve::Curve;
use crate::feedback::Completions;

/// An unchecked problem.
///
/// ```
/// use outlay::{Curve, ProblemSpec, TaskSpec};
/// let problem = ProblemSpec {
///     budget: 1000.0,
///     tasks: vec![
///         TaskSpec { value: Some(0.6), ..TaskSpec::new("search", Curve::hill(120.0, 2.5)?) },
///         TaskSpec {
///             value: Some(0.4),
///             max: Some(500.0),
///             ..TaskSpec::new("social", Curve::power(0.5, 1000.0)?)
///         },
///     ],
///     ..ProblemSpec::default()
/// }
/// .check()?;
/// assert_eq!(problem.tasks().len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ProblemSpec {
    /// The budget of one round, in any unit.
    pub budget: f64,
    /// The number of rounds planned; only some learners need it.
    pub horizon: Option<u64>,
    /// The largest reward of one completion.
    pub reward_max: f64,
    /// The treatment of rewards above `reward_max`.
    pub reward_over_max: RewardOverMax,
    /// The use of budget that cannot increase the value.
    pub leftover: Leftover,
    /// The units that tables and reports write.
    pub units: Units,
    /// The parts that change from round to round, for simulation.
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
            reward_over_max: RewardOverMax::Refuse,
            leftover: Leftover::Keep,
            units: Units::default(),
            environment: EnvironmentSpec::default(),
            tasks: Vec::new(),
        }
    }
}

/// An unchecked task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskSpec {
    /// Its name, unique in the problem.
    pub name: String,
    /// Its budget-to-success curve.
    pub curve: Curve,
    /// The mean reward of a completion, if known.
    pub value: Option<f64>,
    /// The expected number of completions of a round at success 1; absent: 1.
    pub volume: Option<f64>,
    /// The distribution of the reward, for simulation.
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
    /// The present spend, with which reports compare.
    pub current: Option<f64>,
    /// The smallest and the largest spend of the log that the curve was fitted to. Spends outside
    /// are extrapolated.
    pub covers: Option<[f64; 2]>,
    /// The completions and rewards of that log.
    pub seen: Option<Seen>,
    /// Whether it has left the campaign: it gets nothing, has no outcomes, and its bounds do not
    /// apply.
    pub retired: bool,
    /// The position in a file, for messages: `tasks.csv line 7`. If empty, messages use the
    /// position in the list, such as `task[2]` for the third task.
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
            volume: None,
            reward: None,
            min: None,
            max: None,
            fixed: None,
            exclude: false,
            at_least: None,
            current: None,
            covers: None,
            seen: None,
            retired: false,
            origin: String::new(),
        }
    }
}

/// The completions of a task in a log and the sum of their rewards.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Seen {
    /// The number of completions.
    pub completions: u64,
    /// The sum of their rewards.
    pub reward: f64,
}

impl Seen {
    /// As completions with the sum of their rewards in billionths of the largest one; `None` if
    /// there is no completion.
    #[must_use]
    pub fn completions(&self, reward_max: f64) -> Option<Completions> {
        let count = self.completions as f64;
        // Rounding may have taken a sum of largest rewards above their number.
        let sum = (self.reward / reward_max).min(count);
        Completions::from_share(self.completions, sum).filter(|seen| seen.count() > 0)
    }

    /// The mean reward of a completion; `None` if there is none.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.completions > 0).then(|| self.reward / self.completions as f64)
    }
}

/// The use of budget that cannot increase the value because every curve is flat from there on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Leftover {
    /// It stays unspent and is reported. The total spend is *at most* the budget.
    #[default]
    Keep,
    /// It is spent on the first task below its maximum. The total spend equals the budget.
    Spend,
}

/// The treatment of a reported reward above the largest one: above `reward_max` times the number of
/// completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RewardOverMax {
    /// It is an error.
    #[default]
    Refuse,
    /// It counts as the largest one. Reports that were clipped are counted.
    Clip,
}

impl RewardOverMax {
    /// Whether larger rewards are clipped.
    #[must_use]
    pub fn clips(self) -> bool {
        self == Self::Clip
    }

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The number of recorded rewards that were clipped when a problem was checked. It says where the
/// problem came from and is not part of it, so all such numbers are equal.
#[derive(Debug, Clone, Copy, Default)]
struct ClippedSamples(u64);

impl PartialEq for ClippedSamples {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A checked problem, ready to be solved.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Problem {
    budget: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    horizon: Option<u64>,
    reward_max: f64,
    #[serde(skip_serializing_if = "RewardOverMax::is_default")]
    reward_over_max: RewardOverMax,
    leftover: Leftover,
    #[serde(skip)]
    clipped_samples: ClippedSamples,
    #[serde(flatten)]
    units: Units,
    #[serde(skip_serializing_if = "EnvironmentSpec::is_constant")]
    environment: EnvironmentSpec,
    #[serde(rename = "task")]
    tasks: SharedTasks,
}

/// A checked task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Task {
    name: Box<str>,
    curve: Curve,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<f64>,
    /// Boxed, because most of 10^6 tasks have none of it; `None` if all of it is unset.
    #[serde(flatten)]
    extras: Option<Box<TaskExtras>>,
}

/// The fields that most tasks of a large problem do not have.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct TaskExtras {
    #[serde(skip_serializing_if = "is_one")]
    volume: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    reward: Option<RewardLaw>,
    #[serde(flatten)]
    bounds: Bounds,
    #[serde(skip_serializing_if = "Option::is_none")]
    current: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    covers: Option<[f64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seen: Option<Seen>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    retired: bool,
}

impl TaskExtras {
    const NONE: Self = Self {
        volume: 1.0,
        reward: None,
        bounds: Bounds::NONE,
        current: None,
        covers: None,
        seen: None,
        retired: false,
    };

    fn boxed(self) -> Option<Box<Self>> {
        (self != Self::NONE).then(|| Box::new(self))
    }
}

/// The bounds on the spend of a task: between `min` and `max` and, if `at_least` is positive,
/// either zero or at least `at_least`.
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
    /// Zero or at least this. It is zero if there is no such bound or if `min` is positive.
    #[serde(skip_serializing_if = "is_zero")]
    pub at_least: f64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_unbounded(max: &f64) -> bool {
    max.is_infinite()
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_one(number: &f64) -> bool {
    *number == 1.0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

impl Bounds {
    /// No bounds.
    pub const NONE: Self = Self { min: 0.0, max: f64::INFINITY, at_least: 0.0 };
    /// No spend.
    pub(crate) const NO_SPEND: Self = Self { min: 0.0, max: 0.0, at_least: 0.0 };
}

impl Problem {
    /// The budget of one round.
    #[must_use]
    pub fn budget(&self) -> f64 {
        self.budget
    }

    /// The number of rounds planned, if given.
    #[must_use]
    pub fn horizon(&self) -> Option<u64> {
        self.horizon
    }

    /// The largest reward of one completion.
    #[must_use]
    pub fn reward_max(&self) -> f64 {
        self.reward_max
    }

    /// The treatment of reported rewards above the largest one.
    #[must_use]
    pub fn reward_over_max(&self) -> RewardOverMax {
        self.reward_over_max
    }

    /// The number of recorded rewards, of tasks with an empirical law, that were above `reward_max`
    /// and were clipped when the problem was read.
    #[must_use]
    pub fn clipped_samples(&self) -> u64 {
        self.clipped_samples.0
    }

    /// The part of a reward that counts: a reward of this many completions that is above their
    /// largest one is clipped. A failure has at most one forgone reward.
    #[must_use]
    pub fn clipped_reward(&self, completions: u64, reward: f64) -> f64 {
        reward.min(self.largest_reward(completions))
    }

    /// Whether a reward of this many completions counts as their largest one, because it is above.
    #[must_use]
    pub fn clips_reward(&self, completions: u64, reward: f64) -> bool {
        reward > self.largest_reward(completions) && reward.is_finite()
    }

    fn largest_reward(&self, completions: u64) -> f64 {
        completions.max(1) as f64 * self.reward_max
    }

    /// The use of budget that cannot increase the value.
    #[must_use]
    pub fn leftover(&self) -> Leftover {
        self.leftover
    }

    /// The units that tables and reports write.
    #[must_use]
    pub fn units(&self) -> &Units {
        &self.units
    }

    /// The parts that change from round to round, for simulation.
    #[must_use]
    pub fn environment(&self) -> &EnvironmentSpec {
        &self.environment
    }

    /// The tasks, in the order of the input.
    #[must_use]
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// The tasks, to be kept without a copy.
    pub(crate) fn shared_tasks(&self) -> &SharedTasks {
        &self.tasks
    }

    /// The same problem with other curves, one per task.
    pub(crate) fn with_curves(&self, curves: Vec<Curve>) -> Self {
        let tasks =
            self.tasks.iter().zip(curves).map(|(task, curve)| Task { curve, ..task.clone() });
        Self { tasks: tasks.collect(), ..self.clone() }
    }

    /// The same problem with rewards in another unit. The word is not checked.
    #[must_use]
    pub fn with_reward_unit(&self, unit: &str) -> Self {
        let units = Units { reward_unit: Some(unit.into()), ..self.units.clone() };
        Self { units, ..self.clone() }
    }

    /// The same problem without the totals of its logs, so that learners start from nothing.
    #[must_use]
    pub fn without_seen(&self) -> Self {
        if self.tasks.iter().all(|task| task.seen().is_none()) {
            return self.clone();
        }
        let stripped = |task: &Task| {
            let extras = task.extras.as_deref().unwrap_or(&TaskExtras::NONE).clone();
            Task { extras: TaskExtras { seen: None, ..extras }.boxed(), ..task.clone() }
        };
        Self { tasks: self.tasks.iter().map(stripped).collect(), ..self.clone() }
    }

    /// The same problem with every volume 1.
    pub(crate) fn without_volumes(&self) -> Self {
        let task = |task: &Task| {
            let extras =
                task.extras.as_ref().map(|extras| TaskExtras { volume: 1.0, ..(**extras).clone() });
            Task { extras: extras.and_then(TaskExtras::boxed), ..task.clone() }
        };
        Self { tasks: self.tasks.iter().map(task).collect(), ..self.clone() }
    }

    /// The tasks' values, if every task has one: `value`, else the mean of its `reward`.
    #[must_use]
    pub fn values(&self) -> Option<Vec<f64>> {
        self.tasks.iter().map(Task::value).collect()
    }

    /// The tasks' volumes; `None` if all of them are one.
    #[must_use]
    pub fn volumes(&self) -> Option<Vec<f64>> {
        let has_volumes = self.tasks.iter().any(|task| task.volume() != 1.0);
        has_volumes.then(|| self.tasks.iter().map(Task::volume).collect())
    }

    /// Whether a task may complete more than once in a round.
    #[must_use]
    pub fn has_counts(&self) -> bool {
        match self.environment.completions {
            None => {
                let has_volume = self.tasks.iter().any(|task| task.volume() != 1.0);
                has_volume || !self.environment.volume.is_empty()
            }
            Some(law) => law != CompletionLaw::Single,
        }
    }

    /// The weights of these values in the objective: the value of a completion times the task's
    /// volume. The expected reward of a round is the sum of weight times success.
    #[must_use]
    pub fn weights(&self, values: &[f64]) -> Vec<f64> {
        values.iter().zip(self.tasks.iter()).map(|(value, task)| value * task.volume()).collect()
    }

    /// The position of the task with this name.
    ///
    /// # Errors
    /// If no task has the name. The error suggests a similar name, which takes time proportional
    /// to the number of tasks.
    pub fn task_position(&self, name: &str) -> Result<usize, UnknownTask> {
        let found = self.tasks.iter().position(|task| &*task.name == name);
        found.ok_or_else(|| UnknownTask::of(name, self.tasks.iter().map(Task::name)))
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

    /// The mean reward of a completion, if known: `value`, else the mean of `reward`. A retired
    /// task has no outcomes, so its value is 0.
    #[must_use]
    pub fn value(&self) -> Option<f64> {
        if self.is_retired() {
            return Some(0.0);
        }
        self.value.or_else(|| self.reward().map(RewardLaw::mean))
    }

    /// The expected number of completions of a round at success 1.
    #[must_use]
    pub fn volume(&self) -> f64 {
        self.extras.as_ref().map_or(1.0, |extras| extras.volume)
    }

    /// The distribution of the reward, if given.
    #[must_use]
    pub fn reward(&self) -> Option<&RewardLaw> {
        self.extras.as_ref().and_then(|extras| extras.reward.as_ref())
    }

    /// The bounds on its spend. A retired task gets nothing.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        match &self.extras {
            None => Bounds::NONE,
            Some(extras) if extras.retired => Bounds::NO_SPEND,
            Some(extras) => extras.bounds,
        }
    }

    /// Whether it has left the campaign. It keeps its position, so that outcomes of earlier rounds
    /// can be reported.
    #[must_use]
    pub fn is_retired(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.retired)
    }

    /// Its present spend, if given.
    #[must_use]
    pub fn current(&self) -> Option<f64> {
        self.extras.as_ref().and_then(|extras| extras.current)
    }

    /// The smallest and the largest spend of the log that its curve was fitted to, if given.
    #[must_use]
    pub fn covers(&self) -> Option<[f64; 2]> {
        self.extras.as_ref().and_then(|extras| extras.covers)
    }

    /// The completions and rewards of that log, if given.
    #[must_use]
    pub fn seen(&self) -> Option<Seen> {
        self.extras.as_ref().and_then(|extras| extras.seen)
    }

    /// Whether its curve is extrapolated at a spend: the log that it was fitted to does not cover
    /// it. Spending nothing needs no log.
    #[must_use]
    pub fn extrapolates(&self, spend: f64) -> bool {
        /// Spends this close to an end, relative to it, are covered.
        const NEARBY: f64 = 1e-9;
        self.covers().is_some_and(|[low, high]| {
            spend > 0.0 && !(low * (1.0 - NEARBY)..=high * (1.0 + NEARBY)).contains(&spend)
        })
    }

    fn with_extras(&self, change: impl FnOnce(&mut TaskExtras)) -> Self {
        let mut extras = self.extras.as_deref().unwrap_or(&TaskExtras::NONE).clone();
        change(&mut extras);
        Self { extras: extras.boxed(), ..self.clone() }
    }

    fn with_bounds(&self, bounds: Bounds) -> Self {
        self.with_extras(|extras| extras.bounds = bounds)
    }
}
