//! Arguments of `outlay backup`.

use std::path::PathBuf;

use clap::Args;

use crate::output::Format;

#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// Folder to create for the backup; it must not exist
    #[arg(value_name = "BACKUP")]
    pub(crate) to: PathBuf,

    /// Folder of the service's store; the service may be running
    #[arg(long, value_name = "DIR", default_value = "outlay-data")]
    pub(crate) data: PathBuf,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}
