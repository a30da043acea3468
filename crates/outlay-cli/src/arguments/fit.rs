//! The arguments of `outlay fit`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use outlay::fit::{Choice, Family};

use super::positive;
use crate::report::Format;

#[derive(Debug, Args)]
pub(crate) struct FitArguments {
    /// The log: a CSV file with a header, - for standard input
    #[arg(value_name = "LOG")]
    pub(crate) log: PathBuf,

    /// The column of what was spent
    #[arg(long, value_name = "COLUMN", required_unless_present = "threshold")]
    pub(crate) spend: Option<String>,

    /// The column of whether it succeeded: 1 or 0 (or true, false, yes, no); with --trials, of how
    /// many did
    #[arg(long, value_name = "COLUMN", required_unless_present = "threshold")]
    pub(crate) success: Option<String>,

    /// The column of how often that was spent, if a row stands for several trials
    #[arg(long, value_name = "COLUMN", conflicts_with = "threshold")]
    pub(crate) trials: Option<String>,

    /// Instead of --spend: the column of what success would have needed, such as a closing price or
    /// a running time. Rows without success (--success) were stopped there: they needed more
    #[arg(long, value_name = "COLUMN", conflicts_with = "spend")]
    pub(crate) threshold: Option<String>,

    /// The column of the task, or several: item,days [default: one task, named as the file]
    #[arg(long = "task", value_name = "COLUMN", value_delimiter = ',')]
    pub(crate) tasks: Vec<String>,

    /// The column of a success's reward: its mean is the task's value
    #[arg(long, value_name = "COLUMN")]
    pub(crate) reward: Option<String>,

    /// The largest reward of one success, for the problem file [default: the largest seen]
    #[arg(long, value_name = "AMOUNT", value_parser = positive, allow_negative_numbers = true, requires = "reward")]
    pub(crate) reward_max: Option<f64>,

    /// The family of the curves
    #[arg(long, value_enum, default_value_t = FamilyChoice::Auto)]
    pub(crate) family: FamilyChoice,

    /// Fit the success that no spend exceeds as well; auto tries each family with and without
    #[arg(long, conflicts_with = "threshold")]
    pub(crate) ceiling: bool,

    /// Fit success at zero spend as well; it is in any case if the log has successes there
    #[arg(long, conflicts_with = "threshold")]
    pub(crate) floor: bool,

    /// What one round may spend, for the problem file [default: the largest amount in the log]
    #[arg(long, value_parser = positive, allow_negative_numbers = true)]
    pub(crate) budget: Option<f64>,

    /// Into how many parts a log is cut to judge curves by rows they have not seen
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(2..=100))]
    pub(crate) folds: u16,

    /// How many logs are drawn for the bands of the page
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u16).range(20..=10_000))]
    pub(crate) bootstrap: u16,

    /// Of everything that is drawn
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,

    /// How many tasks are fitted at the same time [default: as many as there are cores]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,

    /// Write the problem file here; JSON if the name ends in .json
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Replace the problem file if there is one
    #[arg(long, requires = "output")]
    pub(crate) overwrite: bool,

    /// Write a page with every curve, its data and its band here
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,

    /// How to write the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FamilyChoice {
    /// The simplest that describes unseen rows about as well as the best
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
    /// One step, with a chance of success on either side
    Threshold,
    /// Any nondecreasing curve, linear between points
    Monotone,
    /// The share of rows that needed no more; with --threshold, and the only one then
    Empirical,
}

impl From<FamilyChoice> for Choice {
    fn from(choice: FamilyChoice) -> Self {
        match choice {
            // Samples of what is needed have no other family to be compared with.
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
