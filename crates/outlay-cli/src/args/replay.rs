//! Arguments of `outlay replay`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use outlay::replay::Order;

use super::MAX_REPLICATIONS;
use super::csv::OutcomeCsvArgs;
use crate::output::Format;

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// Problem file with the budget, the tasks and the curves that the learners assume; or the
    /// name of a built-in instance
    #[arg(value_name = "PROBLEM")]
    pub(crate) problem: PathBuf,

    /// CSV file with the recorded rows, in recorded order; - for standard input
    #[arg(value_name = "RUNS")]
    pub(crate) runs: PathBuf,

    /// Column with the task's name; item,days joins two columns with a space
    #[arg(long, value_name = "COLUMN", default_value = "task")]
    pub(crate) task: String,

    /// Column with the spend that success required [default: threshold]
    #[arg(long, value_name = "COLUMN", conflicts_with_all = ["spend", "success"])]
    pub(crate) threshold: Option<String>,

    /// Column with the spend, if the spend that success required is unknown [default: spend]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) spend: Option<String>,

    /// Column with the outcome of that spend: 1 for success, 0 for failure [default: success]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) success: Option<String>,

    /// Column with the reward, in the problem's unit; may be empty for failures
    #[arg(long, value_name = "COLUMN", default_value = "reward")]
    pub(crate) reward: String,

    #[command(flatten)]
    pub(crate) csv: OutcomeCsvArgs,

    /// Learner to run, as name or name:key=value,key=value; may be repeated [default: kl-ucb-plus,
    /// algorithm-1, uniform]
    #[arg(long = "learner", value_name = "LEARNER")]
    pub(crate) learners: Vec<String>,

    /// Number of rounds [default: from the problem file, else 1000; in recorded order, the
    /// smallest number of rows of a task]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rounds: Option<u64>,

    /// Number of replications for each learner [default: 100; in recorded order, 1]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=MAX_REPLICATIONS))]
    pub(crate) replications: Option<u64>,

    /// Seed of the first replication; later replications use consecutive seeds
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,

    /// Order in which the rows of a task are used
    #[arg(long, value_enum, default_value_t = OrderChoice::Shuffled)]
    pub(crate) order: OrderChoice,

    /// Number of replications to run in parallel; does not affect the results [default: number of
    /// cores]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,

    /// Also write an HTML report to this file: regret, dependence, drift, curves against the record
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OrderChoice {
    /// In recorded order, starting over after the last row
    Recorded,
    /// One row drawn per round, with replacement
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
