//! Properties of files: locks, damage, later versions, reads during writes.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use outlay_server::archive::{backup, restore};
use outlay_server::store::{SqliteOptions, SqliteStore, Store, StoreError};
use rusqlite::Connection;

use super::place::{any_file_system, folder};
use super::suite::snapshot;
use crate::support::commands::*;

fn open(folder: &Path) -> SqliteStore {
    SqliteStore::open(folder, &any_file_system()).unwrap()
}

#[track_caller]
fn refused(folder: &Path) -> StoreError {
    SqliteStore::open(folder, &any_file_system()).unwrap_err()
}

/// A campaign with a few rounds, reports and a correction.
fn filled(folder: &Path) -> SqliteStore {
    let store = open(folder);
    let batch = [
        create("c", 2),
        ask("c", 1..5, 2),
        tell("c", 1, &[(0, done(5)), (1, FAILED)]),
        tell("c", 2, &[(1, done(6))]),
        tell("c", 3, &[(0, done(7))]),
        correct("c", 1, 0, done(8)),
    ];
    assert!(store.apply(&batch).unwrap().iter().all(Result::is_ok));
    store
}

/// Changes the file with SQL, bypassing the store.
fn alter_file(folder: &Path, sql: &str) {
    let connection = Connection::open(folder.join("outlay.db")).unwrap();
    connection.execute_batch(sql).unwrap();
}

/// The names of the files in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn an_empty_file_is_refused() {
    let place = folder();
    let path = place.path().join("outlay.db");
    std::fs::write(&path, "").unwrap();
    for error in [
        SqliteStore::open(place.path(), &any_file_system()).unwrap_err(),
        SqliteStore::open_to_read(place.path()).unwrap_err(),
        SqliteStore::verify_in(place.path()).unwrap_err(),
    ] {
        assert!(error.what.contains("is empty (0 bytes)"), "{error}");
    }
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 0, "the file was changed");
    std::fs::remove_file(&path).unwrap();
    drop(SqliteStore::open(place.path(), &any_file_system()).unwrap());
    assert_eq!(names(place.path()), ["outlay.db", "outlay.lock"]);
}

#[test]
fn a_log_without_its_database_is_refused() {
    let place = folder();
    std::fs::write(place.path().join("outlay.db-wal"), "something").unwrap();
    let error = SqliteStore::open(place.path(), &any_file_system()).unwrap_err();
    assert!(error.what.contains("outlay.db is missing, but its log"), "{error}");
}

#[test]
fn files_of_an_interrupted_first_start_are_replaced() {
    let place = folder();
    for name in ["outlay.db.new", "outlay.db.new-wal", "outlay.db.new-shm"] {
        std::fs::write(place.path().join(name), "something").unwrap();
    }
    drop(SqliteStore::open(place.path(), &any_file_system()).unwrap());
    assert_eq!(names(place.path()), ["outlay.db", "outlay.lock"]);
}

#[test]
fn a_removed_folder_is_detected() {
    for replaces in [false, true] {
        let place = folder();
        let data = place.path().join("data");
        let store = SqliteStore::open(&data, &any_file_system()).unwrap();
        one(&store, create("c", 1)).unwrap();
        store.health().unwrap();
        std::fs::remove_dir_all(&data).unwrap();
        if replaces {
            drop(SqliteStore::open(&data, &any_file_system()).unwrap());
        }
        let error = store.health().unwrap_err();
        assert!(error.is_fatal && error.what.contains("was removed or replaced"), "{error}");
        assert_eq!(store.apply(&[create("d", 1)]).unwrap_err(), error);
    }
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read_a_store_and_its_backups() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let place = folder();
    let (data, copy, again) =
        (place.path().join("data"), place.path().join("copy"), place.path().join("again"));
    let store = SqliteStore::open(&data, &any_file_system()).unwrap();
    one(&store, create("c", 1)).unwrap();
    backup(&data, &copy, 1).unwrap();
    restore(&copy, &again, &any_file_system()).unwrap();
    for folder in [&data, &copy, &again] {
        assert_eq!(mode(folder), 0o700, "{}", folder.display());
        for name in names(folder) {
            assert_eq!(mode(&folder.join(&name)), 0o600, "{}/{name}", folder.display());
        }
    }
    assert_eq!(names(&data), ["outlay.db", "outlay.db-shm", "outlay.db-wal", "outlay.lock"]);
}

#[test]
fn a_second_process_is_refused_while_the_first_holds_the_folder() {
    let folder = folder();
    let first = open(folder.path());
    let error = refused(folder.path());
    assert!(!error.is_fatal);
    let expected =
        format!("is in use by process {}: one process serves a folder", std::process::id());
    assert!(error.what.contains(&expected), "{}", error.what);
    drop(first);
    open(folder.path());
}

#[test]
fn a_closed_store_leaves_one_file_and_the_lock() {
    let folder = folder();
    filled(folder.path()).close().unwrap();
    let mut left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["outlay.db", "outlay.lock"]);
}

#[test]
fn a_file_of_a_later_program_is_refused_and_left_alone() {
    let folder = folder();
    drop(filled(folder.path()));
    alter_file(folder.path(), "UPDATE meta SET value = 99 WHERE name = 'outlay_store'");
    let before = std::fs::read(folder.path().join("outlay.db")).unwrap();
    for error in [refused(folder.path()), SqliteStore::open_to_read(folder.path()).unwrap_err()] {
        assert!(error.what.ends_with("has form 99, and this outlay knows forms up to 7: use the later outlay that wrote it"), "{error}");
    }
    assert_eq!(std::fs::read(folder.path().join("outlay.db")).unwrap(), before);
}

#[test]
fn invalid_store_files_are_refused_and_left_alone() {
    let other = folder();
    alter_file(other.path(), "CREATE TABLE photos (x)");
    assert!(refused(other.path()).what.contains("not one of outlay"));
    let text = folder();
    std::fs::write(
        text.path().join("outlay.db"),
        "this is no database at all, but a text of some length",
    )
    .unwrap();
    let error = refused(text.path());
    assert!(error.what.contains("cannot read") && error.what.contains("not a database"), "{error}");
    assert!(
        std::fs::read_to_string(text.path().join("outlay.db"))
            .unwrap()
            .starts_with("this is no database")
    );
}

#[test]
fn opening_to_read_creates_no_store() {
    let folder = folder();
    let missing = folder.path().join("missing");
    assert!(SqliteStore::open_to_read(&missing).unwrap_err().what.contains("has no store"));
    assert!(!missing.exists());
}

/// Each of these changes would make counts wrong, now or later.
#[test]
fn inconsistent_files_are_refused() {
    for (sql, fault) in [
        (
            "UPDATE task_count SET reward_sum = reward_sum + 1 WHERE task = 1",
            "the counts are not those of its feedback",
        ),
        (
            "UPDATE task_count SET expected = expected - 1 WHERE task = 0",
            "the counts are not those of its feedback",
        ),
        ("UPDATE tally SET version = version + 1", "the counts are not those of its feedback"),
        ("UPDATE tally SET late = 1", "the counts are not those of its feedback"),
        ("UPDATE tally SET rounds = 9", "the counts are not those of its feedback"),
        ("DELETE FROM tally", "cannot check"),
        ("DELETE FROM told WHERE round = 3", "the counts are not those of its feedback"),
        ("DELETE FROM correction", "the counts are not those of its feedback"),
        ("UPDATE told SET round = 1 WHERE round = 3", "round 1: task 0 is counted twice"),
        ("UPDATE told SET round = 77 WHERE round = 3", "round 77: reported, but never issued"),
        ("UPDATE ask SET first = 2", "round 1: reported, but never issued"),
        (
            "UPDATE correction SET from_reward = 6",
            "round 1: a correction of an outcome that differs from the reported one",
        ),
        ("UPDATE correction SET round = 4", "1 corrections of outcomes that were never reported"),
        ("UPDATE campaign SET tasks = 1", "cannot check"),
        ("UPDATE told SET items = x'ff' WHERE round = 3", "cannot check"),
        ("UPDATE told SET campaign = 9 WHERE round = 3", "1 reports belong to no campaign"),
        (
            "INSERT INTO ask SELECT campaign, 3, 9, there, 99, stats_version, at, expires_at, token, budget, available, spend, success, idx, scale, volume, amendments FROM ask",
            "a round was issued twice",
        ),
    ] {
        let folder = folder();
        drop(filled(folder.path()));
        alter_file(folder.path(), sql);
        let error = refused(folder.path());
        assert!(error.what.contains(fault), "{sql}: {error}");
        let listed = SqliteStore::open_to_read(folder.path()).unwrap().verify();
        assert!(
            listed.is_err()
                || listed
                    .as_ref()
                    .is_ok_and(|verified| verified.faults.iter().any(|line| line.contains(fault))),
            "{sql}: {listed:?}"
        );
    }
}

#[test]
fn large_stores_are_checked_by_their_counts_only() {
    let glance = SqliteOptions { fold_below: 2, ..any_file_system() };
    let folder = folder();
    drop(filled(folder.path()));
    drop(SqliteStore::open(folder.path(), &glance).unwrap());
    alter_file(folder.path(), "UPDATE task_count SET told = told + 1 WHERE task = 1");
    let error = SqliteStore::open(folder.path(), &glance).unwrap_err();
    assert!(error.what.contains("campaign c: its counts do not agree with each other"), "{error}");
}

#[test]
fn every_damaged_page_is_detected() {
    let folder = folder();
    let store = open(folder.path());
    assert!(
        store.apply(&[create("c", 2), ask("c", 1..2001, 2)]).unwrap().iter().all(Result::is_ok)
    );
    let batch: Vec<_> =
        (1..=2000).map(|round| tell("c", round, &[(0, done(round)), (1, FAILED)])).collect();
    assert!(store.apply(&batch).unwrap().iter().all(Result::is_ok));
    drop(store);
    let path = folder.path().join("outlay.db");
    let whole = std::fs::read(&path).unwrap();
    let (mut found, mut tried) = (0, 0);
    for page in 1..whole.len() / 4096 {
        let mut bytes = whole.clone();
        bytes[page * 4096..][..64].fill(0xa5);
        std::fs::write(&path, bytes).unwrap();
        let verified = SqliteStore::open_to_read(folder.path()).and_then(|store| store.verify());
        found += usize::from(
            verified.is_err() || verified.is_ok_and(|verified| !verified.faults.is_empty()),
        );
        tried += 1;
    }
    assert!(tried > 20);
    assert_eq!(found, tried);
}

#[test]
fn reads_during_writes_are_consistent() {
    let folder = folder();
    let store = open(folder.path());
    assert!(store.apply(&[create("c", 2), ask("c", 1..301, 2)]).unwrap().iter().all(Result::is_ok));
    let outside = SqliteStore::open_to_read(folder.path()).unwrap();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for reader in [&store, &outside] {
            scope.spawn(|| {
                let mut last = 0;
                while !ended.load(Ordering::SeqCst) {
                    let standing = reader.standing("c").unwrap();
                    // Both tasks are reported in the same batch, and counts never decrease.
                    assert_eq!(standing.tasks[0].told, standing.tasks[1].told);
                    assert_eq!(standing.version, 2 * standing.tasks[0].told);
                    assert!(standing.version >= last);
                    last = standing.version;
                    assert_eq!(reader.verify().unwrap().faults, Vec::<String>::new());
                    assert!(
                        reader
                            .rounds("c", 0, 400)
                            .unwrap()
                            .iter()
                            .all(|round| round.told.len() != 1)
                    );
                }
            });
        }
        for round in 1..=300 {
            assert_eq!(
                one(&store, tell("c", round, &[(0, done(round)), (1, FAILED)])),
                counted(&[true, true], true)
            );
        }
        ended.store(true, Ordering::SeqCst);
    });
    assert_eq!(outside.standing("c").unwrap().version, 600);
}

#[test]
fn a_store_open_to_read_refuses_writes() {
    let folder = folder();
    let store = filled(folder.path());
    let outside = SqliteStore::open_to_read(folder.path()).unwrap();
    assert_eq!(snapshot(&outside), snapshot(&store));
    let error = outside.apply(&[create("d", 1)]).unwrap_err();
    assert!(!error.is_fatal && error.what.ends_with("is open only to be read"), "{error}");
    assert!(outside.health().is_err());
    assert_eq!(store.campaign("d").unwrap(), None);
}

/// Another process holds the write lock of the file.
#[test]
fn writes_wait_for_an_external_lock() {
    let folder = folder();
    let store = filled(folder.path());
    let by_hand = Connection::open(folder.path().join("outlay.db")).unwrap();
    by_hand.execute_batch("BEGIN IMMEDIATE").unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| one(&store, tell("c", 2, &[(0, done(1))])));
        std::thread::sleep(std::time::Duration::from_millis(300));
        // Readers do not wait.
        assert_eq!(store.standing("c").unwrap().version, 5);
        by_hand.execute_batch("COMMIT").unwrap();
        assert_eq!(waiting.join().unwrap(), counted(&[true], true));
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_system_in_memory_is_refused_unless_allowed() {
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else { return };
    let data = folder.path().join("a/b");
    let error = SqliteStore::open(&data, &SqliteOptions::default()).unwrap_err();
    assert!(error.what.contains("is on a file system in memory (tmpfs)"), "{error}");
    assert!(error.what.contains(data.to_str().unwrap()), "{error}");
    assert_eq!(names(folder.path()), Vec::<String>::new(), "a refused start left files behind");
    assert!(
        std::fs::read_dir(folder.path()).unwrap().next().is_none(),
        "a refused start left files behind"
    );
    SqliteStore::open(folder.path(), &any_file_system()).unwrap();
}
