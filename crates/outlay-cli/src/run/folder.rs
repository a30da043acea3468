//! The folder of a run: its record and a checkpoint with the finished replications.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use outlay::simulation::{Job, Replication};
use serde::{Deserialize, Serialize};

use super::record::RunRecord;
use crate::failure::Failure;
use crate::input;
use crate::output;
use crate::output::atomic_file::{cannot_write, write_atomically};

const RECORD: &str = "run.json";
const CHECKPOINT: &str = "replications.jsonl";
/// Interval between syncs: the work that a crash of the machine can lose. A killed process loses
/// nothing.
const SYNC_INTERVAL: Duration = Duration::from_secs(1);

/// One line of the checkpoint.
#[derive(Deserialize)]
struct Line {
    #[serde(flatten)]
    job: Job,
    result: Replication,
}

#[derive(Serialize)]
struct LineToWrite<'a> {
    #[serde(flatten)]
    job: Job,
    result: &'a Replication,
}

/// The folder in which replications are saved, if any.
#[derive(Debug)]
pub(crate) struct RunFolder(Option<Open>);

#[derive(Debug)]
struct Open {
    path: PathBuf,
    /// Locked while it is open.
    checkpoint: File,
    last_sync: Instant,
}

impl RunFolder {
    /// For runs that are not saved.
    pub(crate) fn nowhere() -> Self {
        Self(None)
    }

    /// Opens or creates the folder of a run, locks it and returns the finished replications. It
    /// fails if the folder contains another run, or a file with one of the names in `results`,
    /// which the run will write.
    pub(crate) fn open(
        path: PathBuf,
        asked: &RunRecord,
        results: &[&str],
    ) -> Result<(Self, Vec<(Job, Replication)>), Failure> {
        let is_new = !is_same_run(&path, asked, results)?;
        std::fs::create_dir_all(&path).map_err(|error| cannot_write(&path, &error))?;
        let file = path.join(CHECKPOINT);
        let opened = OpenOptions::new().read(true).append(true).create(true).open(&file);
        let mut checkpoint = opened.map_err(|error| cannot_write(&file, &error))?;
        match checkpoint.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Failure(format!(
                    "another run is writing to {}: wait until it ends, or use another --out",
                    path.display()
                )));
            }
            Err(TryLockError::Error(error)) => return Err(cannot_write(&file, &error)),
        }
        // Another process may have created a run before the lock was taken.
        if is_new {
            is_same_run(&path, asked, results)?;
        }
        write_atomically(&path.join(RECORD), output::json(asked)?.as_bytes())?;
        let known = read_checkpoint(&file, &mut checkpoint)?;
        Ok((Self(Some(Open { path, checkpoint, last_sync: Instant::now() })), known))
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        self.0.as_ref().map(|open| open.path.as_path())
    }

    /// Saves a finished replication.
    pub(crate) fn save(&mut self, job: Job, result: &Replication) -> Result<(), Failure> {
        let Some(open) = &mut self.0 else { return Ok(()) };
        let mut line = serde_json::to_vec(&LineToWrite { job, result })?;
        line.push(b'\n');
        // One write per line: after a kill, only the last line can be incomplete.
        let mut written = open.checkpoint.write_all(&line);
        if written.is_ok() && open.last_sync.elapsed() > SYNC_INTERVAL {
            written = open.checkpoint.sync_data();
            open.last_sync = Instant::now();
        }
        written.map_err(|error| cannot_write(&open.path.join(CHECKPOINT), &error))
    }
}

/// Reads the record and the finished replications of a folder without changing it.
pub(crate) fn read_run(path: &Path) -> Result<(RunRecord, Vec<(Job, Replication)>), Failure> {
    let cannot_read = |file: &Path, error: &std::io::Error| {
        Failure(format!("cannot read {}: {}", file.display(), input::reason(error)))
    };
    let file = path.join(RECORD);
    let text = std::fs::read_to_string(&file).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => Failure(format!(
            "{} is not the folder of a run: it has no {RECORD}; `outlay simulate --out DIR` creates one",
            path.display()
        )),
        _ => cannot_read(&file, &error),
    })?;
    let record: RunRecord = serde_json::from_str(&text).map_err(|error| {
        Failure(format!("{} is not the record of a run ({error})", file.display()))
    })?;
    let record = record.with_present_names()?;
    let file = path.join(CHECKPOINT);
    let bytes = std::fs::read(&file).map_err(|error| cannot_read(&file, &error))?;
    let (known, _) = complete_lines(&file, &bytes)?;
    Ok((record, known))
}

/// True if the folder contains the requested run, false if it contains none; an error if it
/// contains another run.
fn is_same_run(path: &Path, asked: &RunRecord, results: &[&str]) -> Result<bool, Failure> {
    let shown = path.display();
    let file = path.join(RECORD);
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return refuse_foreign(path, results);
        }
        Err(error) => {
            return Err(Failure(format!(
                "cannot read {}: {}",
                file.display(),
                input::reason(&error)
            )));
        }
    };
    let there: RunRecord = serde_json::from_str(&text).map_err(|error| {
        Failure(format!(
            "{} is not the record of a run ({error}): use another --out or remove {shown}",
            file.display()
        ))
    })?;
    match there.with_present_names()?.differences(asked) {
        differences if differences.is_empty() => Ok(true),
        differences => Err(Failure(format!(
            "{shown} contains another run: {}; use another --out or remove it",
            differences.join("; ")
        ))),
    }
}

/// Fails if a folder without a run contains files with the names that a run writes.
fn refuse_foreign(path: &Path, results: &[&str]) -> Result<bool, Failure> {
    match results.iter().find(|name| path.join(name).exists()) {
        Some(name) => Err(Failure(format!(
            "{} contains a {name} that does not belong to a run; use another --out",
            path.display()
        ))),
        None => Ok(false),
    }
}

/// Reads the finished replications. An incomplete last line is removed; its replication is run
/// again.
fn read_checkpoint(path: &Path, checkpoint: &mut File) -> Result<Vec<(Job, Replication)>, Failure> {
    let mut bytes = Vec::new();
    checkpoint.read_to_end(&mut bytes).map_err(|error| {
        Failure(format!("cannot read {}: {}", path.display(), input::reason(&error)))
    })?;
    let (known, whole) = complete_lines(path, &bytes)?;
    if whole < bytes.len() {
        checkpoint.set_len(whole as u64).map_err(|error| cannot_write(path, &error))?;
    }
    Ok(known)
}

/// The replications of a checkpoint, and the number of bytes in complete lines.
fn complete_lines(path: &Path, bytes: &[u8]) -> Result<(Vec<(Job, Replication)>, usize), Failure> {
    let mut known = Vec::new();
    let mut whole = 0;
    for (number, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        match serde_json::from_slice::<Line>(line) {
            Ok(Line { job, result }) if line.ends_with(b"\n") => known.push((job, result)),
            _ if whole + line.len() == bytes.len() => break,
            _ => {
                let message = "cannot be read: remove the line to run its replication again";
                return Err(Failure(format!("{} line {} {message}", path.display(), number + 1)));
            }
        }
        whole += line.len();
    }
    Ok((known, whole))
}
