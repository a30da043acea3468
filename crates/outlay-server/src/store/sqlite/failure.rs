//! What SQLite could not do, in a sentence.

use rusqlite::ErrorCode;

use crate::store::StoreError;

/// How every message about a full disk begins: nothing of the batch was kept, and it may be sent
/// again when there is room.
pub const DISK_FULL: &str = "the disk is full";

/// How every message about a file that is none, or not whole, begins.
pub(super) const DAMAGED: &str = "the file is damaged";

/// Nothing was to be written, or nothing of it was kept: the same may be tried again.
pub(super) fn passing(doing: &str, error: &rusqlite::Error) -> StoreError {
    let what = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => format!("{DISK_FULL}: cannot {doing}"),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            format!("{DAMAGED}: cannot {doing}: {error}; `outlay restore` brings back a backup")
        }
        _ => format!("cannot {doing}: {error}"),
    };
    StoreError { what, is_fatal: false }
}

/// The contents of the disk are unknown.
pub(super) fn lasting(doing: &str, error: &rusqlite::Error) -> StoreError {
    StoreError { is_fatal: true, ..passing(doing, error) }
}

/// Whether an error, met while writing and before anything could be committed, leaves the file as
/// it was. What is not known to do so does not: a failed sync may have thrown away what it did not
/// write.
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
        // Not SQLite but a number that does not fit.
        None => true,
    }
}

/// Something in the file that this program did not write.
pub(super) fn broken(what: &str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Blob, what.into())
}
