//! Arguments of `outlay bound`.

use std::path::PathBuf;

use clap::Args;

use super::number::share;
use crate::output::Format;

#[derive(Debug, Args)]
pub(crate) struct BoundArgs {
    /// Problem file, or the name of a built-in instance: power, m-set:tasks=10,plays=3
    #[arg(value_name = "PROBLEM")]
    pub(crate) problem: String,

    /// Number of rounds [default: from the problem file, else 10000]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) horizon: Option<u64>,

    /// Folder of an `outlay simulate` run of this problem: compares the measured regret with the
    /// bounds
    #[arg(long, value_name = "DIR")]
    pub(crate) run: Option<PathBuf>,

    /// Budget share ε above which slopes and curvatures are reported [default: the smallest share
    /// in Theorem 1]
    #[arg(long, value_parser = share, allow_negative_numbers = true)]
    pub(crate) share: Option<f64>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}
