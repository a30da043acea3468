//! State files of daily loops: locked by one process at a time and replaced atomically.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use outlay::ledger::Ledger;

use super::{display_name, is_stdin, text};
use crate::failure::Failure;
use crate::output::atomic_file::{cannot_write, write_atomically};

/// Time to wait for the lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);
/// Interval between attempts to take the lock.
const LOCK_RETRY: Duration = Duration::from_millis(20);

/// A locked state file.
#[derive(Debug)]
pub(crate) struct StateFile {
    path: PathBuf,
    /// Released on drop, also if the process is killed.
    _lock: File,
}

impl StateFile {
    /// Locks the state at `path`, whether the file exists or not.
    pub(crate) fn lock(path: &Path) -> Result<Self, Failure> {
        if is_stdin(path) {
            return Err(Failure("the state must be a file, not standard input".to_owned()));
        }
        if path.is_dir() {
            return Err(Failure(format!(
                "{} is a directory: give a file for the state",
                path.display()
            )));
        }
        Ok(Self { path: path.to_owned(), _lock: take_lock(path)? })
    }

    /// Locks and reads an existing state.
    pub(crate) fn open(path: &Path) -> Result<(Self, Ledger), Failure> {
        // Reading first avoids creating a lock file for a state that does not exist.
        read(path)?;
        let file = Self::lock(path)?;
        let ledger = read(path)?;
        Ok((file, ledger))
    }

    pub(crate) fn exists(&self) -> bool {
        self.path.exists()
    }

    /// Saves the ledger; when this returns, it also survives a power failure.
    pub(crate) fn save(&self, ledger: &Ledger) -> Result<(), Failure> {
        write_atomically(&self.path, ledger.to_json().as_bytes())
    }
}

/// Reads the state without locking it.
pub(crate) fn read(path: &Path) -> Result<Ledger, Failure> {
    if !is_stdin(path) && !path.exists() {
        let path = path.display();
        return Err(Failure(format!(
            "cannot read {path}: no such file; `outlay new {path} --problem FILE` creates a state"
        )));
    }
    let text = text(path)?;
    Ledger::from_json(&text).map_err(|error| Failure(format!("{}: {error}", display_name(path))))
}

/// Takes the lock. It is held on a separate file, because every change replaces the state file.
fn take_lock(path: &Path) -> Result<File, Failure> {
    let mut lock_path = path.as_os_str().to_owned();
    lock_path.push(".lock");
    let lock_path = PathBuf::from(lock_path);
    let opened = File::options().create(true).truncate(false).write(true).open(&lock_path);
    let file = opened.map_err(|error| cannot_write(path, &error))?;
    let started = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if started.elapsed() < LOCK_TIMEOUT => {
                std::thread::sleep(LOCK_RETRY)
            }
            Err(TryLockError::WouldBlock) => {
                let message = format!(
                    "{}: another outlay process has locked it for {} s; try again",
                    path.display(),
                    LOCK_TIMEOUT.as_secs()
                );
                return Err(Failure(message));
            }
            Err(TryLockError::Error(error)) => return Err(cannot_write(path, &error)),
        }
    }
}
