//! Problems by name, usable wherever a problem file is: the paper's instances and a few to try things on.
//!
//! ```
//! use outlay::instance::Instance;
//! let instance: Instance = "m-set:tasks=5,plays=2".parse()?;
//! let problem = instance.problem(1000, 1)?;
//! assert_eq!(problem.tasks().len(), 5);
//! # Ok::<(), outlay::instance::InstanceError>(())
//! ```

use std::str::FromStr;

use crate::curve::{Curve, CurveError};
use crate::named::Named;
use crate::problem::{Problem, ProblemSpec, RewardLaw, TaskSpec, one_line};
use crate::random::{Draws, Purpose};

/// An instance cannot be made: which, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InstanceError(pub String);

/// What there is to know of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstanceEntry {
    /// Its name.
    pub name: &'static str,
    /// Its parameters with their defaults.
    pub parameters: &'static str,
    /// What it is.
    pub about: &'static str,
}

/// Every instance.
pub const INSTANCES: [InstanceEntry; 7] = [
    InstanceEntry {
        name: "power",
        parameters: "tasks=5",
        about: "power curves with exponents .3 to .7: strong diminishing returns (Theorem 1)",
    },
    InstanceEntry {
        name: "square-roots",
        parameters: "means=0.6;0.4",
        about: "F = √x: the best split is proportional to the squared means",
    },
    InstanceEntry {
        name: "m-set",
        parameters: "tasks=10,plays=3",
        about: "thresholds at 1/plays of the budget: semi-bandits with that many plays",
    },
    InstanceEntry { name: "k-armed", parameters: "tasks=10", about: "thresholds at the whole budget: the classical bandit" },
    InstanceEntry {
        name: "saturating-jobs",
        parameters: "full_at=0.5;0.2;0.9;0.3;0.4",
        about: "min(1, x/full_at) and rewards of 1 (Lattimore et al. 2014, known difficulties)",
    },
    InstanceEntry {
        name: "theorem-2",
        parameters: "horizon=the run's",
        about: "two square roots, means 1/2 ± T^(-1/4)/6: bandit feedback needs √T there",
    },
    InstanceEntry {
        name: "theorem-4",
        parameters: "pairs=2,horizon=the run's",
        about: "pairs of thresholds, one task of each better by 1/√T, drawn by the seed: K√T for everybody",
    },
];

/// The largest number of tasks or pairs that a name may ask for.
const MOST_TASKS: u64 = 100_000;

/// A problem by name. Some depend on the horizon, and `theorem-4` on the seed.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    text: String,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Power { tasks: usize },
    SquareRoots { means: Vec<f64> },
    MSet { tasks: usize, plays: usize },
    SaturatingJobs { full_at: Vec<f64> },
    Theorem2 { horizon: Option<u64> },
    Theorem4 { pairs: usize, horizon: Option<u64> },
}

impl FromStr for Instance {
    type Err = InstanceError;

    fn from_str(text: &str) -> Result<Self, InstanceError> {
        let kind = parse(text).map_err(|message| InstanceError(format!("instance `{}`: {message}", one_line(text))))?;
        Ok(Self { text: text.trim().to_owned(), kind })
    }
}

impl std::fmt::Display for Instance {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.text)
    }
}

fn parse(text: &str) -> Result<Kind, String> {
    let mut named = Named::parse(text, &INSTANCES.map(|entry| entry.name))?;
    let count = |number: Option<u64>, default: usize| number.map_or(default, |number| number as usize);
    let kind = match named.name {
        "power" => Kind::Power { tasks: count(named.whole("tasks", 1..=MOST_TASKS)?, 5) },
        "square-roots" => Kind::SquareRoots { means: named.numbers("means", 0.0..=1.0)?.unwrap_or_else(|| vec![0.6, 0.4]) },
        "m-set" | "k-armed" => {
            let tasks = count(named.whole("tasks", 1..=MOST_TASKS)?, 10);
            let plays = if named.name == "m-set" { count(named.whole("plays", 1..=MOST_TASKS)?, 3) } else { 1 };
            if plays > tasks {
                return Err(format!("plays must be at most tasks: {plays} > {tasks}"));
            }
            Kind::MSet { tasks, plays }
        }
        "saturating-jobs" => {
            let default = || vec![0.5, 0.2, 0.9, 0.3, 0.4];
            Kind::SaturatingJobs { full_at: named.numbers("full_at", 1e-9..=1e9)?.unwrap_or_else(default) }
        }
        "theorem-2" => Kind::Theorem2 { horizon: named.whole("horizon", 4..=u64::MAX)? },
        _ => Kind::Theorem4 { pairs: count(named.whole("pairs", 1..=MOST_TASKS)?, 2), horizon: named.whole("horizon", 16..=u64::MAX)? },
    };
    named.finish()?;
    Ok(kind)
}

impl Instance {
    /// Whether the problem depends on the seed.
    #[must_use]
    pub fn depends_on_seed(&self) -> bool {
        matches!(self.kind, Kind::Theorem4 { .. })
    }

    /// The problem for a horizon and a seed. The budget is 1.
    ///
    /// # Errors
    /// If the horizon is too short for the instance.
    pub fn problem(&self, horizon: u64, seed: u64) -> Result<Problem, InstanceError> {
        let error = |message: String| InstanceError(format!("instance `{}`: {message}", one_line(&self.text)));
        let shortest = match self.kind {
            Kind::Theorem2 { horizon: None } => 4,
            Kind::Theorem4 { horizon: None, .. } => 16,
            _ => 1,
        };
        if horizon < shortest {
            return Err(error(format!("needs a horizon of at least {shortest} rounds, not {horizon}")));
        }
        let tasks = self.tasks(horizon, seed).map_err(|refusal| error(refusal.to_string()))?;
        ProblemSpec { tasks, horizon: Some(horizon), ..ProblemSpec::default() }.check().map_err(|errors| error(errors.to_string()))
    }

    fn tasks(&self, horizon: u64, seed: u64) -> Result<Vec<TaskSpec>, CurveError> {
        let rooted = |horizon: Option<u64>| horizon.unwrap_or(u64::MAX) as f64;
        let bernoulli = |mean: f64| RewardLaw::Bernoulli { mean };
        let task = |position: usize, curve: Curve, reward: RewardLaw| TaskSpec {
            reward: Some(reward),
            ..TaskSpec::new(format!("task-{}", position + 1), curve)
        };
        match &self.kind {
            Kind::Power { tasks } => (0..*tasks)
                .map(|position| {
                    let (exponent, mean) = power_task(position, *tasks);
                    Ok(task(position, Curve::power(exponent, 1.0)?, bernoulli(mean)))
                })
                .collect(),
            Kind::SquareRoots { means } => {
                let root = |(position, mean): (usize, &f64)| Ok(task(position, Curve::power(0.5, 1.0)?, bernoulli(*mean)));
                means.iter().enumerate().map(root).collect()
            }
            Kind::MSet { tasks, plays } => {
                let means = m_set_means(*tasks);
                let at = 1.0 / *plays as f64;
                means.iter().enumerate().map(|(position, mean)| Ok(task(position, Curve::threshold(at)?, bernoulli(*mean)))).collect()
            }
            Kind::SaturatingJobs { full_at } => {
                let job = |(position, full_at): (usize, &f64)| {
                    Ok(task(position, Curve::saturating(*full_at)?, RewardLaw::Constant { mean: 1.0 }))
                };
                full_at.iter().enumerate().map(job).collect()
            }
            Kind::Theorem2 { horizon: fixed } => {
                let gap = rooted(fixed.or(Some(horizon))).powf(-0.25) / 6.0;
                [0.5 + gap, 0.5 - gap]
                    .iter()
                    .enumerate()
                    .map(|(position, mean)| Ok(task(position, Curve::power(0.5, 1.0)?, bernoulli(*mean))))
                    .collect()
            }
            Kind::Theorem4 { pairs, horizon: fixed } => {
                let gap = rooted(fixed.or(Some(horizon))).powf(-0.5);
                let at = 1.0 / *pairs as f64;
                let draws = Draws::new(seed, Purpose::Instance);
                let better = |pair: usize| usize::from(draws.round(pair as u64).uniform(0) >= 0.5);
                let mean = |position: usize| if position % 2 == better(position / 2) { 0.5 + gap } else { 0.5 };
                (0..2 * pairs).map(|position| Ok(task(position, Curve::threshold(at)?, bernoulli(mean(position))))).collect()
            }
        }
    }
}

/// Exponents .3 to .7; the steeper the start, the better the task.
fn power_task(position: usize, tasks: usize) -> (f64, f64) {
    const FIVE: [(f64, f64); 5] = [(0.3, 0.9), (0.4, 0.7), (0.5, 0.5), (0.6, 0.4), (0.7, 0.2)];
    if tasks == FIVE.len() {
        return FIVE[position];
    }
    let place = if tasks > 1 { position as f64 / (tasks - 1) as f64 } else { 0.0 };
    (0.3 + 0.4 * place, 0.9 - 0.7 * place)
}

/// Means between .2 and .8; ten of them in a fixed disorder, other numbers evenly spaced.
fn m_set_means(tasks: usize) -> Vec<f64> {
    const TEN: [f64; 10] = [0.30, 0.70, 0.45, 0.60, 0.20, 0.55, 0.80, 0.40, 0.65, 0.50];
    if tasks == TEN.len() {
        return TEN.to_vec();
    }
    let place = |position: usize| if tasks > 1 { position as f64 / (tasks - 1) as f64 } else { 0.0 };
    (0..tasks).map(|position| 0.8 - 0.6 * place(position)).collect()
}
