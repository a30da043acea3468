//! Arguments of `outlay reproduce`.

use std::path::PathBuf;

use clap::Args;

use crate::output::Format;

#[derive(Debug, Args)]
pub(crate) struct ReproduceArgs {
    /// Names of the claims to test [default: all]
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,

    /// Use fewer and shorter runs: two minutes instead of half an hour on two cores
    #[arg(long)]
    pub(crate) quick: bool,

    /// Number of replications to run in parallel; does not affect the results [default: number of
    /// cores]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,

    /// Folder for runs, pictures, index.html and results.json [default: runs/reproduce, or
    /// runs/reproduce-quick]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// List the claims with their criteria
    #[arg(long)]
    pub(crate) list: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}
