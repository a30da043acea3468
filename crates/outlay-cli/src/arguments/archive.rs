//! The arguments of backups and exports.

use std::path::PathBuf;

use clap::Args;

use super::serve::named_database;
use crate::report::Format;

#[derive(Debug, Args)]
pub(crate) struct BackupArguments {
    /// The folder to make; it must not be there yet
    #[arg(value_name = "BACKUP")]
    pub(crate) to: PathBuf,

    /// The folder of the service, whether it runs or not
    #[arg(long, value_name = "DIR", default_value = "outlay-data")]
    pub(crate) data: PathBuf,

    /// How to write the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArguments {
    /// The folder that `outlay backup` made
    #[arg(value_name = "BACKUP")]
    pub(crate) from: PathBuf,

    /// The folder of the service; it must not have a store yet
    #[arg(long, value_name = "DIR", default_value = "outlay-data")]
    pub(crate) data: PathBuf,

    /// Also on a file system that can lose what was acknowledged: in memory, or shared over a
    /// network
    #[arg(long)]
    pub(crate) any_file_system: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// The file to write; - for standard output
    #[arg(value_name = "FILE", default_value = "-")]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) place: StorePlace,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// The file that `outlay export` wrote; - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) place: StorePlace,

    /// Also on a file system that can lose what was acknowledged: in memory, or shared over a
    /// network
    #[arg(long)]
    pub(crate) any_file_system: bool,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    #[command(flatten)]
    pub(crate) place: StorePlace,

    /// How to write the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

/// Where campaigns are kept.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct StorePlace {
    /// The folder of a service [default: outlay-data]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,

    /// The PostgreSQL database of a service
    #[arg(long, value_name = "URL")]
    database: Option<String>,
}

impl StorePlace {
    /// The database that was asked for, here or in the environment.
    pub(crate) fn database(&self) -> Option<String> {
        named_database(self.database.as_ref(), self.data.is_some())
    }
}
