//! The arguments of every command.

#[cfg(feature = "serve")]
mod archive;
mod daily;
#[cfg(feature = "serve")]
mod demo;
mod fit;
mod replay;
#[cfg(feature = "serve")]
mod serve;

#[cfg(feature = "serve")]
pub(crate) use archive::{
    BackupArguments, ExportArguments, ImportArguments, RestoreArguments, StorePlace,
    VerifyArguments,
};
pub(crate) use daily::{
    NewArguments, NextArguments, StatusArguments, TellArguments, UndoArguments,
};
#[cfg(feature = "serve")]
pub(crate) use demo::DemoArguments;
pub(crate) use fit::{FamilyChoice, FitArguments};
pub(crate) use replay::ReplayArguments;
#[cfg(feature = "serve")]
pub(crate) use serve::{
    LogFormat, LogLevel, ServeArguments, StoreArguments, TokenArguments, TokenCommand,
    TokenCreateArguments, TokenPlace,
};

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use outlay::feedback::Feedback;
use outlay::{Leftover, Options, Problem};

use crate::report::Format;

/// Split a budget over tasks whose chance of success rises with what is spent on them, and say how
/// good the split is.
#[derive(Debug, Parser)]
#[command(name = "outlay", version, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Write results only: no remarks, no progress
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The best split of the budget, with a bound on how much better any split could be
    Allocate(AllocateArguments),
    /// What a plan is worth, what the best split is worth, and where to move
    ///
    /// Exit code 1 if the plan breaks the budget or a bound.
    Evaluate(EvaluateArguments),
    /// The best value and the price of budget, for a range of budgets
    Frontier(FrontierArguments),
    /// What the problem is: shapes, bounds, which guarantee holds; or every error at once
    Check(CheckArguments),
    /// Curves from a log of what was spent and whether it succeeded: a problem file, and how far to
    /// trust it
    Fit(FitArguments),
    /// What the theorems promise for a problem: every bound that covers it, and whether it says
    /// anything
    Bound(BoundArguments),
    /// Let learners play problems whose values they do not know, many times over, and compare what
    /// they lose
    ///
    /// Stopped with Ctrl-C, a run keeps what is finished (exit code 130); the same command goes on
    /// with it.
    Simulate(SimulateArguments),
    /// Let learners play recorded outcomes, compare them with the best split in hindsight, and say
    /// how far the record is from the model
    ///
    /// Rows say what success needed (columns task, threshold, reward) or what happened (task,
    /// spend, success, reward).
    Replay(ReplayArguments),
    /// Play the experiments behind the paper's theorems and our own claims, and judge each:
    /// figures, tables, verdicts
    ///
    /// Exit code 1 if a verdict is `not shown`. Stopped with Ctrl-C, it keeps what is finished
    /// (exit code 130); the same command goes on.
    Reproduce(ReproduceArguments),
    /// Start the daily loop: a state file that decides round by round and learns from what comes
    /// back
    New(NewArguments),
    /// The split of the next round, on record before it is shown
    Next(NextArguments),
    /// What came back: partial, late and repeated rows are fine, contradictions are refused
    Tell(TellArguments),
    /// Where things stand: what each task got and gave, what is open, whether the curves can be
    /// right
    Status(StatusArguments),
    /// Take back the last `tell`
    Undo(UndoArguments),
    /// Serve campaigns over HTTP: bidders, schedulers and dashboards share one learner
    ///
    /// Prints its address and runs until it is told to stop. Exit code 1 if the store fails;
    /// nothing acknowledged is lost.
    #[cfg(feature = "serve")]
    Serve(ServeArguments),
    /// Who may use the service: tokens made, listed and revoked
    #[cfg(feature = "serve")]
    Token(TokenArguments),
    /// See the service at work: it starts with a campaign that plays itself against real auctions,
    /// and prints the address of its page
    #[cfg(feature = "serve")]
    Demo(DemoArguments),
    /// Copy the store of a service, also while it runs, and check the copy
    #[cfg(feature = "serve")]
    Backup(BackupArguments),
    /// Make a store from a backup, once it has been checked; never over one that is there
    #[cfg(feature = "serve")]
    Restore(RestoreArguments),
    /// Everything that a service knows as lines of JSON: campaigns, rounds, outcomes, corrections,
    /// tokens without their secrets
    ///
    /// Idempotency keys are left out: they end within a day.
    #[cfg(feature = "serve")]
    Export(ExportArguments),
    /// Bring an export into an empty store; also the way from a folder to PostgreSQL
    #[cfg(feature = "serve")]
    Import(ImportArguments),
    /// Fold all feedback of a service again and compare it with the counts
    ///
    /// Exit code 1 if they differ, or if the file is damaged.
    #[cfg(feature = "serve")]
    Verify(VerifyArguments),
}

#[derive(Debug, Args)]
pub(crate) struct AllocateArguments {
    #[command(flatten)]
    pub(crate) solve: SolveArguments,

    /// What one round may spend, instead of the problem's budget; curves stay what they are
    #[arg(long, value_parser = amount, allow_negative_numbers = true)]
    pub(crate) budget: Option<f64>,

    /// Round spends to multiples of this, and say what that costs
    #[arg(long, value_name = "UNIT", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) round: Option<f64>,

    /// Threads for the split of 100,000 tasks or more; the answer is the same for any number
    /// [default: as many as there are cores]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
}

#[derive(Debug, Args)]
pub(crate) struct EvaluateArguments {
    #[command(flatten)]
    pub(crate) solve: SolveArguments,

    /// What one round may spend, instead of the problem's budget; curves stay what they are
    #[arg(long, value_parser = amount, allow_negative_numbers = true)]
    pub(crate) budget: Option<f64>,

    /// A CSV file with columns task and spend, one row a task [default: what the tasks' `current`
    /// says]
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct FrontierArguments {
    #[command(flatten)]
    pub(crate) solve: SolveArguments,

    /// The smallest budget [default: a tenth of the problem's, or what the tasks' min needs]
    #[arg(long, value_parser = amount, allow_negative_numbers = true)]
    pub(crate) from: Option<f64>,

    /// The largest budget [default: twice the problem's]
    #[arg(long, value_parser = amount, allow_negative_numbers = true)]
    pub(crate) to: Option<f64>,

    /// How many budgets, evenly spaced
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub(crate) points: u32,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// The problem file: TOML, JSON if its name ends in .json, - for standard input; or an instance
    /// by name: power, m-set:tasks=10,plays=3
    #[arg(value_name = "PROBLEM")]
    pub(crate) problem: PathBuf,

    /// How to write the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct BoundArguments {
    /// The problem file, or an instance by name: power, m-set:tasks=10,plays=3
    #[arg(value_name = "PROBLEM")]
    pub(crate) problem: String,

    /// Rounds [default: what the problem says, else 10000]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) horizon: Option<u64>,

    /// A folder of `outlay simulate` with this problem: what its learners lost, next to what they
    /// may lose
    #[arg(long, value_name = "DIR")]
    pub(crate) run: Option<PathBuf>,

    /// The share of the budget from which on slopes and bends are told [default: the least share of
    /// Theorem 1]
    #[arg(long, value_parser = share, allow_negative_numbers = true)]
    pub(crate) share: Option<f64>,

    /// How to write the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct SimulateArguments {
    /// Problem files as for the other commands, or instances by name: power, m-set:tasks=10,plays=3
    #[arg(value_name = "PROBLEM")]
    pub(crate) problems: Vec<String>,

    /// What to run as a TOML file; flags given here go before what it says
    #[arg(long, value_name = "FILE")]
    pub(crate) experiment: Option<PathBuf>,

    /// Who plays, as name or name:key=value,key=value; may be given several times [default:
    /// kl-ucb-plus, algorithm-1, uniform]
    #[arg(long = "learner", value_name = "LEARNER")]
    pub(crate) learners: Vec<String>,

    /// Rounds [default: what the problem says, else 10000]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) horizon: Option<u64>,

    /// How often each learner plays each problem [default: 100]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=MOST_REPLICATIONS))]
    pub(crate) replications: Option<u64>,

    /// Seed of the first replication; the next ones follow it [default: 1]
    #[arg(long)]
    pub(crate) seed: Option<u64>,

    /// What every learner is shown [default: each what it needs]
    #[arg(long, value_enum)]
    pub(crate) feedback: Option<FeedbackChoice>,

    /// One run for each value: tasks=2,5,10 of an instance, horizon=1000,10000, or a number in the
    /// problem file: budget=500,1000, task[*].curve.exponent=0.3,0.5
    #[arg(long, value_name = "PARAMETER=VALUES")]
    pub(crate) grid: Option<String>,

    /// How many replications run at the same time [default: as many as there are cores]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,

    /// Where to keep the run: checkpoint, results, report [default: for tables runs/ and a name,
    /// else nowhere]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// What there is: learners, laws of rewards, budgets and delays, instances
    #[arg(long)]
    pub(crate) list: bool,

    /// How to write the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct ReproduceArguments {
    /// Which claims, by name [default: all]
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,

    /// Shorter runs, fewer of them: two minutes instead of half an hour, on two cores
    #[arg(long)]
    pub(crate) quick: bool,

    /// How many replications run at the same time [default: as many as there are cores]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,

    /// Where to keep runs, pictures, index.html and results.json [default: runs/reproduce, or
    /// runs/reproduce-quick]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// What there is to reproduce: each claim with its criterion
    #[arg(long)]
    pub(crate) list: bool,

    /// How to write the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum FeedbackChoice {
    /// Which tasks succeeded, and the rewards of those
    Censored,
    /// Every reward, also those forgone
    Full,
    /// Only the sum of the rewards gained
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

/// More than this nobody waits for, and a slip of the finger must not ask for all memory.
pub(crate) const MOST_REPLICATIONS: u64 = 1_000_000;

/// What every command that solves takes.
#[derive(Debug, Args)]
pub(crate) struct SolveArguments {
    /// The problem file: TOML, JSON if its name ends in .json, - for standard input; or an instance
    /// by name: power, m-set:tasks=10,plays=3
    #[arg(value_name = "PROBLEM")]
    pub(crate) problem: PathBuf,

    /// What a success of each task is worth: 0.6,0.4 in the tasks' order, or search=0.6,social=0.4
    /// for some of them
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) values: Option<String>,

    /// Stop when no split can be better by more than this share of the value
    #[arg(long, default_value = "1e-9", value_parser = amount, allow_negative_numbers = true)]
    pub(crate) tolerance: f64,

    /// What happens to budget that buys nothing [default: what the problem says, else keep]
    #[arg(long, value_enum)]
    pub(crate) leftover: Option<LeftoverChoice>,

    /// How to write the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,

    /// Write the result as a page of HTML with pictures as well
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum LeftoverChoice {
    /// It stays unspent and is reported
    Keep,
    /// It is spent all the same
    Spend,
}

impl SolveArguments {
    /// How to solve, as asked for here or in the problem.
    pub(crate) fn options(&self, problem: &Problem) -> Options {
        Options {
            tolerance: self.tolerance,
            leftover: match self.leftover {
                Some(LeftoverChoice::Keep) => Leftover::Keep,
                Some(LeftoverChoice::Spend) => Leftover::Spend,
                None => problem.leftover(),
            },
            ..Options::default()
        }
    }
}

fn amount(text: &str) -> Result<f64, String> {
    number(text, "must be finite and not negative", |number| number >= 0.0)
}

fn share(text: &str) -> Result<f64, String> {
    number(text, "must be above 0 and at most 1", |number| number > 0.0 && number <= 1.0)
}

fn positive(text: &str) -> Result<f64, String> {
    number(text, "must be positive and finite", |number| number > 0.0)
}

fn number(text: &str, rule: &str, holds: impl Fn(f64) -> bool) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && holds(number) => Ok(number),
        Ok(_) => Err(rule.to_owned()),
        Err(_) => Err("not a number".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn arguments_are_consistent() {
        Arguments::command().debug_assert();
    }
}
