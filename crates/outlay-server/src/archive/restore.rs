//! Restores a backup; everything is checked before files get their final names.

use std::fs::File;
use std::path::Path;

use super::backup::{MANIFEST, Manifest, digest, new_folder_beside};
use super::{ArchiveError, cannot};
use crate::store::{DATABASE, SqliteOptions, SqliteStore, Store, private_file, sync_folder};

/// Creates a store in `data` from the backup in `from`, and checks it as at every start.
///
/// # Errors
/// If `data` has a store already, or the backup does not match its manifest.
pub fn restore(
    from: &Path,
    data: &Path,
    options: &SqliteOptions,
) -> Result<Manifest, ArchiveError> {
    let manifest = manifest(from)?;
    let database = data.join(DATABASE);
    if SqliteStore::is_in(data) {
        return Err(ArchiveError(format!(
            "{} already has a store; name a folder without one",
            data.display()
        )));
    }
    let copied = from.join(DATABASE);
    let (bytes, sha256) = digest(&copied)?;
    if (bytes, &sha256) != (manifest.bytes, &manifest.sha256) {
        return Err(ArchiveError(format!(
            "{} does not match its manifest; use another backup",
            copied.display()
        )));
    }
    // Within the folder, because a sibling may be on another disk.
    let was_there = data.exists();
    let partial = new_folder_beside(&database)?;
    let placed = check(&copied, &partial, &manifest).and_then(|()| {
        // A rename would replace a file that appeared meanwhile; a link does not.
        std::fs::hard_link(partial.join(DATABASE), &database)
            .map_err(|error| cannot("write", &database, &error))?;
        sync_folder(data).map_err(|error| cannot("sync", data, &error))
    });
    let _ = std::fs::remove_dir_all(&partial);
    if placed.is_err() && !was_there {
        let _ = std::fs::remove_dir(data);
    }
    placed?;
    // Migrates the schema, on a file system that is durable.
    let opened = SqliteStore::open(data, options).and_then(|store| store.close());
    if let Err(error) = opened {
        SqliteStore::remove_from(data, was_there);
        return Err(error.into());
    }
    Ok(manifest)
}

fn manifest(from: &Path) -> Result<Manifest, ArchiveError> {
    let path = from.join(MANIFEST);
    let text = std::fs::read_to_string(&path).map_err(|error| cannot("read", &path, &error))?;
    let manifest: Manifest = serde_json::from_str(&text).map_err(|error| {
        ArchiveError(format!("{} is not the manifest of a backup: {error}", path.display()))
    })?;
    if manifest.outlay_backup != 1 {
        let form = manifest.outlay_backup;
        return Err(ArchiveError(format!(
            "{} has format {form}, and this version of outlay reads format 1; use a later version",
            path.display()
        )));
    }
    Ok(manifest)
}

/// Copies the file into a temporary folder and recounts it.
fn check(copied: &Path, folder: &Path, manifest: &Manifest) -> Result<(), ArchiveError> {
    let path = folder.join(DATABASE);
    let copy = || -> std::io::Result<()> {
        let mut file = private_file().create_new(true).open(&path)?;
        std::io::copy(&mut File::open(copied)?, &mut file)?;
        file.sync_all()
    };
    copy().map_err(|error| cannot("write", &path, &error))?;
    let store = SqliteStore::open_to_read(folder)?;
    let (mark, verified) = (store.mark()?, store.verify()?);
    if let Some(fault) = verified.faults.first() {
        return Err(ArchiveError(format!("{} is damaged: {fault}", copied.display())));
    }
    let found = (
        mark.uuid.as_str(),
        mark.form,
        mark.seq,
        verified.campaigns,
        verified.rounds,
        verified.items,
    );
    let said = (
        manifest.store.as_str(),
        manifest.form,
        manifest.seq,
        manifest.campaigns,
        manifest.rounds,
        manifest.items,
    );
    if found != said {
        return Err(ArchiveError(format!(
            "{} does not contain the store in its manifest; use another backup",
            copied.display()
        )));
    }
    Ok(())
}
