//! The schema of the file: numbered migrations, only forward, all in one transaction.

use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension};

use super::failure::{lasting, passing};
use super::folder::{self, refused};
use crate::store::StoreError;

/// Migration n leads from version n to version n + 1.
const STEPS: &[&str] = &[
    include_str!("schema_1.sql"),
    include_str!("schema_2.sql"),
    include_str!("schema_3.sql"),
    include_str!("schema_4.sql"),
    include_str!("schema_5.sql"),
    include_str!("schema_6.sql"),
    include_str!("schema_7.sql"),
];

/// Pages of the WAL are a few kilobytes each: some sixteen megabytes.
pub(super) const CHECKPOINT_PAGES: i64 = 4000;

/// Time to wait for a person who has opened the file by hand.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);

/// Creates an empty database, under a temporary name until it is complete.
pub(super) fn create(partial: &Path, path: &Path) -> Result<(), StoreError> {
    folder::remove_database(partial);
    let cannot = |error: std::io::Error| folder::cannot("write", path, &error);
    folder::private_file().create_new(true).open(partial).map_err(cannot)?;
    let closed = writer(partial)?.close();
    closed.map_err(|(_, error)| passing(&format!("close {}", partial.display()), &error))?;
    std::fs::File::open(partial).and_then(|file| file.sync_all()).map_err(cannot)?;
    std::fs::rename(partial, path).map_err(cannot)
}

/// The writing connection; creates the file or migrates it.
pub(super) fn writer(path: &Path) -> Result<Connection, StoreError> {
    let shown = path.display();
    let open = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, open)
        .map_err(|error| passing(&format!("open {shown}"), &error))?;
    check_form(&connection, path, STEPS.len())?;
    let doing = format!("prepare {shown}");
    let prepare = |connection: &Connection| -> rusqlite::Result<()> {
        connection.busy_timeout(PATIENCE)?;
        // Before there are tables: existing files change only when they are rewritten.
        connection.pragma_update(None, "auto_vacuum", "incremental")?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        sync_always(connection)?;
        connection.pragma_update(None, "cache_size", -64_000)?;
        keep_prepared(connection)
    };
    prepare(&connection).map_err(|error| passing(&doing, &error))?;
    let mode: String = connection
        .pragma_query_value(None, "journal_mode", |row| row.get(0))
        .map_err(|error| passing(&doing, &error))?;
    if mode != "wal" {
        return Err(refused(format!(
            "{shown}: this file system cannot share memory between processes, which the store needs"
        )));
    }
    migrate(&mut connection, STEPS)
        .map_err(|error| lasting(&format!("bring {shown} to the present form"), &error))?;
    Ok(connection)
}

/// A read-only connection. It never waits for the writer.
pub(super) fn reader(path: &Path) -> rusqlite::Result<Connection> {
    // Read and write, because the first connection after a crash must recover the file.
    let open = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(path, open).and_then(prepared_to_read);
    match opened {
        // If nothing can be written, there is no shared memory, and none is needed.
        Err(error)
            if error.sqlite_error_code() == Some(ErrorCode::CannotOpen) && is_at_rest(path) =>
        {
            let open = OpenFlags::SQLITE_OPEN_READ_ONLY
                | OpenFlags::SQLITE_OPEN_NO_MUTEX
                | OpenFlags::SQLITE_OPEN_URI;
            prepared_to_read(Connection::open_with_flags(unchanging(path), open)?)
        }
        opened => opened,
    }
}

fn prepared_to_read(connection: Connection) -> rusqlite::Result<Connection> {
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    keep_prepared(&connection)?;
    // Only this accesses the file.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

/// True if everything is in the file itself, on a read-only file system.
fn is_at_rest(path: &Path) -> bool {
    let is_empty =
        std::fs::metadata(folder::beside(path, "-wal")).map_or(true, |wal| wal.len() == 0);
    is_empty && std::fs::File::options().write(true).open(path).is_err()
}

/// A URI that declares the file immutable.
fn unchanging(path: &Path) -> String {
    let escaped: String = path.to_string_lossy().chars().fold(String::new(), |mut text, letter| {
        match letter {
            '%' => text.push_str("%25"),
            '?' => text.push_str("%3f"),
            '#' => text.push_str("%23"),
            letter => text.push(letter),
        }
        text
    });
    format!("file:{escaped}?immutable=1")
}

/// Another connection to the file of a writer, for checkpoints.
pub(super) fn checkpointer(path: &Path) -> rusqlite::Result<Connection> {
    let open = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, open)?;
    sync_always(&connection)?;
    Ok(connection)
}

/// Nothing is acknowledged, and nothing is removed from the WAL, before it is on disk.
fn sync_always(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "synchronous", "full")?;
    // These have an effect only on macOS.
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    // The writer starts checkpoints between batches, and checks for failures.
    connection.pragma_update(None, "wal_autocheckpoint", 0)
}

/// Statements are planned once: without the second line SQLite plans again whenever a bound value
/// changes.
fn keep_prepared(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(64);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(|_| ())
}

/// Rejects files that are not a store, or one of a later version. `newest` is the latest known
/// version.
pub(super) fn check_form(
    connection: &Connection,
    path: &Path,
    newest: usize,
) -> Result<(), StoreError> {
    let shown = path.display();
    let cannot = |error| passing(&format!("read {shown}"), &error);
    if is_empty(connection).map_err(cannot)? {
        return Ok(());
    }
    let form = form(connection).map_err(cannot)?;
    match form {
        None => Err(refused(format!(
            "{shown} is a database, but not one of outlay: name another folder"
        ))),
        Some(form) if form < 1 => Err(refused(format!(
            "{shown} has form {form}, which there never was: name another folder"
        ))),
        Some(form) if form > newest as i64 => Err(refused(format!(
            "{shown} has form {form}, and this outlay knows forms up to {newest}: use the later outlay that wrote it"
        ))),
        Some(_) => Ok(()),
    }
}

/// The mark of an unfinished import.
pub(super) const BEGIN_IMPORT: &str = "INSERT OR REPLACE INTO meta VALUES ('importing', 1)";
pub(super) const END_IMPORT: &str = "DELETE FROM meta WHERE name = 'importing'";

/// Rejects a store with an unfinished import: a part of the export is missing, although its counts
/// agree.
pub(super) fn check_import(connection: &Connection, folder: &Path) -> Result<(), StoreError> {
    let is_importing = "SELECT count(*) > 0 FROM meta WHERE name = 'importing'";
    let is_importing = |connection: &Connection| {
        if is_empty(connection)? {
            return Ok(false);
        }
        connection.query_row(is_importing, [], |row| row.get::<_, bool>(0))
    };
    let shown = folder.display();
    if is_importing(connection).map_err(|error| passing(&format!("read {shown}"), &error))? {
        return Err(refused(format!(
            "the import into {shown} has not finished, so the store is incomplete: wait for it or, if it was interrupted, remove the folder and import again"
        )));
    }
    Ok(())
}

/// The present version.
pub(super) fn newest() -> usize {
    STEPS.len()
}

fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))
}

fn form(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    let has_meta = "SELECT count(*) > 0 FROM sqlite_schema WHERE type = 'table' AND name = 'meta'";
    if !connection.query_row(has_meta, [], |row| row.get::<_, bool>(0))? {
        return Ok(None);
    }
    connection
        .query_row("SELECT value FROM meta WHERE name = 'outlay_store'", [], |row| row.get(0))
        .optional()
}

fn migrate(connection: &mut Connection, steps: &[&str]) -> rusqlite::Result<()> {
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let present = if is_empty(&transaction)? { 0 } else { form(&transaction)?.unwrap_or(0) };
    let present = usize::try_from(present).unwrap_or(0);
    if present >= steps.len() {
        return transaction.commit();
    }
    for step in &steps[present..] {
        transaction.execute_batch(step)?;
    }
    if present == 0 {
        transaction.execute(
            "INSERT INTO meta VALUES ('uuid', lower(hex(randomblob(16)))), ('seq', 0)",
            [],
        )?;
    }
    transaction
        .execute("INSERT OR REPLACE INTO meta VALUES ('outlay_store', ?1)", [steps.len() as i64])?;
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta<T: rusqlite::types::FromSql>(connection: &Connection, name: &str) -> T {
        connection
            .query_row("SELECT value FROM meta WHERE name = ?1", [name], |row| row.get(0))
            .unwrap()
    }

    #[test]
    fn steps_continue_from_the_form_of_a_file() {
        let steps = [
            STEPS[0],
            "CREATE TABLE later (x INTEGER) STRICT",
            "ALTER TABLE later ADD COLUMN y INTEGER",
        ];
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &steps[..1]).unwrap();
        let uuid: String = meta(&connection, "uuid");
        connection.execute("UPDATE meta SET value = 41 WHERE name = 'seq'", []).unwrap();
        for _ in 0..2 {
            migrate(&mut connection, &steps).unwrap();
            connection.execute("INSERT INTO later (x, y) VALUES (1, 2)", []).unwrap();
            assert_eq!(meta::<i64>(&connection, "outlay_store"), 3);
            assert_eq!(
                (meta::<String>(&connection, "uuid"), meta::<i64>(&connection, "seq")),
                (uuid.clone(), 41)
            );
        }
        let path = Path::new("outlay.db");
        let later = check_form(&connection, path, 2).unwrap_err();
        assert_eq!(
            later.what,
            "outlay.db has form 3, and this outlay knows forms up to 2: use the later outlay that wrote it"
        );
        assert_eq!(check_form(&connection, path, 3), Ok(()));
    }

    #[test]
    fn a_read_only_file_is_read_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a%20?b#c.db");
        drop(writer(&path).unwrap());
        let open = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_URI;
        let connection =
            prepared_to_read(Connection::open_with_flags(unchanging(&path), open).unwrap())
                .unwrap();
        assert_eq!(meta::<i64>(&connection, "outlay_store"), STEPS.len() as i64);
        drop(connection);
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            1,
            "it has written something"
        );
        assert!(!is_at_rest(&path), "it can be written to");
    }

    #[test]
    fn an_unknown_form_is_refused() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, STEPS).unwrap();
        connection.execute("UPDATE meta SET value = 0 WHERE name = 'outlay_store'", []).unwrap();
        let error = check_form(&connection, Path::new("outlay.db"), STEPS.len()).unwrap_err();
        assert_eq!(error.what, "outlay.db has form 0, which there never was: name another folder");
    }

    #[test]
    fn a_step_that_fails_changes_nothing() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &STEPS[..1]).unwrap();
        let broken = [STEPS[0], "CREATE TABLE later (x INTEGER) STRICT", "NOT SQL"];
        assert!(migrate(&mut connection, &broken).is_err());
        assert_eq!(meta::<i64>(&connection, "outlay_store"), 1);
        assert!(connection.execute("INSERT INTO later (x) VALUES (1)", []).is_err());
    }

    #[test]
    fn a_file_of_the_first_form_keeps_its_tokens() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &STEPS[..1]).unwrap();
        connection
            .execute(
                "INSERT INTO token VALUES ('a', zeroblob(32), '[\"read\"]', NULL, 10, NULL, 20)",
                [],
            )
            .unwrap();
        migrate(&mut connection, STEPS).unwrap();
        let tokens = super::super::read::tokens(&connection).unwrap();
        assert_eq!(tokens.len(), 1);
        assert_eq!(
            (tokens[0].id.as_str(), tokens[0].revoked_at, tokens[0].last_used_at, &tokens[0].name),
            ("a", Some(20), None, &None)
        );
    }

    #[test]
    fn another_database_is_left_alone() {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch(
                "CREATE TABLE meta (name TEXT, value TEXT); INSERT INTO meta VALUES ('a', 'b')",
            )
            .unwrap();
        assert!(
            check_form(&connection, Path::new("x.db"), 1)
                .unwrap_err()
                .what
                .contains("not one of outlay")
        );
    }
}
