//! Which store it is to be.

use std::path::Path;
use std::sync::Arc;

use outlay_server::store::{
    MemoryStore, PostgresOptions, PostgresStore, SqliteOptions, SqliteStore, Store, StoreError,
};

use crate::arguments::StoreArguments;
use crate::failure::Failure;

/// Where campaigns are kept if nothing is said.
const DEFAULT_FOLDER: &str = "outlay-data";

/// Opens the store that was asked for; blocks.
pub(super) fn open(
    arguments: &StoreArguments,
    any_file_system: bool,
) -> Result<Arc<dyn Store>, Failure> {
    if arguments.memory {
        return Ok(Arc::new(MemoryStore::new()));
    }
    match arguments.database() {
        Some(url) => database(&url),
        None => folder(named(arguments.data.as_deref()), any_file_system),
    }
}

/// Whether there may be tokens in it, as far as can be said without opening it, which may make it.
pub(super) fn may_have_tokens(arguments: &StoreArguments) -> bool {
    !arguments.memory
        && (arguments.database().is_some() || SqliteStore::is_in(named(arguments.data.as_deref())))
}

/// The folder that was asked for.
pub(crate) fn named(folder: Option<&Path>) -> &Path {
    folder.unwrap_or(Path::new(DEFAULT_FOLDER))
}

pub(super) fn folder(folder: &Path, any_file_system: bool) -> Result<Arc<dyn Store>, Failure> {
    let options = SqliteOptions { any_file_system, ..SqliteOptions::default() };
    Ok(Arc::new(SqliteStore::open(folder, &options).map_err(failure)?))
}

pub(crate) fn database(url: &str) -> Result<Arc<dyn Store>, Failure> {
    Ok(Arc::new(PostgresStore::open(PostgresOptions::new(url)).map_err(failure)?))
}

/// The store in a database that has one.
pub(crate) fn existing_database(url: &str) -> Result<Arc<dyn Store>, Failure> {
    Ok(Arc::new(PostgresStore::open_existing(PostgresOptions::new(url)).map_err(failure)?))
}

fn failure(error: StoreError) -> Failure {
    Failure(error.what)
}
