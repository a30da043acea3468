//! The report of fitted curves: a table, and each task's curve with its data.

mod drawing;
mod page;
mod problem;
mod text;

pub use drawing::Drawing;
pub use page::FitPage;
pub use problem::problem;
pub use text::{interval, p_value, parameters, warnings};

use outlay::fit::{CountLog, Fitted, Observations, Requirements, Rewards};

/// The caution in every output of a fit.
pub const CAUTION: &str = "Fitted curves are known only approximately. In the worst case unknown \
    curves cannot be learned safely: if a curve jumps, a small error in the position of the jump \
    can cost everything. Smooth curves are more forgiving.";

/// The log of one task.
#[derive(Debug)]
pub struct TaskLog {
    /// Name of the task.
    pub name: String,
    /// Its trials.
    pub data: TaskData,
    /// Rewards of its successes.
    pub rewards: Rewards,
}

/// The trials of one task.
#[derive(Debug)]
pub enum TaskData {
    /// Spends and whether they succeeded.
    Outcomes(Observations),
    /// Spends and the number of completions of each row.
    Counts(CountLog),
    /// Spends that success required, possibly censored.
    Requirements(Requirements),
}

impl TaskData {
    /// Number of trials, or of rows with counts.
    pub fn trials(&self) -> f64 {
        match self {
            Self::Counts(log) => log.rows(),
            Self::Outcomes(log) => log.trials(),
            Self::Requirements(requirements) => requirements.count(),
        }
    }

    /// Number of successes, of completions, or of uncensored requirements.
    pub fn successes(&self) -> f64 {
        match self {
            Self::Counts(log) => log.count(),
            Self::Outcomes(log) => log.successes(),
            Self::Requirements(requirements) => requirements.exact(),
        }
    }

    /// The largest amount.
    pub fn largest(&self) -> Option<f64> {
        match self {
            Self::Counts(log) => log.range().map(|(_, largest)| largest),
            Self::Outcomes(log) => log.range().map(|(_, largest)| largest),
            Self::Requirements(requirements) => requirements.largest(),
        }
    }

    /// Range of spends for which the log has information. A threshold gives information on every
    /// smaller spend and, if the largest is not censored, on every larger one.
    pub fn observed_range(&self) -> Option<(f64, f64)> {
        match self {
            Self::Counts(log) => log.range(),
            Self::Outcomes(log) => log.range(),
            Self::Requirements(requirements) => requirements.largest().map(|largest| {
                (0.0, if requirements.ends_censored() { largest } else { f64::INFINITY })
            }),
        }
    }
}

/// A task with its fitted curve.
#[derive(Debug)]
pub struct TaskFit {
    /// The log of the task.
    pub log: TaskLog,
    /// The fitted curve; absent if the log has no trials of the task.
    pub fitted: Option<Fitted>,
    /// The numbers of its figure, if it is drawn.
    pub drawing: Option<Drawing>,
}
