//! Copies of a store: backups of the file itself, and exports that any store can read.
//!
//! A backup is for restoring the same store: bit-identical, and checked when it is made and when it
//! is restored. An export is for another store or another program: one line of JSON per event.

mod backup;
mod export;
mod import;
mod line;
mod restore;

pub use backup::{Manifest, backup, beside};
pub use export::export;
pub use import::{check_empty, import, survey};
pub use line::Contents;
pub use restore::restore;

use std::path::Path;

use crate::store::StoreError;

/// A failed copy; the message says what failed, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ArchiveError(pub String);

impl From<StoreError> for ArchiveError {
    fn from(error: StoreError) -> Self {
        Self(error.what)
    }
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> ArchiveError {
    ArchiveError(format!("cannot {what} {}: {error}", path.display()))
}
