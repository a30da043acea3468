//! The state file: one process at a time changes it, and it is there as a whole or as it was.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use outlay::ledger::Ledger;

use crate::failure::Failure;
use crate::input;
use crate::whole_file::{cannot_write, write_whole};

/// Who finds the state in use waits this long before giving up.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

/// A state that nobody else changes while this is held.
#[derive(Debug)]
pub(super) struct StateFile {
    path: PathBuf,
    /// Let go of when dropped, also if the process is killed.
    _lock: File,
}

impl StateFile {
    /// Takes hold of the state at `path`, whether it is there or not.
    pub(super) fn hold(path: &Path) -> Result<Self, Failure> {
        if input::is_stdin(path) {
            return Err(Failure("the state must be a file, not standard input".to_owned()));
        }
        if path.is_dir() {
            return Err(Failure(format!(
                "{} is a directory: name a file for the state",
                path.display()
            )));
        }
        Ok(Self { path: path.to_owned(), _lock: lock(path)? })
    }

    /// Takes hold of a state that is there and reads it.
    pub(super) fn open(path: &Path) -> Result<(Self, Ledger), Failure> {
        // Looking first leaves no lock beside a file that never was.
        look(path)?;
        let held = Self::hold(path)?;
        let ledger = look(path)?;
        Ok((held, ledger))
    }

    pub(super) fn exists(&self) -> bool {
        self.path.exists()
    }

    /// Once this returns, the state is what `ledger` says, also after a power cut.
    pub(super) fn save(&self, ledger: &Ledger) -> Result<(), Failure> {
        write_whole(&self.path, ledger.to_json().as_bytes())
    }
}

/// The state as it is, without taking hold of it.
pub(super) fn look(path: &Path) -> Result<Ledger, Failure> {
    if !input::is_stdin(path) && !path.exists() {
        let path = path.display();
        return Err(Failure(format!(
            "cannot read {path}: no such file; `outlay new {path} --problem FILE` makes a state"
        )));
    }
    let text = input::text(path)?;
    Ledger::from_json(&text).map_err(|error| Failure(format!("{}: {error}", input::place(path))))
}

/// The lock is on a file beside the state, because the state itself is replaced with every change.
fn lock(path: &Path) -> Result<File, Failure> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".lock");
    let beside = PathBuf::from(beside);
    let opened = File::options().create(true).truncate(false).write(true).open(&beside);
    let file = opened.map_err(|error| cannot_write(path, &error))?;
    let since = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if since.elapsed() < PATIENCE => {
                std::thread::sleep(PAUSE)
            }
            Err(TryLockError::WouldBlock) => {
                let message = format!(
                    "{}: another outlay has been using it for {} s; try again",
                    path.display(),
                    PATIENCE.as_secs()
                );
                return Err(Failure(message));
            }
            Err(TryLockError::Error(error)) => return Err(cannot_write(path, &error)),
        }
    }
}
