//! Arguments shared by the commands that solve a known problem.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use outlay::{Leftover, Options, Problem};

use super::number::{non_negative, percentage};
use crate::output::Format;

/// Arguments of `allocate`, `evaluate` and `frontier`.
#[derive(Debug, Args)]
pub(crate) struct SolveArgs {
    /// Problem file (TOML, or JSON if its name ends in .json; - for standard input), or the name
    /// of a built-in instance: power, m-set:tasks=10,plays=3
    #[arg(value_name = "PROBLEM")]
    pub(crate) problem: PathBuf,

    /// Value of a success of each task: 0.6,0.4 in the order of the tasks, or
    /// search=0.6,social=0.4 for some of them
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) values: Option<String>,

    /// Relative optimality gap at which the search stops
    #[arg(long, default_value = "1e-9", value_parser = non_negative, allow_negative_numbers = true)]
    pub(crate) tolerance: f64,

    /// Use of budget that would not increase the value [default: from the problem file, else keep]
    #[arg(long, value_enum)]
    pub(crate) leftover: Option<LeftoverChoice>,

    /// Limits of tasks that replace their bounds: a TOML file with a table per task, or a CSV file
    /// with the column task, and min, max, fixed, exclude or at_least
    #[arg(long, value_name = "FILE")]
    pub(crate) limits: Option<PathBuf>,

    /// Keep every spend within this share of its `current`, such as 30%
    #[arg(long, value_name = "PERCENT", value_parser = percentage)]
    pub(crate) within: Option<f64>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,

    /// Also write an HTML report with figures to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
}

/// Use of budget that would not increase the value.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum LeftoverChoice {
    /// Leave it unspent and report it
    Keep,
    /// Spend it anyway
    Spend,
}

impl SolveArgs {
    /// Solver options from these arguments and the problem's defaults.
    pub(crate) fn options(&self, problem: &Problem) -> Options {
        Options {
            tolerance: self.tolerance,
            leftover: match self.leftover {
                Some(LeftoverChoice::Keep) => Leftover::Keep,
                Some(LeftoverChoice::Spend) => Leftover::Spend,
                None => problem.leftover(),
            },
            ..Options::default()
        }
    }
}
