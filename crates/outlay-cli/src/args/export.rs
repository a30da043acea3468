//! Arguments of `outlay export`.

use std::path::PathBuf;

use clap::Args;

use super::ExistingStoreArgs;

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// File to write; - for standard output
    #[arg(value_name = "FILE", default_value = "-")]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) store: ExistingStoreArgs,
}
