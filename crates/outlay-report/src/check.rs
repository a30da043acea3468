//! The check of a problem: its tasks, the guarantee of the paper that applies, and notes.

use outlay::curve::Family;
use outlay::text::listed;
use outlay::{Bounds, Problem, Task};
use serde::Serialize;

use crate::number::{counted, plain};

/// A curve that is flat beyond this share of the budget per task gets a note.
const FAR_BELOW: f64 = 0.01;

/// A problem, the guarantee that applies to it, and notes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProblemCheck<'a> {
    /// The budget.
    pub budget: f64,
    /// The number of rounds, if known.
    pub horizon: Option<u64>,
    /// The largest reward.
    pub reward_max: f64,
    /// The tasks.
    pub tasks: Vec<TaskCheck<'a>>,
    /// Number of the theorem that bounds the regret; absent if none does.
    pub theorem: Option<u8>,
    /// The guarantee in words.
    pub conclusion: String,
    /// Valid but suspicious input.
    pub notes: Vec<String>,
}

impl<'a> ProblemCheck<'a> {
    /// Checks a problem.
    pub fn new(problem: &'a Problem) -> Self {
        let guarantee = Guarantee::of(problem);
        let tasks = problem.tasks().iter().map(|task| TaskCheck::new(task, problem.budget()));
        Self {
            budget: problem.budget(),
            horizon: problem.horizon(),
            reward_max: problem.reward_max(),
            tasks: tasks.collect(),
            theorem: guarantee.theorem(),
            conclusion: guarantee.to_string(),
            notes: notes(problem),
        }
    }
}

/// One task of a [`ProblemCheck`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskCheck<'a> {
    /// Its name.
    pub task: &'a str,
    /// The family of its curve.
    pub family: &'static str,
    /// The shape of its curve.
    pub shape: String,
    /// Its smallest spend.
    pub min: f64,
    /// Its largest spend, if limited.
    pub max: Option<f64>,
    /// Its smallest spend above zero.
    pub at_least: f64,
    /// Whether it is retired.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub retired: bool,
    /// Its value, if known.
    pub value: Option<f64>,
    /// Its expected completions per round at success 1.
    pub volume: f64,
    /// Whether its curve has strong diminishing returns.
    pub diminishing_returns: bool,
    /// The conditions that fail.
    pub failures: Vec<String>,
}

impl<'a> TaskCheck<'a> {
    fn new(task: &'a Task, budget: f64) -> Self {
        let failures: Vec<String> = task
            .curve()
            .diminishing_returns_failures(budget)
            .iter()
            .map(ToString::to_string)
            .collect();
        let Bounds { min, max, at_least } = task.bounds();
        Self {
            task: task.name(),
            family: task.curve().family().as_str(),
            shape: task.curve().shape().to_string(),
            min,
            max: max.is_finite().then_some(max),
            at_least,
            retired: task.is_retired(),
            value: task.value(),
            volume: task.volume(),
            diminishing_returns: failures.is_empty(),
            failures,
        }
    }

    /// Bounds as text; empty if there are none.
    pub fn bounds(&self) -> String {
        match (self.min, self.max, self.at_least) {
            _ if self.retired => "retired".to_owned(),
            (_, Some(0.0), _) => "excluded".to_owned(),
            (min, Some(max), _) if min == max => format!("fixed at {}", plain(min)),
            (min, max, at_least) => {
                let mut parts = Vec::new();
                if at_least > 0.0 {
                    parts.push(format!("0 or at least {}", plain(at_least)));
                }
                if min > 0.0 {
                    parts.push(format!("min {}", plain(min)));
                }
                if let Some(max) = max {
                    parts.push(format!("max {}", plain(max)));
                }
                parts.join(", ")
            }
        }
    }
}

/// The regret bound of the paper that applies to the problem.
enum Guarantee {
    /// Theorem 1, provided that unknown values are positive.
    Fast { values_known: bool },
    /// Theorem 3, with the reasons why Theorem 1 does not apply.
    WorstCase { reasons: Vec<String> },
    /// No theorem, because tasks may complete more than once in a round.
    Counts,
}

impl Guarantee {
    fn of(problem: &Problem) -> Self {
        if problem.has_counts() {
            return Self::Counts;
        }
        let named = |holds: &dyn Fn(&Task) -> bool| -> Vec<&str> {
            let tasks = problem.tasks().iter().filter(|task| !task.is_retired());
            tasks.filter(|task| holds(task)).map(Task::name).collect()
        };
        let all_or = |names: &[&str]| {
            if names.len() == problem.tasks().len() && names.len() > 1 {
                "every task".to_owned()
            } else {
                listed(names)
            }
        };
        let mut reasons = Vec::new();
        let lacking =
            named(&|task| !task.curve().diminishing_returns_failures(problem.budget()).is_empty());
        if !lacking.is_empty() {
            reasons.push(format!("strong diminishing returns fail for {}", all_or(&lacking)));
        }
        let worthless = named(&|task| task.value() == Some(0.0));
        if !worthless.is_empty() {
            reasons.push(format!("the value of {} is 0", all_or(&worthless)));
        }
        let bounded = named(&|task| task.bounds() != Bounds::NONE);
        if !bounded.is_empty() {
            reasons.push(format!(
                "the paper does not cover spend bounds such as those of {}",
                all_or(&bounded)
            ));
        }
        if problem.tasks().len() < 2 {
            reasons.push("it needs at least two tasks".to_owned());
        }
        if reasons.is_empty() {
            Self::Fast { values_known: problem.values().is_some() }
        } else {
            Self::WorstCase { reasons }
        }
    }

    fn theorem(&self) -> Option<u8> {
        match self {
            Self::Fast { .. } => Some(1),
            Self::WorstCase { .. } => Some(3),
            Self::Counts => None,
        }
    }
}

impl std::fmt::Display for Guarantee {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fast { values_known } => {
                let condition =
                    if *values_known { "" } else { ", if every mean reward is positive" };
                write!(
                    formatter,
                    "Theorem 1 applies{condition}: strong diminishing returns hold for every task, "
                )?;
                write!(
                    formatter,
                    "and learning the values costs regret of order log² T over T rounds."
                )
            }
            Self::Counts => formatter.write_str(
                "Tasks may complete more than once in a round. The certificate of a split holds, \
                 but no regret bound applies: the theorems cover one completion per task and round.",
            ),
            Self::WorstCase { reasons } => {
                write!(formatter, "Only the worst-case bound (Theorem 3) applies: ")?;
                write!(
                    formatter,
                    "learning the values costs regret of order K √T, up to logarithms, over T rounds. "
                )?;
                write!(formatter, "Theorem 1 (log² T) does not: {}.", reasons.join("; "))
            }
        }
    }
}

/// A note if recorded rewards of the problem were clipped.
pub fn clipped_samples(problem: &Problem) -> Option<String> {
    let clipped = problem.clipped_samples();
    let samples = counted(clipped as usize, "recorded reward");
    let reward_max = plain(problem.reward_max());
    (clipped > 0)
        .then(|| format!("{samples} above reward_max {reward_max} counted as {reward_max}"))
}

/// Notes on valid but suspicious input.
fn notes(problem: &Problem) -> Vec<String> {
    let budget = problem.budget();
    let mut notes = Vec::new();
    for task in problem.tasks() {
        notes.extend(unreachable(task, budget).map(|why| format!("{}: {why}", task.name())));
        if let Some(value) = task.value().filter(|value| *value > problem.reward_max()) {
            notes.push(format!(
                "{}: its value {value} is above reward_max {}",
                task.name(),
                problem.reward_max()
            ));
        }
        let flat_from = task.curve().saturates_at();
        if flat_from < FAR_BELOW * budget / problem.tasks().len() as f64
            && task.bounds().max > flat_from
        {
            notes.push(format!(
                "{}: its curve is flat above {}, far below the budget per task; is the unit right?",
                task.name(),
                plain(flat_from)
            ));
        }
    }
    notes.extend(clipped_samples(problem));
    let valueless: Vec<&str> =
        problem.tasks().iter().filter(|task| task.value().is_none()).map(Task::name).collect();
    if !valueless.is_empty() {
        notes.push(format!(
            "no value for {}: allocate needs value, reward.mean, or --values",
            listed(&valueless)
        ));
    }
    let usable: f64 =
        problem.tasks().iter().map(|task| task.curve().saturates_at().min(task.bounds().max)).sum();
    if usable < budget {
        notes.push(format!(
            "at most {} of the budget increases the value: beyond that every curve is flat or at its max",
            plain(usable)
        ));
    }
    if let Some(current) = problem
        .tasks()
        .iter()
        .map(Task::current)
        .sum::<Option<f64>>()
        .filter(|current| *current > budget * (1.0 + 1e-12))
    {
        notes
            .push(format!("the current spends add up to {}, more than the budget", plain(current)));
    }
    notes
}

/// The reason why a task cannot succeed at any feasible spend, if there is one.
fn unreachable(task: &Task, budget: f64) -> Option<String> {
    let first_step = match task.curve().family() {
        Family::Threshold(threshold) => threshold.at(),
        Family::Steps(steps) => *steps.at().first()?,
        Family::Empirical(empirical) => *empirical.at().first()?,
        _ => return None,
    };
    if task.bounds().max == 0.0 {
        return None;
    }
    if first_step > budget {
        return Some(format!(
            "needs {}, more than the whole budget: it cannot succeed",
            plain(first_step)
        ));
    }
    (first_step > task.bounds().max)
        .then(|| format!("needs {}, more than its max: it cannot succeed", plain(first_step)))
}
