//! Arguments of `outlay next`.

use std::path::PathBuf;

use clap::Args;

use super::number::{non_negative, positive, task_number};
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

    /// Scale of a task's curve in this round, such as search=1.3: success at spend x is that of the
    /// usual curve at x/1.3; may be repeated
    #[arg(long, value_name = "TASK=SCALE", value_parser = task_number)]
    pub(crate) scale: Vec<(String, f64)>,

    /// Volume of a task in this round, such as search=40; may be repeated
    #[arg(long, value_name = "TASK=VOLUME", value_parser = task_number)]
    pub(crate) volume: Vec<(String, f64)>,

    /// Key of the round, such as the date: a repeated command with the same key prints the same
    /// round instead of planning another one
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,

    /// Round the spends to multiples of this amount; the rounded spends are recorded
    #[arg(long, value_name = "UNIT", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) round: Option<f64>,

    /// Output format; csv prints a form to fill in for `outlay tell`
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}
