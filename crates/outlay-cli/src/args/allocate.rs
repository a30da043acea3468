//! Arguments of `outlay allocate`.

use clap::Args;

use super::SolveArgs;
use super::number::{non_negative, positive};

#[derive(Debug, Args)]
pub(crate) struct AllocateArgs {
    #[command(flatten)]
    pub(crate) solve: SolveArgs,

    /// Budget of one round, instead of the problem's; the curves do not change
    #[arg(long, value_parser = non_negative, allow_negative_numbers = true)]
    pub(crate) budget: Option<f64>,

    /// Round spends to multiples of this unit, and report the loss in value
    #[arg(long, value_name = "UNIT", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) round: Option<f64>,

    /// Spend on a task nothing or an amount within `covers`, the spends of the log that its curve
    /// was fitted to
    #[arg(long)]
    pub(crate) within_data: bool,

    /// Number of threads for problems with 100,000 tasks or more; does not affect the result
    /// [default: number of cores]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
}
