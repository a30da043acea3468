//! Arguments that select a store, shared by the commands of the service.

use std::path::PathBuf;

use clap::Args;

/// The store of a service to start.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct StoreArgs {
    /// Folder of the store; created if it does not exist [default: outlay-data]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,

    /// PostgreSQL database of the store: postgres://user:password@host/database [default: the
    /// environment variable OUTLAY_DATABASE, which keeps the password out of process listings]
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,

    /// Keep campaigns in memory only; they are lost when the service stops
    #[arg(long)]
    pub(crate) memory: bool,
}

impl StoreArgs {
    /// URL of the database, from the flag or the environment.
    pub(crate) fn database(&self) -> Option<String> {
        database_url(self.database.as_ref(), self.memory || self.data.is_some())
    }
}

/// An existing store of a service.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct ExistingStoreArgs {
    /// Folder of the service's store [default: outlay-data]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,

    /// PostgreSQL database of the service's store
    #[arg(long, value_name = "URL")]
    database: Option<String>,
}

impl ExistingStoreArgs {
    /// URL of the database, from the flag or the environment.
    pub(crate) fn database(&self) -> Option<String> {
        database_url(self.database.as_ref(), self.data.is_some())
    }
}

/// URL of the database: the flag, or the environment variable unless another store is selected.
pub(super) fn database_url(flag: Option<&String>, other_store: bool) -> Option<String> {
    flag.cloned().or_else(|| {
        std::env::var("OUTLAY_DATABASE").ok().filter(|url| !other_store && !url.is_empty())
    })
}
