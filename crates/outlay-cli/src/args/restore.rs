//! Arguments of `outlay restore`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// Folder created by `outlay backup`
    #[arg(value_name = "BACKUP")]
    pub(crate) from: PathBuf,

    /// Folder of the service; it must not contain a store
    #[arg(long, value_name = "DIR", default_value = "outlay-data")]
    pub(crate) data: PathBuf,

    /// Allow file systems that can lose acknowledged writes: in-memory and network file systems
    #[arg(long)]
    pub(crate) any_file_system: bool,
}
