//! The writing connection: a batch is one transaction, on disk when the call returns.

use std::collections::HashMap;

use rusqlite::Connection;

use super::batch::{Batch, Known};
use super::checkpoint::BackgroundCheckpoint;
use super::failure::{is_harmless, lasting, passing};
use super::retention;
use super::schema::{self, CHECKPOINT_PAGES};
use crate::store::{Command, Compacted, Compaction, Done, Refusal, StoreError, StoreSize};

/// Batches between two checks of the WAL. A check costs as much as a statement or two, and a small
/// batch has few; most write less than twenty pages.
const LOOK_EVERY: u32 = 32;

/// If the WAL has this many times the pages that start a checkpoint, the next batch waits for it.
const MOST_BEHIND: i64 = 2;

/// The writing connection.
#[derive(Debug)]
pub(super) struct Writer {
    // Dropped before the connection, which must be the last to close the file.
    background: BackgroundCheckpoint,
    connection: Connection,
    /// Known campaigns; their properties do not change.
    campaigns: HashMap<String, Known>,
    seq: i64,
    /// Batches until the next check of the size of the WAL.
    until_look: u32,
    /// The last batch could not be written.
    is_troubled: bool,
    /// Set once, when the contents of the disk are unknown.
    failed: Option<StoreError>,
}

impl Writer {
    pub(super) fn new(connection: Connection) -> rusqlite::Result<Self> {
        let seq = connection
            .query_row("SELECT value FROM meta WHERE name = 'seq'", [], |row| row.get(0))?;
        Ok(Self {
            background: BackgroundCheckpoint::default(),
            connection,
            campaigns: HashMap::new(),
            seq,
            until_look: 0,
            is_troubled: false,
            failed: None,
        })
    }

    pub(super) fn apply(
        &mut self,
        batch: &[Command],
    ) -> Result<Vec<Result<Done, Refusal>>, StoreError> {
        let applied = self.apply_all(batch);
        self.is_troubled = applied.is_err();
        applied
    }

    fn apply_all(&mut self, batch: &[Command]) -> Result<Vec<Result<Done, Refusal>>, StoreError> {
        self.usable()?;
        self.tidy()?;
        self.begin().map_err(|error| self.after("begin a batch", &error))?;
        let mut work = Batch::new(&self.connection, &mut self.campaigns, self.seq);
        let worked = work.run(batch).map(|answers| (answers, work.seq));
        match worked {
            Ok((answers, seq)) => {
                self.commit()?;
                self.seq = seq;
                Ok(answers)
            }
            Err(error) => Err(self.give_up("write a batch", &error)),
        }
    }

    /// Checks that the file is writable by taking and releasing the write lock. After a failed
    /// batch that is not enough, because the lock is available on a full disk.
    pub(super) fn health(&mut self) -> Result<(), StoreError> {
        self.usable()?;
        self.begin().map_err(|error| self.after("write", &error))?;
        if !self.is_troubled {
            return self
                .connection
                .execute_batch("ROLLBACK")
                .map_err(|error| self.after("write", &error));
        }
        // Another number each time, because unchanged pages are not written.
        let change = "INSERT OR REPLACE INTO meta VALUES ('probe', coalesce((SELECT value FROM meta WHERE name = 'probe'), 0) + 1)";
        self.connection.execute(change, []).map_err(|error| self.give_up("write", &error))?;
        self.commit()?;
        self.is_troubled = false;
        Ok(())
    }

    /// Replaces old rounds by their counts, in one transaction.
    pub(super) fn compact(&mut self, compaction: &Compaction) -> Result<Compacted, StoreError> {
        self.campaigns.remove(&compaction.campaign);
        self.in_transaction("compact rounds", |connection| {
            retention::compact(connection, compaction)
        })
    }

    /// Removes rows of deleted campaigns, in one transaction.
    pub(super) fn purge(&mut self, rows: usize) -> Result<u64, StoreError> {
        self.in_transaction("remove a deleted campaign", |connection| {
            retention::purge(connection, rows)
        })
    }

    fn in_transaction<T>(
        &mut self,
        doing: &str,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.usable()?;
        self.tidy()?;
        self.begin().map_err(|error| self.after(doing, &error))?;
        let worked = work(&self.connection).map_err(|error| self.give_up(doing, &error))?;
        self.commit()?;
        Ok(worked)
    }

    /// Truncates some free pages at the end of the file. Returns the number of bytes; none if the
    /// file was created by a version that did not prepare it for that.
    pub(super) fn release_space(&mut self) -> Result<u64, StoreError> {
        const PAGES: u32 = 256;
        self.usable()?;
        let doing = "give back free space";
        let before = pages(&self.connection).map_err(|error| self.after(doing, &error))?;
        let vacuum = format!("PRAGMA incremental_vacuum({PAGES})");
        let vacuumed = self.connection.execute_batch(&vacuum);
        vacuumed.map_err(|error| self.after(doing, &error))?;
        let after = pages(&self.connection).map_err(|error| self.after(doing, &error))?;
        Ok(before.bytes.saturating_sub(after.bytes))
    }

    /// Rewrites the file without free pages. Takes as long as reading and writing all of it.
    pub(super) fn vacuum(&mut self) -> Result<(), StoreError> {
        self.usable()?;
        let vacuumed = self.connection.execute_batch("VACUUM");
        vacuumed.map_err(|error| self.after("rewrite the file", &error))?;
        self.checkpoint("TRUNCATE").map(|_| ())
    }

    /// Sets or removes the mark of an unfinished import.
    pub(super) fn set_importing(&mut self, is_importing: bool) -> Result<(), StoreError> {
        self.usable()?;
        self.begin().map_err(|error| self.after("write", &error))?;
        let change = if is_importing { schema::BEGIN_IMPORT } else { schema::END_IMPORT };
        self.connection.execute(change, []).map_err(|error| self.give_up("write", &error))?;
        self.commit()
    }

    /// Moves everything from the WAL into the database.
    pub(super) fn close(&mut self) -> Result<(), StoreError> {
        self.usable()?;
        let finished = self.background.wait();
        self.check_checkpoint(finished)?;
        self.checkpoint("TRUNCATE").map(|_| ())
    }

    fn usable(&self) -> Result<(), StoreError> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    fn begin(&self) -> rusqlite::Result<()> {
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([]).map(|_| ())
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        let committed =
            self.connection.prepare_cached("COMMIT").and_then(|mut commit| commit.execute([]));
        match committed {
            Ok(_) => Ok(()),
            // The frame of the commit is written last and did not fit: the written part of the
            // batch will never be read.
            Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull) => {
                Err(self.give_up("commit a batch", &error))
            }
            Err(error) => Err(self.fail(lasting("commit a batch", &error))),
        }
    }

    /// Rolls a batch back.
    fn give_up(&mut self, doing: &str, error: &rusqlite::Error) -> StoreError {
        self.campaigns.clear();
        // Some errors have rolled back already.
        let undone = if self.connection.is_autocommit() {
            Ok(())
        } else {
            self.connection.execute_batch("ROLLBACK")
        };
        match undone {
            Ok(()) => self.after(doing, error),
            Err(undoing) => self.fail(lasting("take back a batch", &undoing)),
        }
    }

    fn after(&mut self, doing: &str, error: &rusqlite::Error) -> StoreError {
        if is_harmless(error) { passing(doing, error) } else { self.fail(lasting(doing, error)) }
    }

    fn fail(&mut self, error: StoreError) -> StoreError {
        self.failed.get_or_insert(error).clone()
    }

    /// Called between batches, so that the WAL stays small. Most of it is moved on another thread.
    /// The WAL restarts only when all of it is moved, so the rest, which was written meanwhile, is
    /// moved here.
    fn tidy(&mut self) -> Result<(), StoreError> {
        if let Some(finished) = self.background.finished() {
            self.check_checkpoint(finished)?;
            return self.checkpoint("PASSIVE").map(|_| ());
        }
        if let Some(left) = self.until_look.checked_sub(1) {
            self.until_look = left;
            return Ok(());
        }
        self.until_look = LOOK_EVERY;
        let (pages, moved) = self.checkpoint("NOOP")?;
        let behind = pages - moved;
        if behind < CHECKPOINT_PAGES {
            return Ok(());
        }
        let is_urgent = behind >= MOST_BEHIND * CHECKPOINT_PAGES;
        if !is_urgent && (self.background.is_running() || self.start_checkpoint()) {
            return Ok(());
        }
        let finished = self.background.wait();
        self.check_checkpoint(finished)?;
        self.checkpoint("PASSIVE").map(|_| ())
    }

    fn start_checkpoint(&mut self) -> bool {
        let path = self.connection.path().map(std::path::PathBuf::from);
        path.is_some_and(|path| self.background.start(path))
    }

    fn check_checkpoint(&mut self, finished: rusqlite::Result<()>) -> Result<(), StoreError> {
        match finished {
            // Nothing is lost: all of it is still in the WAL.
            Err(error) if !is_harmless(&error) => {
                Err(self.fail(lasting("move the log into the database", &error)))
            }
            _ => Ok(()),
        }
    }

    /// Pages in the WAL, and how many of them are already in the database.
    fn checkpoint(&mut self, mode: &str) -> Result<(i64, i64), StoreError> {
        let asked = self
            .connection
            .prepare_cached(&format!("PRAGMA wal_checkpoint({mode})"))
            .and_then(|mut pragma| pragma.query_row([], |row| Ok((row.get(1)?, row.get(2)?))));
        match asked {
            Ok(pages) => Ok(pages),
            // Nothing is lost: all of it is still in the WAL.
            Err(error) if is_harmless(&error) => Ok((0, 0)),
            Err(error) => Err(self.fail(lasting("move the log into the database", &error))),
        }
    }
}

/// Size of the file, as the connection sees it.
pub(super) fn pages(connection: &Connection) -> rusqlite::Result<StoreSize> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let size = pragma("page_size")?;
    let bytes = |pages: i64| (pages * size).unsigned_abs();
    Ok(StoreSize { bytes: bytes(pragma("page_count")?), free: bytes(pragma("freelist_count")?) })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::store::{Ask, DISK_FULL, NewCampaign, Split};

    fn create(id: &str) -> Command {
        Command::Create(NewCampaign {
            id: id.into(),
            spec: "{}".into(),
            tasks: 1,
            at: 0,
            token: String::new(),
        })
    }

    fn large(rounds: std::ops::Range<u64>) -> Command {
        let numbers = vec![0.5; 20_000];
        let split = Split {
            budget: 1.0,
            available: None,
            spend: numbers.clone(),
            success: numbers.clone(),
            index: numbers,
            ..Split::default()
        };
        let (campaign, token) = ("c".into(), String::new());
        Command::Ask(Ask {
            campaign,
            rounds,
            split: Arc::new(split),
            amendments: 0,
            stats_version: 0,
            at: 0,
            expires_at: 9,
            token,
            key: None,
            horizon: None,
        })
    }

    /// A limit on pages simulates a full disk: the message is the same, and later commands find the
    /// store unchanged.
    #[test]
    fn a_full_disk_is_reported_and_recoverable() {
        let folder = tempfile::tempdir().unwrap();
        let connection = super::super::schema::writer(&folder.path().join("outlay.db")).unwrap();
        let mut writer = Writer::new(connection).unwrap();
        writer.apply(&[create("c")]).unwrap();
        let seq = writer.seq;
        let pages = |writer: &Writer, most: i64| {
            writer
                .connection
                .query_row(&format!("PRAGMA max_page_count = {most}"), [], |row| {
                    row.get::<_, i64>(0)
                })
                .unwrap()
        };
        pages(&writer, 60);
        let error = writer.apply(&[create("new"), large(1..2)]).unwrap_err();
        assert!(error.what.starts_with(DISK_FULL) && !error.is_fatal, "{error}");
        assert_eq!(writer.seq, seq);
        let other = super::super::schema::reader(&folder.path().join("outlay.db")).unwrap();
        let commits =
            || other.query_row("PRAGMA data_version", [], |row| row.get::<_, i64>(0)).unwrap();
        let before = commits();
        writer.health().unwrap();
        assert_ne!(commits(), before, "health is reported without a test write");
        let before = commits();
        writer.health().unwrap();
        assert_eq!(commits(), before, "a test write although nothing has failed since");
        pages(&writer, 1_000_000);
        // Not `WasThere`: the caches are rolled back too.
        assert_eq!(
            writer.apply(&[create("new"), large(1..2)]).unwrap(),
            [Ok(Done::Created), Ok(Done::Asked)]
        );
        assert_eq!(
            super::super::check::fold(&writer.connection).unwrap().faults,
            Vec::<String>::new()
        );
    }

    /// Uses large batches, so that two hundred are enough. The log may exceed the size that starts
    /// a checkpoint by the writes between two checks.
    #[test]
    fn the_log_does_not_grow_without_bound() {
        let folder = tempfile::tempdir().unwrap();
        let connection = super::super::schema::writer(&folder.path().join("outlay.db")).unwrap();
        connection.pragma_update(None, "synchronous", "OFF").unwrap();
        let mut writer = Writer::new(connection).unwrap();
        writer.apply(&[create("c")]).unwrap();
        let pages =
            |name: &str| std::fs::metadata(folder.path().join(name)).unwrap().len() as i64 / 4096;
        let before = pages("outlay.db-wal");
        writer.apply(&[large(1..2)]).unwrap();
        let each = pages("outlay.db-wal") - before;
        (2..202).for_each(|round| drop(writer.apply(&[large(round..round + 1)]).unwrap()));
        // The size at which writes wait, and the writes until the next check.
        let most = MOST_BEHIND * CHECKPOINT_PAGES + (i64::from(LOOK_EVERY) + 2) * each;
        assert!(200 * each > most, "the batches are too small to reach the limit");
        assert!(
            pages("outlay.db-wal") <= most,
            "{} pages in the log, {each} per batch",
            pages("outlay.db-wal")
        );
        assert!(pages("outlay.db") > CHECKPOINT_PAGES);
    }

    /// A batch does not wait for a checkpoint: it is started, and the next batches are written before
    /// it has ended.
    #[test]
    fn checkpoints_are_made_on_another_thread() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("outlay.db");
        let connection = super::super::schema::writer(&path).unwrap();
        connection.pragma_update(None, "synchronous", "OFF").unwrap();
        let mut writer = Writer::new(connection).unwrap();
        writer.apply(&[create("c")]).unwrap();
        let mut round = 1;
        while !writer.background.is_running() {
            writer.apply(&[large(round..round + 1)]).unwrap();
            round += 1;
            assert!(round < 1000, "no checkpoint is ever started");
        }
        let behind = |writer: &mut Writer| {
            let (pages, moved) = writer.checkpoint("NOOP").unwrap();
            pages - moved
        };
        while writer.background.is_running() {
            writer.apply(&[create("another")]).unwrap();
        }
        assert!(behind(&mut writer) < 100, "the rest was not moved");
        writer.close().unwrap();
        drop(writer);
        assert!(!folder.path().join("outlay.db-wal").exists());
    }

    /// After a failed sync the contents of the disk are unknown, so every later call gets the same
    /// error.
    #[test]
    fn a_fatal_failure_is_permanent() {
        let folder = tempfile::tempdir().unwrap();
        let connection = super::super::schema::writer(&folder.path().join("outlay.db")).unwrap();
        let mut writer = Writer::new(connection).unwrap();
        let sync = rusqlite::Error::SqliteFailure(
            rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR_FSYNC),
            None,
        );
        assert!(!is_harmless(&sync));
        let first = writer.after("write", &sync);
        assert!(first.is_fatal);
        assert_eq!(writer.apply(&[create("c")]), Err(first.clone()));
        assert_eq!((writer.health(), writer.close()), (Err(first.clone()), Err(first)));
    }
}
