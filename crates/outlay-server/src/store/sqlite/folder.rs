//! The folder of a store: served by one process at a time, on a durable disk.

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

/// A new database until it is complete: an interrupted start leaves no `outlay.db`.
pub(super) const NEW_DATABASE: &str = "outlay.db.new";

/// A file with more letters at the end of its name.
pub(super) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Removes a database with its log.
pub(super) fn remove_database(path: &Path) {
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(beside(path, end));
    }
}

/// Removes a store, and nothing else that is in the folder.
pub(super) fn remove(folder: &Path) {
    remove_database(&folder.join(DATABASE));
    remove_database(&folder.join(NEW_DATABASE));
    let _ = std::fs::remove_file(folder.join(LOCK));
}

/// True if there is a database. A truncated one, or one of which only the log is left, is not taken
/// for a new one.
pub(super) fn has_database(path: &Path) -> Result<bool, StoreError> {
    let length = |path: &Path| match std::fs::metadata(path) {
        Ok(file) => Ok(Some(file.len())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(cannot("read", path, &error)),
    };
    let log = beside(path, "-wal");
    let advice = "restore a backup with `outlay restore`, or, to create a new store";
    match (length(path)?, length(&log)?) {
        (Some(0), _) => Err(refused(format!(
            "{path} is empty (0 bytes), so it is not a store: {advice}, remove {path}",
            path = path.display()
        ))),
        (Some(_), _) => Ok(true),
        (None, Some(1..)) => Err(refused(format!(
            "{} is missing, but its log {log} exists: {advice}, remove {log}",
            path.display(),
            log = log.display()
        ))),
        (None, _) => Ok(false),
    }
}

/// Opens files with access for their owner only.
pub(crate) fn private_file() -> std::fs::OpenOptions {
    let mut options = File::options();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates folders with access for their owner only.
pub(crate) fn private_folder() -> std::fs::DirBuilder {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Identity of the file at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileId(u64, u64);

impl FileId {
    #[cfg(unix)]
    pub(super) fn of(path: &Path) -> std::io::Result<Self> {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(path).map(|file| Self(file.dev(), file.ino()))
    }

    /// On other systems than Unix only whether it exists.
    #[cfg(not(unix))]
    pub(super) fn of(path: &Path) -> std::io::Result<Self> {
        std::fs::metadata(path).map(|_| Self(0, 0))
    }
}

/// Locks the folder for this process. Released when dropped, also if the process is killed.
#[derive(Debug)]
pub(super) struct Hold {
    _lock: File,
}

impl Hold {
    /// Locks a folder, which is created if necessary.
    pub(super) fn take(folder: &Path, any_file_system: bool) -> Result<Self, StoreError> {
        // Before the folder is created, so that a rejection leaves nothing behind.
        if !any_file_system {
            refuse_unsafe(folder)?;
        }
        let made = private_folder().recursive(true).create(folder);
        made.map_err(|error| cannot("make", folder, &error))?;
        let path = folder.join(LOCK);
        let opened = private_file().create(true).truncate(false).read(true).open(&path);
        let mut lock = opened.map_err(|error| cannot("write to", &path, &error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(refused(in_use(folder, &mut lock))),
            Err(TryLockError::Error(error)) => return Err(cannot("lock", &path, &error)),
        }
        // Only for the message that another process may show.
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

/// The folder itself, or its nearest existing ancestor.
#[cfg(target_os = "linux")]
fn nearest(folder: &Path) -> &Path {
    let is_there = |folder: &&Path| folder.exists();
    folder.ancestors().find(is_there).unwrap_or(Path::new("."))
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

/// A new file survives a power loss only if its folder was synced. On Windows folders can neither be
/// opened for this nor need to be.
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
    let kind = rustix::fs::statfs(nearest(folder))
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

/// File systems that lose data, or whose locks and syncs work only on one machine.
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
