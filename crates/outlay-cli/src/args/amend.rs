//! Arguments of `outlay amend`.

use std::path::PathBuf;

use clap::Args;

use crate::output::Format;

#[derive(Debug, Args)]
pub(crate) struct AmendArgs {
    /// State file
    #[arg(value_name = "STATE")]
    pub(crate) state: PathBuf,

    /// Problem file that replaces the problem of the state. Tasks are matched by name; those that it
    /// lacks are retired [default: the problem of the state]
    #[arg(value_name = "PROBLEM", required_unless_present = "retire")]
    pub(crate) problem: Option<PathBuf>,

    /// Retire this task; can be repeated
    #[arg(long, value_name = "TASK")]
    pub(crate) retire: Vec<String>,

    /// Show the difference, but do not change the state
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}
