//! Arguments of `outlay fit`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use outlay::fit::{Choice, Family};

use super::csv::OutcomeCsvArgs;
use super::number::positive;
use crate::input::date::Date;
use crate::output::Format;

#[derive(Debug, Args)]
pub(crate) struct FitArgs {
    /// Log: a CSV file with a header; - for standard input
    #[arg(value_name = "LOG")]
    pub(crate) log: PathBuf,

    /// Column with the spend
    #[arg(long, value_name = "COLUMN", required_unless_present = "threshold")]
    pub(crate) spend: Option<String>,

    /// Column with the outcome: 1 or 0 (or true, false); with --trials, the number of successes
    #[arg(long, value_name = "COLUMN", required_unless_present_any = ["threshold", "count"])]
    pub(crate) success: Option<String>,

    /// Column with the number of trials, if a row summarises several
    #[arg(long, value_name = "COLUMN", conflicts_with = "threshold")]
    pub(crate) trials: Option<String>,

    /// Instead of --success: column with the number of completions of the row, such as the
    /// conversions of a day. The volume is fitted too
    #[arg(long, value_name = "COLUMN", conflicts_with_all = ["success", "trials", "threshold", "ceiling", "report"])]
    pub(crate) count: Option<String>,

    /// Column with the total reward of the completions of the row; revenue / count becomes the
    /// task's value
    #[arg(long, value_name = "COLUMN", requires = "count", group = "rewards")]
    pub(crate) revenue: Option<String>,

    /// Column with the date of the row, as 2026-11-18, for --since and --until
    #[arg(long, value_name = "COLUMN")]
    pub(crate) date: Option<String>,

    /// Ignore rows before this date
    #[arg(long, value_name = "DATE", requires = "date")]
    pub(crate) since: Option<Date>,

    /// Ignore rows after this date
    #[arg(long, value_name = "DATE", requires = "date")]
    pub(crate) until: Option<Date>,

    /// Instead of --spend: column with the spend that success required, such as a closing price or
    /// a running time. Rows without success (--success) are censored there: they required more
    #[arg(long, value_name = "COLUMN", conflicts_with = "spend")]
    pub(crate) threshold: Option<String>,

    /// Column with the task, or several joined columns: item,days [default: one task, named after
    /// the file]
    #[arg(long = "task", value_name = "COLUMN", value_delimiter = ',')]
    pub(crate) tasks: Vec<String>,

    /// Column with the reward of a success; its mean becomes the task's value
    #[arg(long, value_name = "COLUMN", conflicts_with = "count", group = "rewards")]
    pub(crate) reward: Option<String>,

    /// Largest reward of one success, for the problem file [default: the largest in the log]
    #[arg(long, value_name = "AMOUNT", value_parser = positive, allow_negative_numbers = true, requires = "rewards")]
    pub(crate) reward_max: Option<f64>,

    #[command(flatten)]
    pub(crate) csv: OutcomeCsvArgs,

    /// The log has one row per round and columns for each task, named by patterns: --spend
    /// '{task}_spend' --success '{task}_won'
    #[arg(long, conflicts_with = "tasks")]
    pub(crate) wide: bool,

    /// Family of the curves
    #[arg(long, value_enum, default_value_t = FamilyChoice::Auto)]
    pub(crate) family: FamilyChoice,

    /// Also fit the limit of the success probability; auto tries each family with and without it
    #[arg(long, conflicts_with = "threshold")]
    pub(crate) ceiling: bool,

    /// Also fit the success probability at zero spend; always fitted if the log has successes
    /// there, and with --count if it is significant
    #[arg(long, conflicts_with = "threshold")]
    pub(crate) floor: bool,

    /// Budget of one round, for the problem file [default: the largest amount in the log; with
    /// --count, the sum of the tasks' mean spends]
    #[arg(long, value_parser = positive, allow_negative_numbers = true)]
    pub(crate) budget: Option<f64>,

    /// Number of cross-validation folds
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(2..=100))]
    pub(crate) folds: u16,

    /// Number of bootstrap samples for the confidence bands of the report
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u16).range(20..=10_000))]
    pub(crate) bootstrap: u16,

    /// Seed of the folds and the bootstrap
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,

    /// Number of tasks to fit in parallel; does not affect the results [default: number of cores]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,

    /// Write the problem to this file; JSON if its name ends in .json
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Replace the problem file if it exists
    #[arg(long, requires = "output")]
    pub(crate) overwrite: bool,

    /// Update this problem file: replace curve, value, volume, current, covers and seen of the
    /// tasks in the log, and keep bounds, comments and everything else
    #[arg(long, value_name = "FILE", conflicts_with = "output")]
    pub(crate) update: Option<PathBuf>,

    /// With --update: report the changes, and write nothing
    #[arg(long, requires = "update", conflicts_with = "report")]
    pub(crate) dry_run: bool,

    /// Also write an HTML report to this file: every curve with its data and confidence band
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FamilyChoice {
    /// The simplest family that predicts held-out rows about as well as the best one
    Auto,
    /// min(1, (x/scale)^exponent)
    Power,
    /// min(1, x/full_at)
    Saturating,
    /// 1 − exp(−x/scale)
    Exponential,
    /// x^s / (x^s + h^s)
    Hill,
    /// A logistic curve that starts at zero
    Logistic,
    /// One step, with a success probability on either side
    Threshold,
    /// Any nondecreasing piecewise linear curve
    Monotone,
    /// The empirical distribution of the required spends; only with --threshold, and then the only
    /// family
    Empirical,
}

impl From<FamilyChoice> for Choice {
    fn from(choice: FamilyChoice) -> Self {
        match choice {
            // Samples of required spends are not compared with other families.
            FamilyChoice::Auto | FamilyChoice::Empirical => Self::Auto,
            FamilyChoice::Power => Self::One(Family::Power),
            FamilyChoice::Saturating => Self::One(Family::Saturating),
            FamilyChoice::Exponential => Self::One(Family::Exponential),
            FamilyChoice::Hill => Self::One(Family::Hill),
            FamilyChoice::Logistic => Self::One(Family::Logistic),
            FamilyChoice::Threshold => Self::One(Family::Threshold),
            FamilyChoice::Monotone => Self::One(Family::Monotone),
        }
    }
}
