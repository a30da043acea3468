//! Arguments of `outlay next`.

use std::path::PathBuf;

use clap::Args;

use super::number::non_negative;
use crate::output::Format;

#[derive(Debug, Args)]
pub(crate) struct NextArgs {
    /// State file
    #[arg(value_name = "STATE")]
    pub(crate) state: PathBuf,

    /// Budget of this round [default: the problem's budget]
    #[arg(long, value_parser = non_negative, allow_negative_numbers = true)]
    pub(crate) budget: Option<f64>,

    /// Task that is unavailable in this round; may be repeated
    #[arg(long, value_name = "TASK")]
    pub(crate) without: Vec<String>,

    /// Output format; csv prints a form to fill in for `outlay tell`
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}
