//! Files of earlier programs: `form-1` was written by a service before tokens had a last use,
//! `form-2` before rounds could be compacted and campaigns deleted, `form-4` before tasks could complete
//! several times, `form-5` before rounds had scales and campaigns could be amended. Each was exported as
//! well.

use std::path::Path;

use outlay_server::archive::{backup, export, import, restore};
use outlay_server::store::{Command, MemoryStore, SqliteStore, Store, TokenUse};

use super::place::{any_file_system, folder};
use crate::support::commands::*;

const EXPORT: &str = include_str!("form-1/export.ndjson");

fn exported(store: &dyn Store) -> String {
    let mut lines = Vec::new();
    export(store, &mut lines).unwrap();
    String::from_utf8(lines).unwrap().replacen("\"form\":5", "\"form\":1", 1)
}

/// A folder with a file of the first form.
fn first_form() -> tempfile::TempDir {
    let place = folder();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stores/form-1/outlay.db");
    std::fs::copy(file, place.path().join("outlay.db")).unwrap();
    place
}

#[test]
fn a_file_of_the_first_form_is_read_unchanged() {
    let place = first_form();
    let store = SqliteStore::open_to_read(place.path()).unwrap();
    assert_eq!(exported(&store), EXPORT);
    assert_eq!((store.mark().unwrap().form, store.verify().unwrap().faults), (1, Vec::new()));
}

#[test]
fn a_file_of_the_first_form_is_migrated_and_usable() {
    let place = first_form();
    let store = SqliteStore::open(place.path(), &any_file_system()).unwrap();
    assert_eq!((store.mark().unwrap().form, store.verify().unwrap().faults), (7, Vec::new()));
    assert_eq!(exported(&store), EXPORT);
    let id = store.tokens().unwrap()[0].id.clone();
    one(&store, Command::UseToken(TokenUse { id, at: 7 })).unwrap();
    drop(store);
    let store = SqliteStore::open(place.path(), &any_file_system()).unwrap();
    assert_eq!(store.tokens().unwrap()[0].last_used_at, Some(7));
    assert_eq!(store.lease_rounds("shop", 1).unwrap(), 5..6);
}

#[test]
fn a_backup_of_the_first_form_is_restored_and_migrated() {
    let (place, other) = (first_form(), folder());
    let copy = other.path().join("copy");
    assert_eq!(backup(place.path(), &copy, 1).unwrap().form, 1);
    let data = folder();
    restore(&copy, data.path(), &any_file_system()).unwrap();
    let store = SqliteStore::open(data.path(), &any_file_system()).unwrap();
    assert_eq!((store.mark().unwrap().form, exported(&store)), (7, EXPORT.to_owned()));
}

#[test]
fn an_export_of_the_first_form_is_imported() {
    let store = MemoryStore::new();
    import(&store, &mut EXPORT.as_bytes()).unwrap();
    assert_eq!(exported(&store), EXPORT);
}

const EXPORT_2: &str = include_str!("form-2/export.ndjson");

fn exported_2(store: &dyn Store) -> String {
    let mut lines = Vec::new();
    export(store, &mut lines).unwrap();
    String::from_utf8(lines).unwrap().replacen("\"form\":5", "\"form\":2", 1)
}

#[test]
fn a_file_of_the_second_form_is_read_and_usable() {
    let place = folder();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stores/form-2/outlay.db");
    std::fs::copy(file, place.path().join("outlay.db")).unwrap();
    let store = SqliteStore::open_to_read(place.path()).unwrap();
    assert_eq!(exported_2(&store), EXPORT_2);
    assert_eq!((store.mark().unwrap().form, store.verify().unwrap().faults), (2, Vec::new()));
    drop(store);
    let store = SqliteStore::open(place.path(), &any_file_system()).unwrap();
    assert_eq!((store.mark().unwrap().form, exported_2(&store)), (7, EXPORT_2.to_owned()));
    // A key that was used before the update is still known, and goes with its campaign.
    assert!(store.used_key("", "k1", 0).unwrap().is_some());
    let standing = store.standing("shop").unwrap();
    assert_eq!(store.compact(&compaction("shop", i64::MAX, 1)).unwrap().rounds, 3);
    assert_eq!(store.standing("shop").unwrap(), standing);
    store.vacuum().unwrap();
    assert_eq!(store.verify().unwrap().faults, Vec::<String>::new());
    one(&store, delete("shop", 1, true)).unwrap();
    assert_eq!(store.used_key("", "k1", 0).unwrap(), None);
    while store.purge(1).unwrap() > 0 {}
    assert_eq!(store.verify().unwrap().faults, Vec::<String>::new());
}

const EXPORT_4: &str = include_str!("form-4/export.ndjson");

fn exported_4(store: &dyn Store) -> String {
    let mut lines = Vec::new();
    export(store, &mut lines).unwrap();
    String::from_utf8(lines).unwrap().replacen("\"form\":5", "\"form\":3", 1)
}

/// Written before tasks could complete several times in a round. The file has compacted rounds and
/// a correction of a remaining round.
#[test]
fn a_file_from_before_counts_is_read_and_usable() {
    let place = folder();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stores/form-4/outlay.db");
    std::fs::copy(file, place.path().join("outlay.db")).unwrap();
    let store = SqliteStore::open_to_read(place.path()).unwrap();
    assert_eq!(exported_4(&store), EXPORT_4);
    assert_eq!((store.mark().unwrap().form, store.verify().unwrap().faults), (4, Vec::new()));
    drop(store);
    let store = SqliteStore::open(place.path(), &any_file_system()).unwrap();
    assert_eq!((store.mark().unwrap().form, exported_4(&store)), (7, EXPORT_4.to_owned()));
    // What was told before is known, and both kinds of outcomes add up.
    let before = store.standing("shop").unwrap();
    assert_eq!(one(&store, tell("shop", 5, &[(0, done(33_333_333))])), counted(&[false], true));
    let several = several(24, 12_500_000_000, Some((70, 100)));
    one(&store, tell("shop", 6, &[(0, several)])).unwrap();
    one(&store, correct("shop", 5, 0, several)).unwrap();
    let mut expected = before.tasks[0];
    expected.add(several, chance(0));
    expected.correct(done(33_333_333), several, 0);
    assert_eq!(store.standing("shop").unwrap().tasks[0], expected);
    assert_eq!(store.verify().unwrap().faults, Vec::<String>::new());
    let import_of = |text: &str| import(&MemoryStore::new(), &mut text.as_bytes()).map(|_| ());
    import_of(EXPORT_4).unwrap();
    import_of(&exported_4(&store).replacen("\"form\":3", "\"form\":5", 1)).unwrap();
}

const EXPORT_5: &str = include_str!("form-5/export.ndjson");

/// Written before rounds had scales and volumes of their own: they are absent in its rounds.
#[test]
fn a_file_from_before_there_were_scales_is_read_and_goes_on() {
    let place = folder();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stores/form-5/outlay.db");
    std::fs::copy(file, place.path().join("outlay.db")).unwrap();
    let exported = |store: &dyn Store| {
        let mut lines = Vec::new();
        export(store, &mut lines).unwrap();
        String::from_utf8(lines).unwrap().replacen("\"form\":5", "\"form\":4", 1)
    };
    let store = SqliteStore::open_to_read(place.path()).unwrap();
    assert_eq!(exported(&store), EXPORT_5);
    assert_eq!((store.mark().unwrap().form, store.verify().unwrap().faults), (5, Vec::new()));
    drop(store);
    let store = SqliteStore::open(place.path(), &any_file_system()).unwrap();
    assert_eq!((store.mark().unwrap().form, exported(&store)), (7, EXPORT_5.to_owned()));
    let rounds = store.lease_rounds("shop", 3).unwrap();
    assert_eq!(rounds, 4..7);
    one(&store, ask("shop", 6..7, 2)).unwrap();
    let conditions = |round| {
        let split = store.split("shop", round).unwrap().unwrap().split;
        (split.scale.clone(), split.volume.clone())
    };
    assert_eq!(conditions(3), (None, None));
    assert_eq!(conditions(6).0, split(2, 6).scale);
    assert!(conditions(6).0.is_some());
    assert_eq!(store.verify().unwrap().faults, Vec::<String>::new());
    import(&MemoryStore::new(), &mut EXPORT_5.as_bytes()).unwrap();
}
