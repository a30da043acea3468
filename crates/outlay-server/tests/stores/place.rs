//! Places in which stores are opened. A new place is empty; opening it again finds its contents.

use std::sync::Arc;

use outlay_server::store::{MemoryStore, SqliteOptions, SqliteStore, Store};
use tempfile::TempDir;

/// Opens the store kept in a place. The store opened before must have been dropped.
pub(crate) type Place = Box<dyn Fn() -> Arc<dyn Store>>;

/// An in-memory store that lasts as long as the place, like the other stores.
pub(crate) fn memory() -> Place {
    let store = Arc::new(MemoryStore::new());
    Box::new(move || Arc::clone(&store) as Arc<dyn Store>)
}

/// A store in a new folder, removed with the place.
pub(crate) fn sqlite() -> Place {
    let folder = folder();
    Box::new(move || Arc::new(SqliteStore::open(folder.path(), &any_file_system()).unwrap()))
}

pub(crate) fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Allows any file system: the target folder may be on one in memory.
pub(crate) fn any_file_system() -> SqliteOptions {
    SqliteOptions { any_file_system: true, ..SqliteOptions::default() }
}
