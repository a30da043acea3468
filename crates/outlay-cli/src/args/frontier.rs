//! Arguments of `outlay frontier`.

use clap::Args;

use super::SolveArgs;
use super::number::non_negative;

#[derive(Debug, Args)]
pub(crate) struct FrontierArgs {
    #[command(flatten)]
    pub(crate) solve: SolveArgs,

    /// Smallest budget [default: a tenth of the problem's, or the sum of the tasks' min if larger]
    #[arg(long, value_parser = non_negative, allow_negative_numbers = true)]
    pub(crate) from: Option<f64>,

    /// Largest budget [default: twice the problem's]
    #[arg(long, value_parser = non_negative, allow_negative_numbers = true)]
    pub(crate) to: Option<f64>,

    /// Number of evenly spaced budgets
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub(crate) points: u32,
}
