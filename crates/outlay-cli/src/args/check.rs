//! Arguments of `outlay check`.

use std::path::PathBuf;

use clap::Args;

use crate::output::Format;

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Problem file (TOML, or JSON if its name ends in .json; - for standard input), or the name
    /// of a built-in instance: power, m-set:tasks=10,plays=3
    #[arg(value_name = "PROBLEM")]
    pub(crate) problem: PathBuf,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}
