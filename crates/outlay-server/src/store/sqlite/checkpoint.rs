//! Moves pages from the WAL into the database on another thread, while the writer continues.
//!
//! A checkpoint of some thousand pages takes tens of milliseconds. Another connection can make it
//! without blocking the transactions of the writer.

use std::path::PathBuf;
use std::thread::JoinHandle;

use super::schema;

/// Runs at most one checkpoint at a time.
#[derive(Debug, Default)]
pub(super) struct BackgroundCheckpoint {
    running: Option<JoinHandle<rusqlite::Result<()>>>,
}

impl BackgroundCheckpoint {
    /// Starts a checkpoint of the file; false if no thread can be started.
    pub(super) fn start(&mut self, path: PathBuf) -> bool {
        let checkpoint = move || {
            let connection = schema::checkpointer(&path)?;
            // If it cannot move all pages, the writer moves the rest and reports errors.
            connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
        };
        let thread = std::thread::Builder::new().name("checkpoint".to_owned()).spawn(checkpoint);
        self.running = thread.ok();
        self.running.is_some()
    }

    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// The result of a checkpoint that has ended; returned once.
    pub(super) fn finished(&mut self) -> Option<rusqlite::Result<()>> {
        let thread = self.running.take_if(|thread| thread.is_finished())?;
        Some(result(thread))
    }

    /// Waits for the checkpoint, if there is one.
    pub(super) fn wait(&mut self) -> rusqlite::Result<()> {
        self.running.take().map_or(Ok(()), result)
    }
}

/// The next checkpoint repeats the work of one that panicked.
fn result(thread: JoinHandle<rusqlite::Result<()>>) -> rusqlite::Result<()> {
    thread.join().unwrap_or(Ok(()))
}

impl Drop for BackgroundCheckpoint {
    /// The writer must be the last to close the file.
    fn drop(&mut self) {
        let _ = self.wait();
    }
}
