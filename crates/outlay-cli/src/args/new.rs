//! Arguments of `outlay new`.

use std::path::PathBuf;

use clap::Args;

use super::number::{non_negative, positive};
use crate::output::Format;

#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// State file to create; it must not exist
    #[arg(value_name = "STATE")]
    pub(crate) state: PathBuf,

    /// Problem file, or the name of a built-in instance; the state contains a copy of the problem
    #[arg(long, value_name = "PROBLEM")]
    pub(crate) problem: PathBuf,

    /// Learner, as name or name:key=value [default: kl-ucb-plus]
    #[arg(long, value_name = "LEARNER")]
    pub(crate) learner: Option<String>,

    /// Planned number of rounds, for learners that need it [default: from the problem file]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) horizon: Option<u64>,

    /// Seed of the learner's random numbers
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,

    /// Largest change of a task's spend from one round to the next
    #[arg(long, value_name = "AMOUNT", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) max_change: Option<f64>,

    /// Smallest spend of every task in every round
    #[arg(long, value_name = "AMOUNT", value_parser = non_negative, allow_negative_numbers = true)]
    pub(crate) floor: Option<f64>,

    /// Keep a task's previous spend if it would change by less than this
    #[arg(long, value_name = "AMOUNT", value_parser = non_negative, allow_negative_numbers = true)]
    pub(crate) min_move: Option<f64>,

    /// Start the learner from nothing, not from the completions that the tasks have seen
    #[arg(long)]
    pub(crate) ignore_seen: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}
