//! Arguments of `outlay evaluate`.

use std::path::PathBuf;

use clap::Args;

use super::SolveArgs;
use super::csv::DecimalArgs;
use super::number::non_negative;

#[derive(Debug, Args)]
pub(crate) struct EvaluateArgs {
    #[command(flatten)]
    pub(crate) solve: SolveArgs,

    /// Budget of one round, instead of the problem's; the curves do not change
    #[arg(long, value_parser = non_negative, allow_negative_numbers = true)]
    pub(crate) budget: Option<f64>,

    /// CSV file with the columns task and spend, one row per task [default: the tasks' `current`
    /// spends]
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) csv: DecimalArgs,
}
