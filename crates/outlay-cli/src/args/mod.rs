//! Command-line arguments: one file per command, and the parts that several commands share.

mod allocate;
mod amend;
#[cfg(feature = "serve")]
mod backup;
mod bound;
#[cfg(feature = "serve")]
mod campaign;
mod cancel;
mod check;
mod csv;
#[cfg(feature = "serve")]
mod demo;
mod evaluate;
#[cfg(feature = "serve")]
mod export;
mod fit;
mod frontier;
#[cfg(feature = "serve")]
mod gc;
#[cfg(feature = "serve")]
mod import;
mod new;
mod next;
mod number;
mod replay;
mod reproduce;
#[cfg(feature = "serve")]
mod restore;
#[cfg(feature = "serve")]
mod serve;
mod show;
mod simulate;
mod solve;
mod status;
#[cfg(feature = "serve")]
mod store;
mod tell;
#[cfg(feature = "serve")]
mod token;
mod undo;
#[cfg(feature = "serve")]
mod verify;

pub(crate) use allocate::AllocateArgs;
pub(crate) use amend::AmendArgs;
#[cfg(feature = "serve")]
pub(crate) use backup::BackupArgs;
pub(crate) use bound::BoundArgs;
#[cfg(feature = "serve")]
pub(crate) use campaign::{CampaignAmendArgs, CampaignArgs, CampaignCommand, CampaignDeleteArgs};
pub(crate) use cancel::CancelArgs;
pub(crate) use check::CheckArgs;
#[cfg(feature = "serve")]
pub(crate) use demo::DemoArgs;
pub(crate) use evaluate::EvaluateArgs;
#[cfg(feature = "serve")]
pub(crate) use export::ExportArgs;
pub(crate) use fit::{FamilyChoice, FitArgs};
pub(crate) use frontier::FrontierArgs;
#[cfg(feature = "serve")]
pub(crate) use gc::GcArgs;
#[cfg(feature = "serve")]
pub(crate) use import::ImportArgs;
pub(crate) use new::NewArgs;
pub(crate) use next::NextArgs;
pub(crate) use replay::{ReplayArgs, SplitAt};
pub(crate) use reproduce::ReproduceArgs;
#[cfg(feature = "serve")]
pub(crate) use restore::RestoreArgs;
#[cfg(feature = "serve")]
pub(crate) use serve::{LogFormat, LogLevel, ServeArgs, Switch};
pub(crate) use show::ShowArgs;
pub(crate) use simulate::SimulateArgs;
pub(crate) use solve::SolveArgs;
pub(crate) use status::StatusArgs;
#[cfg(feature = "serve")]
pub(crate) use store::{ExistingStoreArgs, StoreArgs};
pub(crate) use tell::TellArgs;
#[cfg(feature = "serve")]
pub(crate) use token::{TokenArgs, TokenCommand, TokenCreateArgs, TokenStoreArgs, seconds};
pub(crate) use undo::UndoArgs;
#[cfg(feature = "serve")]
pub(crate) use verify::VerifyArgs;

use clap::{Parser, Subcommand};

/// Largest accepted number of replications. It guards against typing errors that would exhaust
/// the memory.
pub(crate) const MAX_REPLICATIONS: u64 = 1_000_000;

/// Allocate a budget across tasks whose success probability increases with the spend, and report
/// how close the allocation is to the optimum
#[derive(Debug, Parser)]
#[command(name = "outlay", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Print results only, without remarks or progress
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compute the optimal split of the budget, with an upper bound on the value of any split
    Allocate(AllocateArgs),
    /// Compare a plan with the optimal split and show which spends to change
    ///
    /// Exit code 1 if the plan violates the budget or a bound.
    Evaluate(EvaluateArgs),
    /// Compute the optimal value and the shadow price for a range of budgets
    Frontier(FrontierArgs),
    /// Validate a problem: report curve shapes, bounds and which guarantees apply, or list all
    /// errors
    Check(CheckArgs),
    /// Fit curves to a log of spends and successes: a problem file, and how reliable it is
    Fit(FitArgs),
    /// Compute the regret bounds that apply to a problem and report which are non-vacuous
    Bound(BoundArgs),
    /// Simulate learners on problems whose values are unknown to them, and compare their regret
    ///
    /// If a run is interrupted with Ctrl-C, finished replications are kept (exit code 130); the
    /// same command resumes it.
    Simulate(SimulateArgs),
    /// Run learners on recorded outcomes, compare them with the best fixed split in hindsight, and
    /// test the model's assumptions on the record
    ///
    /// Each row holds either the spend that success required (columns task, threshold, reward) or
    /// an observed outcome (columns task, spend, success, reward).
    Replay(ReplayArgs),
    /// Run the experiments behind the paper's theorems and our own claims: figures, tables,
    /// verdicts
    ///
    /// Exit code 1 if a verdict is `not shown`. If interrupted with Ctrl-C, finished replications
    /// are kept (exit code 130); the same command resumes the run.
    Reproduce(ReproduceArgs),
    /// Start a daily loop: create a state file that plans each round and learns from its outcomes
    New(NewArgs),
    /// Plan the next round; the split is saved before it is printed
    Next(NextArgs),
    /// Print an issued round again
    Show(ShowArgs),
    /// Cancel a round that was not played, for example because its output was lost
    Cancel(CancelArgs),
    /// Report outcomes; partial, late and repeated rows are accepted, contradictions are rejected
    Tell(TellArgs),
    /// Show the state: spend and outcomes of each task, open rounds, and whether the curves fit
    /// the outcomes
    Status(StatusArgs),
    /// Change the problem of a running loop: add and retire tasks, replace curves, bounds and the
    /// budget; what was learned stays
    Amend(AmendArgs),
    /// Undo the last `tell`, or the last `amend` if no round was planned since
    Undo(UndoArgs),
    /// Serve campaigns over HTTP, so that several clients share one learner
    ///
    /// Prints its address and runs until it is stopped. Exit code 1 if the store fails;
    /// acknowledged requests are not lost.
    #[cfg(feature = "serve")]
    Serve(ServeArgs),
    /// Create, list and revoke the access tokens of a service
    #[cfg(feature = "serve")]
    Token(TokenArgs),
    /// Start a service with a demonstration campaign on recorded auctions, and print the address
    /// of its dashboard
    #[cfg(feature = "serve")]
    Demo(DemoArgs),
    /// Copy the store of a service, which may be running, and check the copy
    #[cfg(feature = "serve")]
    Backup(BackupArgs),
    /// Create a store from a backup after checking it; an existing store is never replaced
    #[cfg(feature = "serve")]
    Restore(RestoreArgs),
    /// Export a store as lines of JSON: campaigns, rounds, outcomes, corrections, and tokens
    /// without their secrets
    ///
    /// Idempotency keys are omitted, because they expire within a day.
    #[cfg(feature = "serve")]
    Export(ExportArgs),
    /// Import an export into an empty store, for example to move from a folder to PostgreSQL
    #[cfg(feature = "serve")]
    Import(ImportArgs),
    /// Recompute all counts of a store from its recorded feedback and compare them
    ///
    /// Exit code 1 if they differ or if the file is damaged.
    #[cfg(feature = "serve")]
    Verify(VerifyArgs),
    /// Free space in a store: replace old rounds by their counts, and remove deleted campaigns
    ///
    /// The counts, and so the next splits, stay the same. The file of a service that is not
    /// running is also rewritten without free pages.
    #[cfg(feature = "serve")]
    Gc(GcArgs),
    /// Amend or delete a campaign of a service
    #[cfg(feature = "serve")]
    Campaign(CampaignArgs),
    /// A command of the service, in a program without it
    #[cfg(not(feature = "serve"))]
    #[command(name = "serve", hide = true, disable_help_flag = true)]
    #[command(aliases = ["token", "demo", "backup", "restore", "export", "import", "verify"])]
    #[command(aliases = ["gc", "campaign"])]
    Service {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        ignored: Vec<std::ffi::OsString>,
    },
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn arguments_are_consistent() {
        Cli::command().debug_assert();
    }
}
