//! Errors of SQLite as messages, and whether they are fatal.

use rusqlite::ErrorCode;

use crate::store::StoreError;

/// Start of every message about a full disk. Nothing of the batch was stored, and it can be sent
/// again when there is space.
pub const DISK_FULL: &str = "the disk is full";

/// Start of every message about a corrupt file.
pub(super) const DAMAGED: &str = "the file is damaged";

/// An error after which the call can be repeated: it writes nothing, or nothing was stored.
pub(super) fn passing(doing: &str, error: &rusqlite::Error) -> StoreError {
    let what = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => format!("{DISK_FULL}: cannot {doing}"),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            format!("{DAMAGED}: cannot {doing}: {error}; restore a backup with `outlay restore`")
        }
        _ => format!("cannot {doing}: {error}"),
    };
    StoreError { what, is_fatal: false }
}

/// A fatal error: the contents of the disk are unknown.
pub(super) fn lasting(doing: &str, error: &rusqlite::Error) -> StoreError {
    StoreError { is_fatal: true, ..passing(doing, error) }
}

/// True if an error while writing, before the commit, is known to leave the file unchanged. A failed
/// sync is not harmless: the system may have discarded data.
pub(super) fn is_harmless(error: &rusqlite::Error) -> bool {
    use ErrorCode::{
        ConstraintViolation, DatabaseBusy, DatabaseLocked, DiskFull, OutOfMemory, TooBig,
        TypeMismatch,
    };
    match error.sqlite_error_code() {
        Some(code) => {
            matches!(
                code,
                ConstraintViolation
                    | DatabaseBusy
                    | DatabaseLocked
                    | DiskFull
                    | OutOfMemory
                    | TooBig
                    | TypeMismatch
            )
        }
        // Not an error of SQLite, but a number that does not fit.
        None => true,
    }
}

/// Data in the file that this program did not write.
pub(super) fn broken(what: &str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Blob, what.into())
}
