//! Arguments of `outlay allocate`.

use clap::Args;
use outlay::plan::Target;

use super::SolveArgs;
use super::number::{non_negative, positive};

#[derive(Debug, Args)]
pub(crate) struct AllocateArgs {
    #[command(flatten)]
    pub(crate) solve: SolveArgs,

    /// Budget of one round, instead of the problem's; the curves do not change. With a target, the
    /// largest spend
    #[arg(long, value_parser = non_negative, allow_negative_numbers = true)]
    pub(crate) budget: Option<f64>,

    /// Round spends to multiples of this unit, and report the loss in value
    #[arg(long, value_name = "UNIT", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) round: Option<f64>,

    /// Spend on a task nothing or an amount within `covers`, the spends of the log that its curve
    /// was fitted to
    #[arg(long)]
    pub(crate) within_data: bool,

    /// Instead of a budget, spend the least that is worth this per round
    #[arg(long, value_name = "VALUE", group = "target", value_parser = positive)]
    #[arg(allow_negative_numbers = true, conflicts_with = "round")]
    pub(crate) target_value: Option<f64>,

    /// Instead of a budget, spend the most that still returns this value per unit of spend
    #[arg(long, value_name = "RETURN", group = "target", value_parser = positive)]
    #[arg(allow_negative_numbers = true, conflicts_with = "round")]
    pub(crate) target_roas: Option<f64>,

    /// Instead of a budget, spend the most at which a completion costs at most this; the split
    /// maximises completions
    #[arg(long, value_name = "COST", group = "target", value_parser = positive)]
    #[arg(allow_negative_numbers = true, conflicts_with_all = ["round", "values"])]
    pub(crate) target_cpa: Option<f64>,

    /// Instead of a budget, spend until the next unit returns less than this value
    #[arg(long, value_name = "RETURN", group = "target", value_parser = positive)]
    #[arg(allow_negative_numbers = true, conflicts_with = "round")]
    pub(crate) marginal_return: Option<f64>,

    /// Number of threads for problems with 100,000 tasks or more; does not affect the result
    /// [default: number of cores]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
}

impl AllocateArgs {
    /// The target, if one is given.
    pub(crate) fn target(&self) -> Option<Target> {
        let targets = [
            self.target_value.map(Target::Value),
            self.target_roas.map(Target::ReturnOnSpend),
            self.target_cpa.map(Target::CostPerCompletion),
            self.marginal_return.map(Target::MarginalReturn),
        ];
        targets.into_iter().flatten().next()
    }
}
