//! The arguments of `outlay replay`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use outlay::replay::Order;

use super::MOST_REPLICATIONS;
use crate::report::Format;

#[derive(Debug, Args)]
pub(crate) struct ReplayArguments {
    /// The problem file: budget, tasks, and the curves that learners take for true; or an instance
    /// by name
    #[arg(value_name = "PROBLEM")]
    pub(crate) problem: PathBuf,

    /// A CSV file of what was recorded, in its order; - for standard input
    #[arg(value_name = "RUNS")]
    pub(crate) runs: PathBuf,

    /// The column with the task's name; item,days joins two columns with a space
    #[arg(long, value_name = "COLUMN", default_value = "task")]
    pub(crate) task: String,

    /// The column with what success needed [default: threshold]
    #[arg(long, value_name = "COLUMN", conflicts_with_all = ["spend", "success"])]
    pub(crate) threshold: Option<String>,

    /// The column with what was spent, if nobody knows what success needed [default: spend]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) spend: Option<String>,

    /// The column that says whether that succeeded: 1 or 0 [default: success]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) success: Option<String>,

    /// The column with the reward, in the problem's unit; of failures in column success it may be
    /// empty
    #[arg(long, value_name = "COLUMN", default_value = "reward")]
    pub(crate) reward: String,

    /// Who plays, as name or name:key=value,key=value; may be given several times [default:
    /// kl-ucb-plus, algorithm-1, uniform]
    #[arg(long = "learner", value_name = "LEARNER")]
    pub(crate) learners: Vec<String>,

    /// Rounds [default: what the problem says, else 1000; in recorded order as many as the task
    /// with fewest rows has]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rounds: Option<u64>,

    /// How often each learner plays [default: 100; in recorded order 1]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=MOST_REPLICATIONS))]
    pub(crate) replications: Option<u64>,

    /// Seed of the first replication; the next ones follow it
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,

    /// Which row of a task a round replays
    #[arg(long, value_enum, default_value_t = OrderChoice::Shuffled)]
    pub(crate) order: OrderChoice,

    /// How many replications run at the same time [default: as many as there are cores]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,

    /// Write a page with pictures: regret, what depends on what, drift, curves against the record
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,

    /// How to write the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OrderChoice {
    /// One after the other, from the first again after the last
    Recorded,
    /// One drawn anew each round, with replacement
    Shuffled,
}

impl From<OrderChoice> for Order {
    fn from(choice: OrderChoice) -> Self {
        match choice {
            OrderChoice::Recorded => Self::Recorded,
            OrderChoice::Shuffled => Self::Shuffled,
        }
    }
}
