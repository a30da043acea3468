//! Arguments of `outlay campaign`.

use clap::{Args, Subcommand};

use super::TokenStoreArgs;

#[derive(Debug, Args)]
pub(crate) struct CampaignArgs {
    #[command(subcommand)]
    pub(crate) command: CampaignCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CampaignCommand {
    /// Delete a campaign with its rounds and outcomes; this cannot be undone
    Delete(CampaignDeleteArgs),
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
