//! Atomic replacement of files.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use crate::failure::Failure;
use crate::input;

/// Writes a file atomically; when this returns, it also survives a power failure.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".part");
    let partial = Path::new(&partial);
    let write = || -> std::io::Result<()> {
        let mut file = File::create(partial)?;
        file.write_all(bytes)?;
        file.sync_data()?;
        std::fs::rename(partial, path)?;
        sync_folder(path)
    };
    write().map_err(|error| {
        // Remove the incomplete file. If that fails too, the message covers it.
        let _ = std::fs::remove_file(partial);
        cannot_write(path, &error)
    })
}

/// Syncs the folder of `path`, which makes a rename durable. Windows neither allows nor needs it.
pub(crate) fn sync_folder(path: &Path) -> std::io::Result<()> {
    if cfg!(windows) {
        return Ok(());
    }
    let folder =
        path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

/// The error that a file cannot be written.
pub(crate) fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure(format!("cannot write {}: {}", path.display(), input::reason(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_no_partial_file() {
        let folder =
            std::env::temp_dir().join(format!("outlay-atomic-file-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("taken/inside")).unwrap();
        // A folder cannot be replaced by a file.
        let failure = write_atomically(&folder.join("taken"), b"page").unwrap_err();
        assert!(failure.0.starts_with("cannot write "), "{failure:?}");
        let left: Vec<_> =
            std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["taken"]);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
