//! Arguments of `outlay status`.

use std::path::PathBuf;

use clap::Args;

use crate::output::Format;

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// State file
    #[arg(value_name = "STATE")]
    pub(crate) state: PathBuf,

    /// Also write an HTML report to this file: past and next spends, curves, marginal returns,
    /// other budgets
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}
