//! Arguments of `outlay verify`.

use clap::Args;

use super::ExistingStoreArgs;
use crate::output::Format;

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) store: ExistingStoreArgs,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}
