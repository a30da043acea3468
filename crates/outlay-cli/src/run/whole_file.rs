//! Files that are there as a whole or not at all.

use std::io::Write;
use std::path::Path;

use crate::failure::Failure;
use crate::input;

/// Writes a file so that it is there as a whole or not at all.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".part");
    let partial = Path::new(&partial);
    let write = || -> std::io::Result<()> {
        let mut file = std::fs::File::create(partial)?;
        file.write_all(bytes)?;
        file.sync_data()?;
        std::fs::rename(partial, path)
    };
    write().map_err(|error| cannot_write(path, &error))
}

pub(crate) fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure(format!("cannot write {}: {}", path.display(), input::reason(error)))
}
