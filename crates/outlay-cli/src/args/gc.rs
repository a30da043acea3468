//! Arguments of `outlay gc`.

use clap::Args;

use super::TokenStoreArgs;
use super::token::seconds;
use crate::output::Format;

#[derive(Debug, Args)]
pub(crate) struct GcArgs {
    #[command(flatten)]
    pub(crate) store: TokenStoreArgs,

    /// Replace rounds that expired longer ago than this by their counts: 90d, 12h [default: keep
    /// all rounds]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub(crate) retain: Option<u64>,

    /// Only count the rounds; change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}
