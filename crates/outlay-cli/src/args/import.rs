//! Arguments of `outlay import`.

use std::path::PathBuf;

use clap::Args;

use super::ExistingStoreArgs;

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// File written by `outlay export`; - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) store: ExistingStoreArgs,

    /// Allow file systems that can lose acknowledged writes: in-memory and network file systems
    #[arg(long)]
    pub(crate) any_file_system: bool,
}
