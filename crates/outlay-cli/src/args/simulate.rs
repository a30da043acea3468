//! Arguments of `outlay simulate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use outlay::feedback::Feedback;

use super::MAX_REPLICATIONS;
use crate::output::Format;

#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// Problem files, or names of built-in instances: power, m-set:tasks=10,plays=3
    #[arg(value_name = "PROBLEM")]
    pub(crate) problems: Vec<String>,

    /// TOML file that describes the experiment; command-line flags override it
    #[arg(long, value_name = "FILE")]
    pub(crate) experiment: Option<PathBuf>,

    /// Learner to simulate, as name or name:key=value,key=value; may be repeated [default:
    /// kl-ucb-plus, algorithm-1, uniform]
    #[arg(long = "learner", value_name = "LEARNER")]
    pub(crate) learners: Vec<String>,

    /// Number of rounds [default: from the problem file, else 10000]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) horizon: Option<u64>,

    /// Number of replications for each learner and problem [default: 100]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=MAX_REPLICATIONS))]
    pub(crate) replications: Option<u64>,

    /// Seed of the first replication; later replications use consecutive seeds [default: 1]
    #[arg(long)]
    pub(crate) seed: Option<u64>,

    /// Feedback given to every learner [default: the least that each learner needs]
    #[arg(long, value_enum)]
    pub(crate) feedback: Option<FeedbackChoice>,

    /// Start the learners from nothing, not from the completions that the tasks have seen
    #[arg(long)]
    pub(crate) ignore_seen: bool,

    /// One run for each value: tasks=2,5,10 of an instance, horizon=1000,10000, or a number in the
    /// problem file: budget=500,1000, task[*].curve.exponent=0.3,0.5
    #[arg(long, value_name = "PARAMETER=VALUES")]
    pub(crate) grid: Option<String>,

    /// Number of replications to run in parallel; does not affect the results [default: number of
    /// cores]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,

    /// Folder for checkpoint, results and report [default: a folder under runs/ for table output,
    /// else none]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// List the learners, reward distributions, budget and delay models and built-in instances
    #[arg(long)]
    pub(crate) list: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

/// Feedback given to every learner.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum FeedbackChoice {
    /// Which tasks succeeded, and their rewards
    Censored,
    /// All rewards, including those of tasks that failed
    Full,
    /// The sum of the rewards gained
    Bandit,
}

impl From<FeedbackChoice> for Feedback {
    fn from(choice: FeedbackChoice) -> Self {
        match choice {
            FeedbackChoice::Censored => Self::Censored,
            FeedbackChoice::Full => Self::Full,
            FeedbackChoice::Bandit => Self::Bandit,
        }
    }
}
