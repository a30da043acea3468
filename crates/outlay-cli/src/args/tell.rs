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

    /// CSV file with the columns round, task, completed, reward; - for standard input
    #[arg(value_name = "OUTCOMES")]
    pub(crate) outcomes: PathBuf,

    #[command(flatten)]
    pub(crate) csv: OutcomeCsvArgs,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}
