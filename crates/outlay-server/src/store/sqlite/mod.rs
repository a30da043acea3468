//! The embedded store: one SQLite file in a folder that one process serves.

mod batch;
mod check;
mod checkpoint;
mod failure;
mod folder;
mod items;
mod read;
mod retention;
mod schema;
mod write;

pub use failure::DISK_FULL;
pub(crate) use folder::{DATABASE, private_file, private_folder, sync_folder};

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use super::metrics::disk_free_bytes;
use super::{
    CampaignRow, Checkpoint, Command, Compacted, Compaction, DeletedCampaign, Done, Event, Millis,
    Refusal, RoundRow, SplitRow, Standing, Store, StoreError, StoreMetrics, StoreSize, TokenRow,
    UsedKey, Verified,
};
use failure::{DAMAGED, passing};
use folder::{FileId, Hold, NEW_DATABASE, refused};
use write::Writer;

/// Options for opening a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqliteOptions {
    /// Allow file systems that are known to lose data: in-memory and network file systems.
    pub any_file_system: bool,
    /// Up to this number of outcomes all of them are recounted and compared with the counts; above
    /// it, only the consistency of the counts is checked.
    pub fold_below: u64,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self { any_file_system: false, fold_below: 10_000_000 }
    }
}

/// A store in a folder.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    // Dropped in this order: the last connection cleans up, and that must be the writer, while the
    // folder is still locked.
    readers: Mutex<Vec<Connection>>,
    writer: Option<Mutex<Writer>>,
    _hold: Option<Hold>,
    /// The file that it writes to.
    file: Option<FileId>,
    /// The next round of each campaign. It is not stored: ids that were not issued may be taken
    /// again.
    leases: Mutex<HashMap<String, u64>>,
}

/// Identity and progress of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreMark {
    /// Created with the store; a copy has the same.
    pub uuid: String,
    /// Version of the schema.
    pub form: u64,
    /// The last event.
    pub seq: u64,
}

impl SqliteStore {
    /// Opens the store in a folder, which is created if necessary, and checks its counts.
    ///
    /// # Errors
    /// If the folder is in use, on a file system that loses data, written by a later version, or
    /// its counts are wrong.
    pub fn open(folder: &Path, options: &SqliteOptions) -> Result<Self, StoreError> {
        let hold = Hold::take(folder, options.any_file_system)?;
        let path = folder::database(folder);
        let cannot = |error| passing(&format!("read {}", path.display()), &error);
        if !folder::has_database(&path)? {
            schema::create(&folder.join(NEW_DATABASE), &path)?;
        }
        let writer = schema::writer(&path)?;
        let file = FileId::of(&path).map_err(|error| folder::cannot("read", &path, &error))?;
        schema::check_import(&writer, folder)?;
        sync_folder(folder).map_err(|error| folder::cannot("sync", folder, &error))?;
        check_counts(&writer, options, &path)?;
        let writer = Some(Mutex::new(Writer::new(writer).map_err(cannot)?));
        Ok(Self {
            path,
            readers: Mutex::default(),
            writer,
            _hold: Some(hold),
            file: Some(file),
            leases: Mutex::default(),
        })
    }

    /// Opens the store in a folder read-only, also while it is served.
    ///
    /// # Errors
    /// If there is none, or one of a later version.
    pub fn open_to_read(folder: &Path) -> Result<Self, StoreError> {
        let path = folder::database(folder);
        if !folder::has_database(&path)? {
            return Err(refused(format!(
                "{} has no store: there is no {}",
                folder.display(),
                path.display()
            )));
        }
        let reader = schema::reader(&path)
            .map_err(|error| passing(&format!("open {}", path.display()), &error))?;
        schema::check_form(&reader, &path, schema::newest())?;
        schema::check_import(&reader, folder)?;
        Ok(Self {
            path,
            readers: Mutex::new(vec![reader]),
            writer: None,
            _hold: None,
            file: None,
            leases: Mutex::default(),
        })
    }

    /// True if a folder contains a store.
    #[must_use]
    pub fn is_in(folder: &Path) -> bool {
        folder::database(folder).exists()
    }

    /// [Verifies](Store::verify) the store in a folder, also while it is served. Damage that
    /// prevents opening or reading it is reported like any other.
    ///
    /// # Errors
    /// If there is none, or one of a later version.
    pub fn verify_in(folder: &Path) -> Result<Verified, StoreError> {
        match Self::open_to_read(folder).and_then(|store| store.verify()) {
            Err(error) if error.what.starts_with(DAMAGED) => {
                Ok(Verified { faults: vec![error.what], ..Verified::default() })
            }
            verified => verified,
        }
    }

    /// Removes an unfinished store, with its folder unless that existed before.
    pub fn remove_from(folder: &Path, was_there: bool) {
        folder::remove(folder);
        if !was_there {
            let _ = std::fs::remove_dir(folder);
        }
    }

    /// Identity and progress.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn mark(&self) -> Result<StoreMark, StoreError> {
        self.read(mark)
    }

    /// Rewrites the file without free pages, for a store that is not served: all other access waits
    /// meanwhile.
    ///
    /// # Errors
    /// If it cannot be written; the file is then unchanged.
    pub fn vacuum(&self) -> Result<(), StoreError> {
        // Idle readers would keep the WAL from being truncated.
        locked(&self.readers).clear();
        self.writer()?.vacuum()
    }

    /// A copy of the present contents, into a new file, also while it is written to.
    pub(crate) fn copy_to(&self, path: &Path) -> Result<(), StoreError> {
        self.read(|connection| {
            let mut copy = Connection::open(path)?;
            {
                let backup = rusqlite::backup::Backup::new(connection, &mut copy)?;
                // All pages in one step, so that there are no writes in between.
                backup.step(-1)?;
            }
            // One file, without a WAL beside it.
            copy.pragma_update(None, "journal_mode", "delete")?;
            copy.close().map_err(|(_, error)| error)
        })
    }

    fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        const IDLE: usize = 8;
        let cannot = |error| passing(&format!("read {}", self.path.display()), &error);
        let idle = locked(&self.readers).pop();
        let connection = idle.map_or_else(|| schema::reader(&self.path), Ok).map_err(cannot)?;
        let read = read(&connection).map_err(cannot)?;
        let mut idle = locked(&self.readers);
        if idle.len() < IDLE {
            idle.push(connection);
        }
        Ok(read)
    }

    /// Reads of one campaign in one snapshot; nothing if there is no such campaign.
    fn read_campaign<T: Default>(
        &self,
        id: &str,
        read: impl FnOnce(&Connection, i64) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.read(|connection| {
            read::together(connection, |connection| {
                let number = read::number(connection, id)?;
                number.map_or_else(|| Ok(T::default()), |number| read(connection, number))
            })
        })
    }

    fn writer(&self) -> Result<MutexGuard<'_, Writer>, StoreError> {
        let writer = self
            .writer
            .as_ref()
            .ok_or_else(|| refused(format!("{} is open only to be read", self.path.display())))?;
        Ok(locked(writer))
    }

    /// Fails for a file that was removed or replaced: its contents would be lost with the process.
    fn check_place(&self) -> Result<(), StoreError> {
        let is_same = |file: &FileId| FileId::of(&self.path).is_ok_and(|found| found == *file);
        if self.file.as_ref().is_none_or(is_same) {
            return Ok(());
        }
        let what = format!(
            "{} was removed or replaced while it was served: its contents are lost; restore a backup with `outlay restore`",
            self.path.display()
        );
        Err(StoreError { what, is_fatal: true })
    }

    /// Leases continue after rounds that were imported.
    fn pass(&self, batch: &[Command], answers: &[Result<Done, Refusal>]) {
        let mut leases = locked(&self.leases);
        for (command, answer) in batch.iter().zip(answers) {
            match (command, answer) {
                (Command::Ask(ask), Ok(Done::Asked)) => {
                    if let Some(next) = leases.get_mut(&ask.campaign) {
                        *next = ask.rounds.end.max(*next);
                    }
                }
                (Command::Delete(deletion), Ok(_)) => drop(leases.remove(&deletion.campaign)),
                _ => {}
            }
        }
    }
}

/// The state is consistent after a panic of another thread: a batch is on disk or not, and the rest
/// are lists.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn mark(connection: &Connection) -> rusqlite::Result<StoreMark> {
    let meta = "SELECT (SELECT value FROM meta WHERE name = 'uuid'), (SELECT value FROM meta WHERE name = 'outlay_store'), \
                (SELECT value FROM meta WHERE name = 'seq')";
    let mark = |row: &rusqlite::Row<'_>| {
        Ok(StoreMark {
            uuid: row.get(0)?,
            form: read::natural(row, 1)?,
            seq: read::natural(row, 2)?,
        })
    };
    connection.query_row(meta, [], mark)
}

fn check_counts(
    connection: &Connection,
    options: &SqliteOptions,
    path: &Path,
) -> Result<(), StoreError> {
    let check = || {
        let is_small = check::items_kept(connection)? < options.fold_below;
        if is_small { check::fold(connection) } else { check::glance(connection) }
    };
    let verified =
        check().map_err(|error| passing(&format!("check {}", path.display()), &error))?;
    match verified.faults.as_slice() {
        [] => Ok(()),
        [first, rest @ ..] => {
            let more =
                if rest.is_empty() { String::new() } else { format!(", and {} more", rest.len()) };
            let path = path.display();
            Err(refused(format!(
                "{path} is damaged: {first}{more}; `outlay verify` lists all errors, `outlay restore` restores a backup"
            )))
        }
    }
}

impl Store for SqliteStore {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn is_shared(&self) -> bool {
        false
    }

    fn apply(&self, batch: &[Command]) -> Result<Vec<Result<Done, Refusal>>, StoreError> {
        self.check_place()?;
        let answers = self.writer()?.apply(batch)?;
        self.pass(batch, &answers);
        Ok(answers)
    }

    fn lease_rounds(&self, campaign: &str, count: u32) -> Result<Range<u64>, StoreError> {
        let mut leases = locked(&self.leases);
        if !leases.contains_key(campaign) {
            let past = self.read_campaign(campaign, |connection, number| {
                read::past_rounds(connection, number).map(Some)
            })?;
            let past = past.ok_or_else(|| refused(format!("no campaign is named {campaign}")))?;
            leases.insert(campaign.to_owned(), past);
        }
        let next = leases.entry(campaign.to_owned()).or_insert(1);
        let first = *next;
        *next += u64::from(count);
        Ok(first..*next)
    }

    fn campaign(&self, id: &str) -> Result<Option<CampaignRow>, StoreError> {
        self.read(|connection| read::campaign(connection, id))
    }

    fn campaigns(&self, after: Option<&str>, limit: usize) -> Result<Vec<CampaignRow>, StoreError> {
        self.read(|connection| read::campaigns(connection, after, limit))
    }

    fn problem(&self, campaign: &str, amendments: u64) -> Result<Option<String>, StoreError> {
        self.read_campaign(campaign, |connection, number| {
            read::problem(connection, number, amendments)
        })
    }

    fn standing(&self, campaign: &str) -> Result<Standing, StoreError> {
        self.read(|connection| {
            read::together(connection, |connection| read::standing(connection, campaign))
        })
    }

    fn split(&self, campaign: &str, round: u64) -> Result<Option<SplitRow>, StoreError> {
        self.read_campaign(campaign, |connection, number| read::split(connection, number, round))
    }

    fn last_split(&self, campaign: &str) -> Result<Option<SplitRow>, StoreError> {
        self.read_campaign(campaign, read::last_split)
    }

    fn open_rounds(&self, campaign: &str, now: Millis) -> Result<Vec<(u64, Millis)>, StoreError> {
        self.read_campaign(campaign, |connection, number| {
            read::open_rounds(connection, number, now)
        })
    }

    fn rounds(
        &self,
        campaign: &str,
        after: u64,
        limit: usize,
    ) -> Result<Vec<RoundRow>, StoreError> {
        self.read_campaign(campaign, |connection, number| {
            read::rounds(connection, number, after, limit)
        })
    }

    fn events(&self, campaign: &str, after: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
        self.read_campaign(campaign, |connection, number| {
            read::events(connection, number, after, limit)
        })
    }

    fn last_event(&self, campaign: &str) -> Result<u64, StoreError> {
        self.read_campaign(campaign, read::last_event)
    }

    fn used_key(&self, token: &str, key: &str, now: Millis) -> Result<Option<UsedKey>, StoreError> {
        self.read(|connection| read::used_key(connection, token, key, now))
    }

    fn tokens(&self) -> Result<Vec<TokenRow>, StoreError> {
        self.read(read::tokens)
    }

    fn checkpoint(&self, campaign: &str) -> Result<Option<Checkpoint>, StoreError> {
        self.read_campaign(campaign, read::checkpoint)
    }

    fn compact(&self, compaction: &Compaction) -> Result<Compacted, StoreError> {
        self.check_place()?;
        self.writer()?.compact(compaction)
    }

    fn purge(&self, rows: usize) -> Result<u64, StoreError> {
        self.check_place()?;
        self.writer()?.purge(rows)
    }

    fn release_space(&self) -> Result<u64, StoreError> {
        self.check_place()?;
        self.writer()?.release_space()
    }

    fn size(&self) -> Result<StoreSize, StoreError> {
        self.read(write::pages)
    }

    fn deleted_campaigns(&self, limit: usize) -> Result<Vec<DeletedCampaign>, StoreError> {
        self.read(|connection| read::deleted_campaigns(connection, limit))
    }

    fn verify(&self) -> Result<Verified, StoreError> {
        self.read(|connection| {
            let damage = check::file(connection)?;
            let mut verified = read::together(connection, check::fold)?;
            verified.faults.splice(0..0, damage);
            Ok(verified)
        })
    }

    fn metrics(&self) -> StoreMetrics {
        let size = |path: &Path| std::fs::metadata(path).ok().map(|file| file.len());
        let free = self.read(|connection| {
            let pragma =
                |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
            Ok(pragma("freelist_count")?.saturating_mul(pragma("page_size")?))
        });
        StoreMetrics {
            file_bytes: size(&self.path),
            // There is none before the first write.
            wal_bytes: Some(size(&folder::beside(&self.path, "-wal")).unwrap_or(0)),
            free_bytes: free.ok().and_then(|bytes| u64::try_from(bytes).ok()),
            disk_free_bytes: disk_free_bytes(&self.path),
            pools: Vec::new(),
        }
    }

    fn health(&self) -> Result<(), StoreError> {
        self.check_place()?;
        self.writer()?.health()
    }

    fn begin_import(&self) -> Result<(), StoreError> {
        self.writer()?.set_importing(true)
    }

    fn end_import(&self) -> Result<(), StoreError> {
        self.writer()?.set_importing(false)
    }

    fn close(&self) -> Result<(), StoreError> {
        if self.writer.is_none() {
            return Ok(());
        }
        // Idle readers would keep the WAL from being truncated.
        locked(&self.readers).clear();
        self.writer()?.close()
    }
}
