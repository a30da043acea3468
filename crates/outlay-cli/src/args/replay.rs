//! Arguments of `outlay replay`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use outlay::replay::Order;

use super::MAX_REPLICATIONS;
use super::csv::OutcomeCsvArgs;
use crate::input::date::Date;
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

    /// Column with the spend that success required [default: threshold]. Rows without success
    /// (--success) are censored there: they required more
    #[arg(long, value_name = "COLUMN", conflicts_with_all = ["spend", "count"])]
    pub(crate) threshold: Option<String>,

    /// Column with the spend, if the spend that success required is unknown [default: spend]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) spend: Option<String>,

    /// Column with the outcome of that spend: 1 for success, 0 for failure [default: success]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) success: Option<String>,

    /// Instead of --success: column with the number of completions at that spend, such as the
    /// conversions of a day
    #[arg(long, value_name = "COLUMN", conflicts_with = "success", requires = "revenue")]
    pub(crate) count: Option<String>,

    /// With --count: column with the total reward of the completions of the row
    #[arg(long, value_name = "COLUMN", requires = "count")]
    pub(crate) revenue: Option<String>,

    /// Column with the scale of the task's curve in the round of the row: a scale of 1.3 means that
    /// success took 1.3 times the usual spend [default: from [environment] of the problem, else 1]
    #[arg(long, value_name = "COLUMN", conflicts_with = "split_at")]
    pub(crate) scale: Option<String>,

    /// With --count: column with the volume of the task in the round of the row [default: from
    /// [environment] of the problem, else the task's volume]
    #[arg(long, value_name = "COLUMN", requires = "count", conflicts_with = "split_at")]
    pub(crate) volume: Option<String>,

    /// Fit curves and values to the rows before this date, or to this share of the rows of each
    /// task, and judge plan and learners on the others; a date requires --date
    #[arg(long, value_name = "DATE|SHARE")]
    pub(crate) split_at: Option<SplitAt>,

    /// Column with the date of the row, as 2026-11-18, for --split-at
    #[arg(long, value_name = "COLUMN", requires = "split_at")]
    pub(crate) date: Option<String>,

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

/// Where a record is divided.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum SplitAt {
    /// The first date of the second part.
    Date(Date),
    /// The share of the rows in the first part.
    Share(f64),
}

impl FromStr for SplitAt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(share) = text.parse::<f64>() {
            let is_share = share > 0.0 && share < 1.0;
            return is_share
                .then_some(Self::Share(share))
                .ok_or_else(|| "a share must be above 0 and below 1, such as 0.7".to_owned());
        }
        text.parse::<Date>()
            .map(Self::Date)
            .map_err(|_| "expected a date such as 2026-11-18 or a share such as 0.7".to_owned())
    }
}

impl std::fmt::Display for SplitAt {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Date(date) => date.fmt(formatter),
            Self::Share(share) => share.fmt(formatter),
        }
    }
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
