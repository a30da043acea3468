//! Where stores are opened: a new place is empty, and opening a place again finds what is in it.

use std::sync::Arc;

use outlay_server::store::{MemoryStore, SqliteOptions, SqliteStore, Store};
use tempfile::TempDir;

/// Opens the store that is kept there. The one opened before must have been dropped.
pub(crate) type Place = Box<dyn Fn() -> Arc<dyn Store>>;

/// Memory lasts as long as the place, so that it can be treated like all others.
pub(crate) fn memory() -> Place {
    let store = Arc::new(MemoryStore::new());
    Box::new(move || Arc::clone(&store) as Arc<dyn Store>)
}

/// A folder of its own, removed with the place.
pub(crate) fn sqlite() -> Place {
    let folder = folder();
    Box::new(move || Arc::new(SqliteStore::open(folder.path(), &any_file_system()).unwrap()))
}

pub(crate) fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Somebody's target folder may be in memory.
pub(crate) fn any_file_system() -> SqliteOptions {
    SqliteOptions { any_file_system: true, ..SqliteOptions::default() }
}
