//! Arguments of `outlay tell`.

use std::path::PathBuf;

use clap::Args;

use super::csv::OutcomeCsvArgs;
use crate::output::Format;

#[derive(Debug, Args)]
pub(crate) struct TellArgs {
    /// State file
    #[arg(value_name = "STATE")]
    pub(crate) state: PathBuf,

    /// CSV or JSON file with round, task, completed or completions, reward and spend; - for standard
    /// input
    #[arg(value_name = "OUTCOMES")]
    pub(crate) outcomes: PathBuf,

    /// Replace earlier outcomes that differ, instead of rejecting the file
    #[arg(long)]
    pub(crate) revise: bool,

    #[command(flatten)]
    pub(crate) csv: OutcomeCsvArgs,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}
