//! Backups: a folder with a copy of the file and a manifest.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{ArchiveError, cannot};
use crate::store::{
    DATABASE, Millis, SqliteStore, Store, private_file, private_folder, sync_folder,
};

pub(super) const MANIFEST: &str = "manifest.json";

/// The manifest of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Version of this format.
    pub outlay_backup: u32,
    /// Identity of the store.
    pub store: String,
    /// Version of the schema.
    pub form: u64,
    /// Number of the last event.
    pub seq: u64,
    /// Number of campaigns.
    pub campaigns: u64,
    /// Number of rounds.
    pub rounds: u64,
    /// Number of outcomes.
    pub items: u64,
    /// Time of the backup, in milliseconds since 1970.
    pub made_at: Millis,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: String,
}

/// Copies the store in `data` into the new folder `to`, also while it is served, and checks the
/// copy.
///
/// # Errors
/// If `to` exists, there is no store, a file cannot be written, or the copy is inconsistent.
pub fn backup(data: &Path, to: &Path, now: Millis) -> Result<Manifest, ArchiveError> {
    if to.exists() {
        return Err(ArchiveError(format!("{} already exists; name a new folder", to.display())));
    }
    let store = SqliteStore::open_to_read(data)?;
    let partial = new_folder_beside(to)?;
    let made = copy(&store, &partial, now).and_then(|manifest| {
        std::fs::rename(&partial, to).map_err(|error| cannot("write", to, &error))?;
        let parent =
            to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        sync_folder(parent).map_err(|error| cannot("sync", parent, &error))?;
        Ok(manifest)
    });
    if made.is_err() {
        let _ = std::fs::remove_dir_all(&partial);
    }
    made
}

fn copy(store: &SqliteStore, folder: &Path, now: Millis) -> Result<Manifest, ArchiveError> {
    let database = folder.join(DATABASE);
    let made = private_file().create_new(true).open(&database);
    made.map_err(|error| cannot("write", &database, &error))?;
    store.copy_to(&database)?;
    let copy = SqliteStore::open_to_read(folder)?;
    let verified = copy.verify()?;
    if let Some(fault) = verified.faults.first() {
        return Err(ArchiveError(format!(
            "no backup was made, because the store is damaged: {fault}"
        )));
    }
    let mark = copy.mark()?;
    drop(copy);
    let (bytes, sha256) = digest(&database)?;
    let manifest = Manifest {
        outlay_backup: 1,
        store: mark.uuid,
        form: mark.form,
        seq: mark.seq,
        campaigns: verified.campaigns,
        rounds: verified.rounds,
        items: verified.items,
        made_at: now,
        bytes,
        sha256,
    };
    let path = folder.join(MANIFEST);
    let text =
        serde_json::to_string_pretty(&manifest).map_err(|error| ArchiveError(error.to_string()))?;
    let write = || -> std::io::Result<()> {
        File::open(&database)?.sync_all()?;
        let mut file = private_file().create_new(true).open(&path)?;
        file.write_all(text.as_bytes())?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        sync_folder(folder)
    };
    write().map_err(|error| cannot("write", &path, &error))?;
    Ok(manifest)
}

/// A temporary name that is specific to this process, so that it does not collide with other files.
#[must_use]
pub fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".part-{}", std::process::id()));
    name.into()
}

/// Creates a new folder. An existing one is left alone.
pub(super) fn new_folder_beside(path: &Path) -> Result<PathBuf, ArchiveError> {
    let partial = beside(path);
    if let Some(parent) = partial.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        let made = private_folder().recursive(true).create(parent);
        made.map_err(|error| cannot("make", parent, &error))?;
    }
    private_folder().create(&partial).map_err(|error| cannot("make", &partial, &error))?;
    Ok(partial)
}

/// Length and SHA-256 of a file.
pub(super) fn digest(path: &Path) -> Result<(u64, String), ArchiveError> {
    let read = || -> std::io::Result<(u64, String)> {
        let mut file = File::open(path)?;
        let (mut hasher, mut length, mut buffer) = (Sha256::new(), 0, vec![0; 1 << 16]);
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                count => {
                    hasher.update(&buffer[..count]);
                    length += count as u64;
                }
            }
        }
        Ok((length, hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()))
    };
    read().map_err(|error| cannot("read", path, &error))
}
