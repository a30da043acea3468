//! Files that are there as a whole or not at all.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use crate::failure::Failure;
use crate::input;

/// Writes a file so that it is there as a whole or not at all; once this returns, it also survives
/// a power cut.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
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
        // What could not be finished must not lie about; if it cannot be removed either, the
        // message says enough.
        let _ = std::fs::remove_file(partial);
        cannot_write(path, &error)
    })
}

/// The new name is kept only once the folder is; on Windows folders cannot be opened for this, nor
/// need to be.
pub(crate) fn sync_folder(path: &Path) -> std::io::Result<()> {
    if cfg!(windows) {
        return Ok(());
    }
    let folder =
        path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

pub(crate) fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure(format!("cannot write {}: {}", path.display(), input::reason(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_leaves_nothing_behind() {
        let folder = std::env::temp_dir().join(format!("outlay-whole-file-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("taken/inside")).unwrap();
        // A folder cannot be replaced by a file.
        let failure = write_whole(&folder.join("taken"), b"page").unwrap_err();
        assert!(failure.0.starts_with("cannot write "), "{failure:?}");
        let left: Vec<_> =
            std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["taken"]);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
