//! Opening the store of a service.

use std::path::Path;
use std::sync::Arc;

use outlay_server::store::{
    MemoryStore, PostgresOptions, PostgresStore, SqliteOptions, SqliteStore, Store, StoreError,
};

use crate::args::{StoreArgs, TokenStoreArgs};
use crate::failure::Failure;

/// Folder of the store if none is given.
const DEFAULT_FOLDER: &str = "outlay-data";

/// Opens the selected store; blocks the thread.
pub(crate) fn open(
    arguments: &StoreArgs,
    any_file_system: bool,
) -> Result<Arc<dyn Store>, Failure> {
    if arguments.memory {
        return Ok(Arc::new(MemoryStore::new()));
    }
    match arguments.database() {
        Some(url) => database(&url),
        None => folder(folder_or_default(arguments.data.as_deref()), any_file_system),
    }
}

/// True if the store may contain tokens. The store is not opened, because that could create it.
pub(crate) fn may_have_tokens(arguments: &StoreArgs) -> bool {
    !arguments.memory
        && (arguments.database().is_some()
            || SqliteStore::is_in(folder_or_default(arguments.data.as_deref())))
}

/// The given folder, or the default one.
pub(crate) fn folder_or_default(folder: Option<&Path>) -> &Path {
    folder.unwrap_or(Path::new(DEFAULT_FOLDER))
}

/// Opens the store in a folder and creates it if necessary.
pub(crate) fn folder(folder: &Path, any_file_system: bool) -> Result<Arc<dyn Store>, Failure> {
    let options = SqliteOptions { any_file_system, ..SqliteOptions::default() };
    Ok(Arc::new(SqliteStore::open(folder, &options).map_err(failure)?))
}

/// Opens the store in a PostgreSQL database and creates it if necessary.
pub(crate) fn database(url: &str) -> Result<Arc<dyn Store>, Failure> {
    Ok(Arc::new(PostgresStore::open(PostgresOptions::new(url)).map_err(failure)?))
}

/// Opens the existing store in a PostgreSQL database.
pub(crate) fn existing_database(url: &str) -> Result<Arc<dyn Store>, Failure> {
    Ok(Arc::new(PostgresStore::open_existing(PostgresOptions::new(url)).map_err(failure)?))
}

/// Opens an existing store of a service; in a folder only if the service is not running.
pub(crate) fn existing(source: &TokenStoreArgs) -> Result<Arc<dyn Store>, Failure> {
    if let Some(url) = source.database() {
        return existing_database(&url);
    }
    // Only `outlay serve` checks the file system.
    let options = SqliteOptions { any_file_system: true, ..SqliteOptions::default() };
    let opened = SqliteStore::open(existing_folder(source.data.as_deref())?, &options);
    Ok(Arc::new(opened.map_err(|error| not_running(&error))?))
}

/// The folder of an existing store.
pub(crate) fn existing_folder(folder: Option<&Path>) -> Result<&Path, Failure> {
    let folder = folder_or_default(folder);
    if SqliteStore::is_in(folder) {
        return Ok(folder);
    }
    Err(Failure(format!("{} has no store; `outlay serve` creates one", folder.display())))
}

/// Why a folder cannot be opened, with what to do if its service is running.
pub(crate) fn not_running(error: &StoreError) -> Failure {
    let hint = "if the service is running, use --url http://127.0.0.1:7341";
    Failure(format!("{}\n  {hint}", error.what))
}

fn failure(error: StoreError) -> Failure {
    Failure(error.what)
}
