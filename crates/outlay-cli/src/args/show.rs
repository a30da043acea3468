//! Arguments of `outlay show`.

use std::path::PathBuf;

use clap::Args;

use crate::output::Format;

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// State file
    #[arg(value_name = "STATE")]
    pub(crate) state: PathBuf,

    /// Round to print
    #[arg(value_name = "ROUND", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) round: u64,

    /// Output format; csv prints a form to fill in for `outlay tell`
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}
