//! Which store it is to be.

use std::path::Path;
use std::sync::Arc;

use outlay_server::store::{MemoryStore, PostgresOptions, PostgresStore, SqliteOptions, SqliteStore, Store, StoreError};

use super::DEFAULT_FOLDER;
use crate::arguments::StoreArguments;
use crate::failure::Failure;

/// Opens the store that was asked for; blocks.
pub(super) fn open(arguments: &StoreArguments) -> Result<Arc<dyn Store>, Failure> {
    if arguments.memory {
        return Ok(Arc::new(MemoryStore::new()));
    }
    match arguments.database() {
        Some(url) => database(&url),
        None => folder(arguments.data.as_deref()),
    }
}

pub(super) fn folder(folder: Option<&Path>) -> Result<Arc<dyn Store>, Failure> {
    let folder = folder.unwrap_or(Path::new(DEFAULT_FOLDER));
    Ok(Arc::new(SqliteStore::open(folder, &SqliteOptions::default()).map_err(failure)?))
}

pub(super) fn database(url: &str) -> Result<Arc<dyn Store>, Failure> {
    Ok(Arc::new(PostgresStore::open(PostgresOptions::new(url)).map_err(failure)?))
}

fn failure(error: StoreError) -> Failure {
    Failure(error.what)
}
