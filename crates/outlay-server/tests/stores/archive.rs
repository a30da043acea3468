//! Exports and backups are exact copies; invalid ones are refused.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use outlay_server::archive::{Contents, backup, beside, export, import, restore, survey};
use outlay_server::store::{
    CampaignStatus, Command, MemoryStore, PostgresStore, Refusal, SqliteStore, Store, StoreError,
    TokenRevocation, TokenRow, TokenUse,
};
use proptest::prelude::*;

use super::place::{any_file_system, folder};
use super::suite::snapshot;
use crate::support::commands::*;
use crate::support::database::Database;

/// Fills a store with commands of every kind.
fn fill(store: &dyn Store) {
    let mut masked = asked("ä/\"1\"", 3..6, 3);
    let split = Arc::make_mut(&mut masked.split);
    split.available = Some(vec![true, false, true]);
    split.index = vec![f64::INFINITY, -0.0, 0.1 + 0.2];
    masked.key = key("k", 1, DAY);
    let mut late = told("ä/\"1\"", 4, &[(2, done(999_999_999))]);
    late.is_late = true;
    let mut recounted = correct("ä/\"1\"", 1, 0, several(6, 2, Some((3, 0))));
    if let Command::Correct(correction) = &mut recounted {
        correction.expected = Some(77);
    }
    let batch = [
        create("ä/\"1\"", 3),
        create("b", 1),
        ask("b", 7..9, 1),
        ask("ä/\"1\"", 1..3, 3),
        tell("b", 8, &[(0, several(24, 12_500_000_000, Some((70, 100))))]),
        Command::Ask(masked),
        tell("ä/\"1\"", 1, &[(0, done(5)), (1, FAILED), (2, done(0))]),
        set_status("ä/\"1\"", CampaignStatus::Paused, 1),
        Command::Tell(late),
        recounted,
        correct("ä/\"1\"", 1, 0, FAILED),
        tell("ä/\"1\"", 4, &[(0, FAILED)]),
        set_status("ä/\"1\"", CampaignStatus::Open, 2),
        amend("ä/\"1\"", 5, 3, 1),
        Command::Ask(outlay_server::store::Ask { amendments: 1, ..asked("ä/\"1\"", 9..12, 5) }),
        tell("ä/\"1\"", 10, &[(4, done(77)), (1, FAILED)]),
        amend("ä/\"1\"", 5, 4, 2),
        create("nothing happens", 2),
        Command::AddToken(TokenRow {
            campaign: Some("b-*".into()),
            name: Some("ci-bidder".into()),
            expires_at: Some(77),
            ..token("one")
        }),
        Command::AddToken(TokenRow {
            hash: std::array::from_fn(|place| 255 - place as u8),
            ..token("two")
        }),
        Command::RevokeToken(TokenRevocation { id: "two".into(), at: 88 }),
        Command::UseToken(TokenUse { id: "two".into(), at: 66 }),
    ];
    assert!(store.apply(&batch).unwrap().iter().all(Result::is_ok));
}

fn exported(store: &dyn Store) -> String {
    let mut lines = Vec::new();
    export(store, &mut lines).unwrap();
    String::from_utf8(lines).unwrap()
}

/// A snapshot without the event numbers, which differ between stores.
fn without_seq(store: &dyn Store) -> String {
    let text = snapshot(store);
    text.lines()
        .filter(|line| !line.trim_start().starts_with("seq: "))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn an_export_is_imported_unchanged_into_any_store() {
    let first = MemoryStore::new();
    fill(&first);
    let lines = exported(&first);
    let place = folder();
    let second = SqliteStore::open(place.path(), &any_file_system()).unwrap();
    let contents = import(&second, &mut lines.as_bytes()).unwrap();
    assert_eq!(
        contents,
        Contents {
            lines: 21,
            tokens: 2,
            campaigns: 3,
            rounds: 10,
            items: 8,
            corrections: 2,
            amendments: 2,
        }
    );
    assert_eq!(without_seq(&second), without_seq(&first));
    assert_eq!(exported(&second), lines);
    let third = MemoryStore::new();
    import(&third, &mut exported(&second).as_bytes()).unwrap();
    assert_eq!(without_seq(&third), without_seq(&first));
    // Both stores continue with unused round numbers.
    assert_eq!(
        (second.lease_rounds("b", 2).unwrap(), third.lease_rounds("b", 2).unwrap()),
        (9..11, 9..11)
    );
    let again = several(24, 12_500_000_000, Some((70, 100)));
    assert_eq!(one(&third, tell("b", 8, &[(0, again)])), counted(&[false], true));
}

#[test]
fn an_export_is_read_and_written_in_pages_and_batches() {
    let first = MemoryStore::new();
    for number in 0..1203 {
        assert!(first.apply(&[create(&format!("c{number}"), 1)]).unwrap()[0].is_ok());
    }
    let rounds: Vec<_> = (1..=1500)
        .flat_map(|round| [ask("c7", round..round + 1, 1), tell("c7", round, &[(0, done(round))])])
        .collect();
    assert!(first.apply(&rounds).unwrap().iter().all(Result::is_ok));
    let second = MemoryStore::new();
    let contents = import(&second, &mut exported(&first).as_bytes()).unwrap();
    assert_eq!((contents.campaigns, contents.rounds, contents.items), (1203, 1500, 1500));
    assert_eq!(without_seq(&second), without_seq(&first));
}

#[test]
fn invalid_exports_are_refused() {
    let store = MemoryStore::new();
    fill(&store);
    let whole = exported(&store);
    let lines: Vec<&str> = whole.lines().collect();
    let refused = |lines: &[&str]| {
        import(&MemoryStore::new(), &mut lines.join("\n").as_bytes()).unwrap_err().0
    };
    // With any single line missing, or truncated anywhere.
    for missing in 0..lines.len() {
        let rest: Vec<&str> = lines
            .iter()
            .enumerate()
            .filter(|(place, _)| *place != missing)
            .map(|(_, line)| *line)
            .collect();
        let error = refused(&rest);
        assert!(!error.is_empty(), "without {}", lines[missing]);
        assert!(!refused(&lines[..missing]).is_empty());
    }
    assert!(refused(&lines[..lines.len() - 1]).ends_with("; export again"));
    for twice in 1..lines.len() {
        let mut lines = lines.clone();
        lines.insert(twice, lines[twice]);
        assert!(!refused(&lines).is_empty());
    }
    assert_eq!(
        refused(&["{\"line\":\"export\",\"form\":6}"]),
        "line 1 cannot be imported: it has format 6, and this version of outlay reads formats up to 5; use a later version"
    );
    assert_eq!(
        refused(&[lines[1]]),
        "line 1 cannot be imported: it is not the first line of an export"
    );
    assert!(
        refused(&[lines[0], "no JSON"]).starts_with("line 2 cannot be imported: expected"),
        "{}",
        refused(&[lines[0], "no JSON"])
    );
    assert!(refused(&[]).contains("truncated"));
    let error = import(&store, &mut whole.as_bytes()).unwrap_err();
    assert_eq!(error.0, "the store is not empty; import into a new one");
}

#[test]
fn a_line_with_a_number_too_large_is_refused_without_a_panic() {
    let ask = "{\"line\":\"ask\",\"campaign\":\"c\",\"first\":18446744073709551615,\"count\":9,\"at\":0,\"expires_at\":0,\"by\":\"\",\
               \"stats_version\":0,\"budget\":1,\"available\":null,\"spend\":[],\"success\":[],\"index\":[]}";
    let campaign =
        "{\"line\":\"campaign\",\"id\":\"c\",\"tasks\":1,\"at\":0,\"by\":\"\",\"spec\":\"{}\"}";
    let text = format!("{{\"line\":\"export\",\"form\":1}}\n{campaign}\n{ask}\n");
    let error = import(&MemoryStore::new(), &mut text.as_bytes()).unwrap_err();
    assert_eq!(error.0, "line 3 cannot be imported: a number or a digest is invalid");
}

#[test]
fn an_unknown_task_is_refused() {
    let first = MemoryStore::new();
    fill(&first);
    let whole = exported(&first);
    let wrong = whole.replacen(r#""items":[[0,"#, r#""items":[[21,"#, 1);
    assert_ne!(wrong, whole);
    let error = import(&MemoryStore::new(), &mut wrong.as_bytes()).unwrap_err();
    assert!(error.0.ends_with("it names a task that the campaign does not have"), "{error}");
}

/// Tokens, more of them than fit into one batch.
fn many_tokens() -> String {
    let token = |number: usize| {
        let sha256 = "0".repeat(64);
        format!(
            r#"{{"line":"token","id":"t{number}","sha256":"{sha256}","scopes":[],"campaign":null,"created_at":0,"expires_at":null,"revoked_at":null}}"#
        )
    };
    let lines = std::iter::once(r#"{"line":"export","form":2}"#.to_owned());
    lines.chain((0..2500).map(token)).map(|line| line + "\n").collect()
}

/// A store whose import stopped after two of three batches cannot be opened again.
fn an_interrupted_import_is_detected(open: &dyn Fn() -> Result<Box<dyn Store>, StoreError>) {
    let store = open().unwrap();
    let error = import(store.as_ref(), &mut many_tokens().as_bytes()).unwrap_err();
    assert!(error.0.starts_with("the export is truncated after line 2501"), "{error}");
    assert!(store.tokens().unwrap().len() >= 2000, "the first batches were not imported");
    drop(store);
    for _ in 0..2 {
        let error = open().unwrap_err();
        assert!(error.what.contains("has not finished, so the store is incomplete"), "{error}");
    }
}

#[test]
fn an_interrupted_import_is_detected_in_a_folder() {
    let place = folder();
    an_interrupted_import_is_detected(&|| {
        Ok(Box::new(SqliteStore::open(place.path(), &any_file_system())?))
    });
    let read = SqliteStore::open_to_read(place.path()).unwrap_err();
    assert_eq!(SqliteStore::verify_in(place.path()).unwrap_err(), read);
    let copy = place.path().join("copy");
    assert_eq!(backup(place.path(), &copy, 1).unwrap_err().0, read.what);
}

#[test]
fn an_interrupted_import_is_detected_in_a_database() {
    let Some(database) = Database::new() else { return };
    an_interrupted_import_is_detected(&|| Ok(Box::new(PostgresStore::open(database.options())?)));
    assert!(PostgresStore::open_existing(database.options()).is_err());
}

#[test]
fn an_import_that_wrote_nothing_leaves_the_store_usable() {
    let place = folder();
    let store = SqliteStore::open(place.path(), &any_file_system()).unwrap();
    import(&store, &mut "no export".as_bytes()).unwrap_err();
    drop(store);
    let store = SqliteStore::open(place.path(), &any_file_system()).unwrap();
    let first = MemoryStore::new();
    fill(&first);
    import(&store, &mut exported(&first).as_bytes()).unwrap();
    drop(store);
    SqliteStore::open(place.path(), &any_file_system()).unwrap();
}

#[test]
fn a_backup_is_restored_unchanged() {
    let (data, place) = (folder(), folder());
    let store = SqliteStore::open(data.path(), &any_file_system()).unwrap();
    fill(&store);
    // While the store is open.
    let copy = place.path().join("copy");
    let manifest = backup(data.path(), &copy, 1234).unwrap();
    assert_eq!(
        (manifest.made_at, manifest.campaigns, manifest.rounds, manifest.items),
        (1234, 3, 10, 8)
    );
    assert_eq!(manifest.store, store.mark().unwrap().uuid);
    let mut left: Vec<_> =
        std::fs::read_dir(&copy).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["manifest.json", "outlay.db"]);
    let again = backup(data.path(), &copy, 1234).unwrap_err();
    assert!(again.0.ends_with("already exists; name a new folder"), "{again}");
    let back = place.path().join("deep/back");
    assert_eq!(restore(&copy, &back, &any_file_system()).unwrap(), manifest);
    let restored = SqliteStore::open(&back, &any_file_system()).unwrap();
    assert_eq!(snapshot(&restored), snapshot(&store));
    assert_eq!(
        restored.used_key("asker", "k", 0).unwrap(),
        store.used_key("asker", "k", 0).unwrap()
    );
    assert_eq!(restored.mark().unwrap(), store.mark().unwrap());
    let again = restore(&copy, &back, &any_file_system()).unwrap_err();
    assert!(again.0.ends_with("already has a store; name a folder without one"), "{again}");
}

/// A backup made during writes contains the store exactly as of one event.
#[test]
fn a_backup_under_load_is_a_consistent_snapshot() {
    let (data, place) = (folder(), folder());
    let store = SqliteStore::open(data.path(), &any_file_system()).unwrap();
    assert!(
        store.apply(&[create("c", 2), ask("c", 1..100_001, 2)]).unwrap().iter().all(Result::is_ok)
    );
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut round = 0;
            while !ended.load(Ordering::SeqCst) && round < 100_000 {
                let batch: Vec<_> = (0..20)
                    .map(|_| {
                        round += 1;
                        tell("c", round, &[(0, done(round)), (1, FAILED)])
                    })
                    .collect();
                assert!(store.apply(&batch).unwrap().iter().all(Result::is_ok));
            }
        });
        for number in 0..5 {
            std::thread::sleep(std::time::Duration::from_millis(60));
            let copy = place.path().join(number.to_string());
            let manifest = backup(data.path(), &copy, 0).unwrap();
            let back = place.path().join(format!("back-{number}"));
            restore(&copy, &back, &any_file_system()).unwrap();
            let restored = SqliteStore::open(&back, &any_file_system()).unwrap();
            let events = restored.events("c", 0, 1_000_000).unwrap();
            let mut original = store.events("c", 0, 1_000_000).unwrap();
            original.retain(|event| event.seq <= manifest.seq);
            assert!(events == original, "{} events, {} in the store", events.len(), original.len());
            assert_eq!(restored.standing("c").unwrap().version, manifest.items);
            assert_eq!(manifest.items % 40, 0, "a batch was split");
        }
        ended.store(true, Ordering::SeqCst);
    });
    assert!(store.standing("c").unwrap().version > 200);
}

#[test]
fn invalid_backups_are_refused_without_leftovers() {
    let (data, place) = (folder(), folder());
    let store = SqliteStore::open(data.path(), &any_file_system()).unwrap();
    fill(&store);
    let copy = place.path().join("copy");
    backup(data.path(), &copy, 0).unwrap();
    let back = place.path().join("back");
    let (manifest, database) = (copy.join("manifest.json"), copy.join("outlay.db"));
    let (whole_manifest, whole) =
        (std::fs::read_to_string(&manifest).unwrap(), std::fs::read(&database).unwrap());
    let refused = |part: &str| {
        let error = restore(&copy, &back, &any_file_system()).unwrap_err();
        assert!(error.0.contains(part), "{error}");
        assert!(!back.exists(), "{part}: files were left behind");
    };
    let not_the_file = "does not match its manifest";
    for place in [100, whole.len() / 2, whole.len() - 1] {
        let mut bytes = whole.clone();
        bytes[place] ^= 1;
        std::fs::write(&database, bytes).unwrap();
        refused(not_the_file);
    }
    std::fs::write(&database, &whole[..whole.len() - 4096]).unwrap();
    refused(not_the_file);
    std::fs::remove_file(&database).unwrap();
    refused("cannot read");
    std::fs::write(&database, &whole).unwrap();
    for (from, to, part) in [
        ("\"items\": 8", "\"items\": 9", "does not contain the store in its manifest"),
        ("\"outlay_backup\": 1", "\"outlay_backup\": 2", "has format 2"),
        ("\"seq\"", "\"sequence\"", "is not the manifest of a backup"),
        ("\"form\": 7", "\"form\": 99", "does not contain the store in its manifest"),
    ] {
        std::fs::write(&manifest, whole_manifest.replace(from, to)).unwrap();
        refused(part);
    }
    std::fs::write(&manifest, whole_manifest).unwrap();
    restore(&copy, &back, &any_file_system()).unwrap();
}

#[test]
fn a_damaged_store_is_not_backed_up() {
    let (data, place) = (folder(), folder());
    let store = SqliteStore::open(data.path(), &any_file_system()).unwrap();
    fill(&store);
    drop(store);
    let by_hand = rusqlite::Connection::open(data.path().join("outlay.db")).unwrap();
    by_hand.execute_batch("UPDATE task_count SET told = told + 1").unwrap();
    drop(by_hand);
    let error = backup(data.path(), &place.path().join("copy"), 0).unwrap_err();
    assert!(error.0.starts_with("no backup was made, because the store is damaged: "), "{error}");
    assert!(std::fs::read_dir(place.path()).unwrap().next().is_none(), "files were left behind");
    let nowhere = backup(Path::new("/nowhere/at/all"), &place.path().join("copy"), 0).unwrap_err();
    assert!(nowhere.0.contains("has no store"), "{nowhere}");
}

/// Events are read through an index, but counts are checked without it.
#[test]
fn a_damaged_index_is_detected() {
    let (data, place) = (folder(), folder());
    let store = SqliteStore::open(data.path(), &any_file_system()).unwrap();
    fill(&store);
    store.close().unwrap();
    drop(store);
    let path = data.path().join("outlay.db");
    let by_hand =
        |sql: &str| rusqlite::Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    by_hand(
        "CREATE TABLE kept AS SELECT * FROM told; DELETE FROM told; CREATE TABLE hidden (sql TEXT, rootpage INTEGER)",
    );
    by_hand(
        "PRAGMA writable_schema = ON; INSERT INTO hidden SELECT sql, rootpage FROM sqlite_schema WHERE name = 'told_by_seq';
         DELETE FROM sqlite_schema WHERE name = 'told_by_seq'",
    );
    by_hand("INSERT INTO told SELECT * FROM kept");
    by_hand(
        "PRAGMA writable_schema = ON;
         INSERT INTO sqlite_schema SELECT 'index', 'told_by_seq', 'told', rootpage, sql FROM hidden",
    );
    let store = SqliteStore::open_to_read(data.path()).unwrap();
    let faults = store.verify().unwrap().faults;
    assert!(faults.iter().any(|fault| fault.starts_with("the file is damaged: ")), "{faults:?}");
    let error = export(&store, &mut Vec::new()).unwrap_err();
    assert!(error.0.contains("0 of 1 outcomes can be found: the store is damaged"), "{error}");
    let error = backup(data.path(), &place.path().join("copy"), 0).unwrap_err();
    assert!(error.0.contains("the file is damaged"), "{error}");
}

#[test]
fn other_files_beside_a_backup_are_left_alone() {
    let (data, place) = (folder(), folder());
    fill(&SqliteStore::open(data.path(), &any_file_system()).unwrap());
    let copy = place.path().join("copy");
    let mine = [place.path().join("copy.part"), beside(&copy)];
    for folder in &mine {
        std::fs::create_dir(folder).unwrap();
        std::fs::write(folder.join("mine"), "mine").unwrap();
    }
    let error = backup(data.path(), &copy, 0).unwrap_err();
    assert!(error.0.starts_with("cannot make "), "{error}");
    std::fs::remove_dir_all(&mine[1]).unwrap();
    backup(data.path(), &copy, 0).unwrap();
    assert_eq!(std::fs::read_to_string(mine[0].join("mine")).unwrap(), "mine");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 2, "other files were left behind");
}

#[test]
fn an_incomplete_export_is_rejected_by_survey() {
    let store = MemoryStore::new();
    fill(&store);
    let whole = exported(&store);
    let lines: Vec<&str> = whole.lines().collect();
    let survey = |lines: &[&str]| survey(&mut lines.join("\n").as_bytes());
    assert_eq!(survey(&lines).unwrap().items, 8);
    for missing in 0..lines.len() {
        let rest: Vec<&str> = lines
            .iter()
            .enumerate()
            .filter(|(place, _)| *place != missing)
            .map(|(_, line)| *line)
            .collect();
        assert!(survey(&rest).is_err(), "without {}", lines[missing]);
        assert!(survey(&lines[..missing]).is_err());
    }
}

/// A byte, mostly one that occurs in exports.
fn written() -> impl Strategy<Value = u8> {
    prop_oneof![1 => any::<u8>(), 3 => prop::sample::select(b"0123456789-\",[]{}".to_vec())]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// An export with bytes changed, removed or inserted is refused or gives a consistent store.
    #[test]
    fn a_mutated_export_is_refused_or_imported_consistently(
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..3_u8, written()), 1..4),
    ) {
        let first = MemoryStore::new();
        fill(&first);
        let mut bytes = exported(&first).into_bytes();
        for (place, how, byte) in changes {
            let place = place.index(bytes.len());
            match how {
                0 => bytes[place] = byte,
                1 => drop(bytes.remove(place)),
                _ => bytes.insert(place, byte),
            }
        }
        let second = MemoryStore::new();
        if import(&second, &mut bytes.as_slice()).is_ok() {
            prop_assert_eq!(second.verify().unwrap().faults, Vec::<String>::new());
        }
    }
}

/// Compacted rounds are exported and imported as counts, into every kind of store.
#[test]
fn checkpoints_are_exported_and_imported() {
    let store = MemoryStore::new();
    let batch = [
        create("c", 2),
        ask("c", 1..3, 2),
        ask("c", 3..4, 2),
        ask("c", 4..5, 2),
        tell("c", 1, &[(0, done(5)), (1, FAILED)]),
        tell("c", 4, &[(0, done(5))]),
        correct("c", 1, 0, several(6, 2, Some((3, 5)))),
        set_status("c", CampaignStatus::Paused, 1),
    ];
    assert!(store.apply(&batch).unwrap().iter().all(Result::is_ok));
    let standing = store.standing("c").unwrap();
    let last = store.last_split("c").unwrap().unwrap().rounds;
    let compacted = store.compact(&compaction("c", i64::MAX, u64::MAX)).unwrap();
    assert!(compacted.rounds > 0 && compacted.outcomes > 0, "{compacted:?}");
    let mut lines = Vec::new();
    let contents = export(&store, &mut lines).unwrap();
    assert!(String::from_utf8_lossy(&lines).contains("{\"line\":\"checkpoint\""));
    let check = |other: &dyn Store| {
        assert_eq!(import(other, &mut lines.as_slice()).unwrap(), contents);
        assert_eq!(other.standing("c").unwrap(), standing);
        assert_eq!(other.checkpoint("c").unwrap(), store.checkpoint("c").unwrap());
        assert_eq!(other.lease_rounds("c", 1).unwrap().start, last.end);
        assert_eq!(one(other, tell("c", 1, &[(0, done(1))])), Err(Refusal::Compacted));
        let mut again = Vec::new();
        export(other, &mut again).unwrap();
        assert_eq!(again, lines);
    };
    check(&MemoryStore::new());
    let place = folder();
    check(&SqliteStore::open(place.path(), &any_file_system()).unwrap());
    if let Some(database) = Database::new() {
        check(&database.store());
    }
}
