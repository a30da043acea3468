//! Arguments of `outlay campaign`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::TokenStoreArgs;

#[derive(Debug, Args)]
pub(crate) struct CampaignArgs {
    #[command(subcommand)]
    pub(crate) command: CampaignCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CampaignCommand {
    /// Replace the problem of a campaign and keep what was learned
    ///
    /// Tasks are matched by name: those that the new problem lacks are retired, and new ones are
    /// added. Rounds that were issued before keep their tasks, spends and curves.
    Amend(CampaignAmendArgs),
    /// Delete a campaign with its rounds and outcomes; this cannot be undone
    Delete(CampaignDeleteArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CampaignAmendArgs {
    /// Id of the campaign
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// The whole new problem: a file, or - for standard input
    #[arg(value_name = "PROBLEM")]
    pub(crate) problem: PathBuf,

    #[command(flatten)]
    pub(crate) store: TokenStoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CampaignDeleteArgs {
    /// Id of the campaign
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    #[command(flatten)]
    pub(crate) store: TokenStoreArgs,

    /// Delete the campaign even if it is not closed
    #[arg(long)]
    pub(crate) force: bool,
}
