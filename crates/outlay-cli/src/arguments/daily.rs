//! The arguments of the daily loop.

use std::path::PathBuf;

use clap::Args;

use super::{amount, positive};
use crate::report::Format;

#[derive(Debug, Args)]
pub(crate) struct NewArguments {
    /// The state file to make; it must not be there yet
    #[arg(value_name = "STATE")]
    pub(crate) state: PathBuf,

    /// The problem file, or an instance by name; the state keeps a copy of it
    #[arg(long, value_name = "PROBLEM")]
    pub(crate) problem: PathBuf,

    /// Who decides, as name or name:key=value [default: kl-ucb-plus]
    #[arg(long, value_name = "LEARNER")]
    pub(crate) learner: Option<String>,

    /// Rounds planned, for learners that must know [default: what the problem says]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) horizon: Option<u64>,

    /// Seed of the learner's own draws
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,

    /// No task's spend moves by more than this from one round to the next
    #[arg(long, value_name = "AMOUNT", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) max_change: Option<f64>,

    /// Every task gets at least this in every round
    #[arg(long, value_name = "AMOUNT", value_parser = amount, allow_negative_numbers = true)]
    pub(crate) floor: Option<f64>,

    /// A task whose spend would move by less than this keeps what it had
    #[arg(long, value_name = "AMOUNT", value_parser = amount, allow_negative_numbers = true)]
    pub(crate) min_move: Option<f64>,
}

#[derive(Debug, Args)]
pub(crate) struct NextArguments {
    /// The state file
    #[arg(value_name = "STATE")]
    pub(crate) state: PathBuf,

    /// What this round may spend [default: the problem's budget]
    #[arg(long, value_parser = amount, allow_negative_numbers = true)]
    pub(crate) budget: Option<f64>,

    /// A task that is not there in this round; may be given several times
    #[arg(long, value_name = "TASK")]
    pub(crate) without: Vec<String>,

    /// How to write the result; csv is a form to fill in for `outlay tell`
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct TellArguments {
    /// The state file
    #[arg(value_name = "STATE")]
    pub(crate) state: PathBuf,

    /// A CSV file with columns round, task, completed, reward; - for standard input
    #[arg(value_name = "OUTCOMES")]
    pub(crate) outcomes: PathBuf,

    /// How to write the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArguments {
    /// The state file
    #[arg(value_name = "STATE")]
    pub(crate) state: PathBuf,

    /// Also write a page of HTML: what was spent and what comes next, curves, marginal returns,
    /// other budgets
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,

    /// How to write the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct UndoArguments {
    /// The state file
    #[arg(value_name = "STATE")]
    pub(crate) state: PathBuf,
}
