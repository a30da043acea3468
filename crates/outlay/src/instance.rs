//! Named problems, accepted wherever a problem file is: the instances of the paper and a few
//! examples.
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
use crate::parameters::{NameWithParameters, ParameterError};
use crate::problem::{Problem, ProblemErrors, ProblemSpec, RewardLaw, TaskSpec};
use crate::random::{Draws, Purpose};
use crate::text::one_line;

/// An instance that cannot be built.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InstanceError {
    /// The text does not name an instance or has invalid parameters.
    #[error("instance `{instance}`: {error}")]
    Invalid {
        /// The text, on one line.
        instance: String,
        /// The reason.
        error: ParameterError,
    },
    /// The problem is invalid.
    #[error("instance `{instance}`: {errors}")]
    Problem {
        /// The instance, on one line.
        instance: String,
        /// The errors of the problem.
        errors: ProblemErrors,
    },
    /// The horizon is too short for the instance.
    #[error("instance `{instance}`: needs a horizon of at least {shortest} rounds, not {horizon}")]
    HorizonTooShort {
        /// The instance, on one line.
        instance: String,
        /// The shortest horizon.
        shortest: u64,
        /// The horizon given.
        horizon: u64,
    },
    /// The gap makes a mean larger than 1.
    #[error(
        "instance `{instance}`: the better mean 1/2 + gap/√T would be {mean}: gap must be at most \
         {most} for {rounds} rounds"
    )]
    GapTooWide {
        /// The instance, on one line.
        instance: String,
        /// The mean that the gap would give.
        mean: f64,
        /// The largest gap.
        most: f64,
        /// The number of rounds.
        rounds: u64,
    },
}

/// The description of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstanceEntry {
    /// Its name.
    pub name: &'static str,
    /// Its parameters with their defaults.
    pub parameters: &'static str,
    /// A description.
    pub about: &'static str,
}

/// Every instance.
pub const INSTANCES: [InstanceEntry; 8] = [
    InstanceEntry {
        name: "power",
        parameters: "tasks=5",
        about: "power curves with exponents 0.3 to 0.7: strong diminishing returns (Theorem 1)",
    },
    InstanceEntry {
        name: "square-roots",
        parameters: "means=0.6;0.4",
        about: "F = √x: the best split is proportional to the squared means",
    },
    InstanceEntry {
        name: "m-set",
        parameters: "tasks=10,plays=3,gap=none",
        about: "thresholds at 1/plays of the budget: semi-bandits; with a gap, means 1/2 + gap and 1/2",
    },
    InstanceEntry {
        name: "k-armed",
        parameters: "tasks=10,gap=none",
        about: "thresholds at the whole budget: the classical bandit; with a gap, means 1/2 + gap and 1/2",
    },
    InstanceEntry {
        name: "saturating-jobs",
        parameters: "full_at=0.5;0.2;0.9;0.3;0.4",
        about: "min(1, x/full_at) and rewards of 1 (Lattimore et al. 2014, known difficulties)",
    },
    InstanceEntry {
        name: "theorem-2",
        parameters: "horizon=the run's",
        about: "two square roots, means 1/2 ± T^(-1/4)/6: regret √T under bandit feedback",
    },
    InstanceEntry {
        name: "theorem-4",
        parameters: "pairs=2,gap=1,horizon=the run's",
        about: "pairs of thresholds, one task of each better by gap/√T, drawn by the seed: regret K√T for any learner",
    },
    InstanceEntry {
        name: "unknown-thresholds",
        parameters: "bits=20",
        about: "thresholds b and 1 − b, drawn by the seed (Appendix A): no regret if known, regret T if not",
    },
];

/// The largest number of tasks or pairs of an instance.
const MAX_TASKS: u64 = 100_000;
/// The longest binary fraction b for which b and 1 − b are both exact floats.
const MAX_BITS: u64 = 52;
/// The largest gap of `theorem-4`; no horizon is long enough for a larger one.
const WIDEST_GAP: f64 = 1e10;

/// A problem by name. Some depend on the horizon; `theorem-4` and `unknown-thresholds` on the seed.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    text: String,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Power { tasks: usize },
    SquareRoots { means: Vec<f64> },
    MSet { tasks: usize, plays: usize, gap: Option<f64> },
    SaturatingJobs { full_at: Vec<f64> },
    Theorem2 { horizon: Option<u64> },
    Theorem4 { pairs: usize, gap: f64, horizon: Option<u64> },
    UnknownThresholds { bits: u32 },
}

impl FromStr for Instance {
    type Err = InstanceError;

    fn from_str(text: &str) -> Result<Self, InstanceError> {
        let kind = parse(text)
            .map_err(|error| InstanceError::Invalid { instance: one_line(text), error })?;
        Ok(Self { text: text.trim().to_owned(), kind })
    }
}

impl std::fmt::Display for Instance {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.text)
    }
}

fn parse(text: &str) -> Result<Kind, ParameterError> {
    let mut named = NameWithParameters::parse(text, &INSTANCES.map(|entry| entry.name))?;
    let count =
        |number: Option<u64>, default: usize| number.map_or(default, |number| number as usize);
    let kind = match named.name {
        "power" => Kind::Power { tasks: count(named.whole("tasks", 1..=MAX_TASKS)?, 5) },
        "square-roots" => Kind::SquareRoots {
            means: named.numbers("means", 0.0..=1.0)?.unwrap_or_else(|| vec![0.6, 0.4]),
        },
        "m-set" | "k-armed" => {
            let tasks = count(named.whole("tasks", 1..=MAX_TASKS)?, 10);
            let plays = if named.name == "m-set" {
                count(named.whole("plays", 1..=MAX_TASKS)?, 3)
            } else {
                1
            };
            if plays > tasks {
                return Err(ParameterError::TooManyPlays { plays, tasks });
            }
            Kind::MSet { tasks, plays, gap: named.positive("gap", 0.5)? }
        }
        "saturating-jobs" => {
            let default = || vec![0.5, 0.2, 0.9, 0.3, 0.4];
            Kind::SaturatingJobs {
                full_at: named.numbers("full_at", 1e-9..=1e9)?.unwrap_or_else(default),
            }
        }
        "theorem-2" => Kind::Theorem2 { horizon: named.whole("horizon", 4..=u64::MAX)? },
        "theorem-4" => Kind::Theorem4 {
            pairs: count(named.whole("pairs", 1..=MAX_TASKS)?, 2),
            gap: named.positive("gap", WIDEST_GAP)?.unwrap_or(1.0),
            horizon: named.whole("horizon", 16..=u64::MAX)?,
        },
        _ => Kind::UnknownThresholds {
            bits: named.whole("bits", 1..=MAX_BITS)?.map_or(20, |bits| bits as u32),
        },
    };
    named.finish()?;
    Ok(kind)
}

impl Instance {
    /// Whether the problem depends on the seed.
    #[must_use]
    pub fn depends_on_seed(&self) -> bool {
        matches!(self.kind, Kind::Theorem4 { .. } | Kind::UnknownThresholds { .. })
    }

    /// The problem for a horizon and a seed. The budget is 1.
    ///
    /// # Errors
    /// If the horizon is too short for the instance or its gap.
    pub fn problem(&self, horizon: u64, seed: u64) -> Result<Problem, InstanceError> {
        let instance = || one_line(&self.text);
        let shortest = match self.kind {
            Kind::Theorem2 { horizon: None } => 4,
            Kind::Theorem4 { horizon: None, .. } => 16,
            _ => 1,
        };
        if horizon < shortest {
            let instance = instance();
            return Err(InstanceError::HorizonTooShort { instance, shortest, horizon });
        }
        if let Kind::Theorem4 { gap, horizon: fixed, .. } = self.kind {
            let rounds = fixed.unwrap_or(horizon);
            let mean = 0.5 + theorem_4_gap(gap, rounds);
            if !(mean <= 1.0) {
                let most = 0.5 * (rounds as f64).sqrt();
                let instance = instance();
                return Err(InstanceError::GapTooWide { instance, mean, most, rounds });
            }
        }
        let spec = |tasks| ProblemSpec { tasks, horizon: Some(horizon), ..ProblemSpec::default() };
        let tasks = self.tasks(horizon, seed).map_err(ProblemErrors::from);
        let problem = tasks.and_then(|tasks| spec(tasks).check());
        problem.map_err(|errors| InstanceError::Problem { instance: instance(), errors })
    }

    fn tasks(&self, horizon: u64, seed: u64) -> Result<Vec<TaskSpec>, CurveError> {
        let curves: Vec<CurveAndReward> = match &self.kind {
            Kind::Power { tasks } => {
                let powers = (0..*tasks).map(|position| power_task(position, *tasks));
                powers
                    .map(|(exponent, mean)| (Curve::power(exponent, 1.0), bernoulli(mean)))
                    .collect()
            }
            Kind::SquareRoots { means } => square_roots(means),
            Kind::MSet { tasks, plays, gap } => {
                let means =
                    gap.map_or_else(|| m_set_means(*tasks), |gap| gap_means(*tasks, *plays, gap));
                thresholds(*plays, means)
            }
            Kind::SaturatingJobs { full_at } => {
                full_at.iter().map(|full_at| (Curve::saturating(*full_at), CERTAIN)).collect()
            }
            Kind::Theorem2 { horizon: fixed } => {
                let gap = (fixed.unwrap_or(horizon) as f64).powf(-0.25) / 6.0;
                square_roots(&[0.5 + gap, 0.5 - gap])
            }
            Kind::Theorem4 { pairs, gap, horizon: fixed } => {
                let gap = theorem_4_gap(*gap, fixed.unwrap_or(horizon));
                let draws = Draws::new(seed, Purpose::Instance);
                let better = |pair: usize| usize::from(draws.round(pair as u64).uniform(0) >= 0.5);
                let mean = |position: usize| {
                    if position % 2 == better(position / 2) { 0.5 + gap } else { 0.5 }
                };
                thresholds(*pairs, (0..2 * pairs).map(mean))
            }
            Kind::UnknownThresholds { bits } => {
                let b = drawn_threshold(*bits, seed);
                [b, 1.0 - b].into_iter().map(|at| (Curve::threshold(at), CERTAIN)).collect()
            }
        };
        let task = |(position, (curve, reward)): (usize, CurveAndReward)| {
            let task = TaskSpec::new(format!("task-{}", position + 1), curve?);
            Ok(TaskSpec { reward: Some(reward), ..task })
        };
        curves.into_iter().enumerate().map(task).collect()
    }
}

type CurveAndReward = (Result<Curve, CurveError>, RewardLaw);

/// A reward that is always the largest.
const CERTAIN: RewardLaw = RewardLaw::Constant { mean: 1.0 };

fn bernoulli(mean: f64) -> RewardLaw {
    RewardLaw::Bernoulli { mean }
}

/// Square roots of the budget's share, with these means.
fn square_roots(means: &[f64]) -> Vec<CurveAndReward> {
    means.iter().map(|mean| (Curve::power(0.5, 1.0), bernoulli(*mean))).collect()
}

/// Thresholds of which the budget reaches `plays`, with these means.
fn thresholds(plays: usize, means: impl IntoIterator<Item = f64>) -> Vec<CurveAndReward> {
    let at = 1.0 / plays as f64;
    means.into_iter().map(|mean| (Curve::threshold(at), bernoulli(mean))).collect()
}

/// How much better one task of a pair is in Theorem 4's instance, in multiples of 1/√T.
fn theorem_4_gap(gap: f64, horizon: u64) -> f64 {
    gap * (horizon as f64).powf(-0.5)
}

/// A binary fraction between 0 and 1 with exactly `bits` bits, at most 52. One minus it is exact,
/// too.
fn drawn_threshold(bits: u32, seed: u64) -> f64 {
    let drawn = Draws::new(seed, Purpose::Instance).round(1).bits(0) >> (64 - bits);
    (drawn | 1) as f64 / (1_u64 << bits) as f64
}

/// Exponents 0.3 to 0.7; tasks with smaller exponents have larger means.
fn power_task(position: usize, tasks: usize) -> (f64, f64) {
    const FIVE: [(f64, f64); 5] = [(0.3, 0.9), (0.4, 0.7), (0.5, 0.5), (0.6, 0.4), (0.7, 0.2)];
    if tasks == FIVE.len() {
        return FIVE[position];
    }
    let place = if tasks > 1 { position as f64 / (tasks - 1) as f64 } else { 0.0 };
    (0.3 + 0.4 * place, 0.9 - 0.7 * place)
}

/// The last `plays` tasks are better, all others are alike. The better ones come last because ties
/// go to the first task and must not help any learner.
fn gap_means(tasks: usize, plays: usize, gap: f64) -> Vec<f64> {
    (0..tasks).map(|position| if position + plays >= tasks { 0.5 + gap } else { 0.5 }).collect()
}

/// Means between 0.2 and 0.8: a fixed shuffled list for ten tasks, otherwise evenly spaced.
fn m_set_means(tasks: usize) -> Vec<f64> {
    const TEN: [f64; 10] = [0.30, 0.70, 0.45, 0.60, 0.20, 0.55, 0.80, 0.40, 0.65, 0.50];
    if tasks == TEN.len() {
        return TEN.to_vec();
    }
    let place =
        |position: usize| if tasks > 1 { position as f64 / (tasks - 1) as f64 } else { 0.0 };
    (0..tasks).map(|position| 0.8 - 0.6 * place(position)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str, horizon: u64, seed: u64) -> Problem {
        text.parse::<Instance>().unwrap().problem(horizon, seed).unwrap()
    }

    fn means(problem: &Problem) -> Vec<f64> {
        problem.tasks().iter().map(|task| task.reward().unwrap().mean()).collect()
    }

    fn thresholds(problem: &Problem) -> Vec<f64> {
        let at = |curve: &Curve| {
            (0..=1 << 12)
                .map(|step| f64::from(step) / 4096.0)
                .find(|spend| curve.success(*spend) > 0.5)
        };
        problem.tasks().iter().map(|task| at(task.curve()).unwrap()).collect()
    }

    #[test]
    fn drawn_thresholds_fill_the_budget_exactly() {
        let instance: Instance = "unknown-thresholds".parse().unwrap();
        assert!(instance.depends_on_seed());
        for bits in 1..=MAX_BITS as u32 {
            for seed in 0..50 {
                let b = drawn_threshold(bits, seed);
                assert!(b > 0.0 && b < 1.0 && b + (1.0 - b) == 1.0 && 1.0 - (1.0 - b) == b);
                let scaled = b * (1_u64 << bits) as f64;
                assert!(scaled.fract() == 0.0 && scaled % 2.0 == 1.0, "{bits} bits: {b}");
            }
        }
        let drawn = problem("unknown-thresholds:bits=10", 100, 5);
        let at = thresholds(&drawn);
        assert_eq!(at[0] + at[1], 1.0);
        assert_eq!(means(&drawn), [1.0, 1.0]);
        assert_ne!(at, thresholds(&problem("unknown-thresholds:bits=10", 100, 6)));
    }
}
