//! The folder of a store: one process at a time serves it, on a disk that keeps what it is told to
//! keep.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::store::StoreError;

/// The name of the database in a folder, and in a backup.
pub(crate) const DATABASE: &str = "outlay.db";
const LOCK: &str = "outlay.lock";

/// The database in a folder.
pub(super) fn database(folder: &Path) -> PathBuf {
    folder.join(DATABASE)
}

/// Removes a store, and nothing else that is in the folder.
pub(super) fn remove(folder: &Path) {
    for name in [DATABASE, "outlay.db-wal", "outlay.db-shm", LOCK] {
        let _ = std::fs::remove_file(folder.join(name));
    }
}

/// Nobody else serves the folder while this is held. Let go of when dropped, also if the process is
/// killed.
#[derive(Debug)]
pub(super) struct Hold {
    _lock: File,
}

impl Hold {
    /// Takes hold of a folder, which is made if it is not there.
    pub(super) fn take(folder: &Path, any_file_system: bool) -> Result<Self, StoreError> {
        std::fs::create_dir_all(folder).map_err(|error| cannot("make", folder, &error))?;
        if !any_file_system {
            refuse_unsafe(folder)?;
        }
        let path = folder.join(LOCK);
        let opened =
            File::options().create(true).truncate(false).read(true).write(true).open(&path);
        let mut lock = opened.map_err(|error| cannot("write to", &path, &error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(refused(in_use(folder, &mut lock))),
            Err(TryLockError::Error(error)) => return Err(cannot("lock", &path, &error)),
        }
        // Only for the message that somebody else may get.
        let note = || -> std::io::Result<()> {
            lock.set_len(0)?;
            lock.rewind()?;
            writeln!(lock, "{}", std::process::id())
        };
        let mut note = note;
        note().map_err(|error| cannot("write to", &path, &error))?;
        Ok(Self { _lock: lock })
    }
}

fn in_use(folder: &Path, lock: &mut File) -> String {
    let mut text = String::new();
    let process = lock.read_to_string(&mut text).ok().and_then(|_| text.trim().parse::<u32>().ok());
    let who = process
        .map_or_else(|| "another process".to_owned(), |process| format!("process {process}"));
    format!(
        "{} is in use by {who}: one process serves a folder; stop that one first, or name another folder",
        folder.display()
    )
}

/// A new file is there after a power cut only if its folder was synced. On Windows folders cannot
/// be opened for this, nor need to be.
pub(crate) fn sync_folder(folder: &Path) -> std::io::Result<()> {
    if cfg!(windows) { Ok(()) } else { File::open(folder)?.sync_all() }
}

pub(super) fn refused(what: String) -> StoreError {
    StoreError { what, is_fatal: false }
}

pub(super) fn cannot(what: &str, path: &Path, error: &std::io::Error) -> StoreError {
    refused(format!("cannot {what} {}: {error}", path.display()))
}

#[cfg(target_os = "linux")]
fn refuse_unsafe(folder: &Path) -> Result<(), StoreError> {
    let kind = rustix::fs::statfs(folder)
        .map_err(|error| cannot("look at", folder, &error.into()))?
        .f_type;
    // Magic numbers of the kernel; the field is signed on some machines, and all of them have 32
    // bits.
    match unsafe_kind(kind as u32) {
        None => Ok(()),
        Some(kind) => Err(refused(format!(
            "{} is on {kind}: a store there can lose what it acknowledged; name a folder on a local disk, or insist with --any-file-system",
            folder.display()
        ))),
    }
}

#[cfg(not(target_os = "linux"))]
fn refuse_unsafe(_: &Path) -> Result<(), StoreError> {
    Ok(())
}

/// File systems that forget, or whose locks and syncs hold only on one machine.
#[cfg(target_os = "linux")]
fn unsafe_kind(kind: u32) -> Option<&'static str> {
    match kind {
        0x6969 => Some("a network file system (NFS)"),
        0x517b | 0xff53_4d42 | 0xfe53_4d42 => Some("a network file system (SMB)"),
        0x0102_1997 => Some("a file system shared with another machine (9P)"),
        0x5346_414f | 0x6b41_4653 => Some("a network file system (AFS)"),
        0x00c3_6400 => Some("a network file system (Ceph)"),
        0x7375_7245 => Some("a network file system (Coda)"),
        0x0102_1994 => Some("a file system in memory (tmpfs)"),
        0x8584_58f6 => Some("a file system in memory (ramfs)"),
        _ => None,
    }
}
