//! The suite on PostgreSQL.

use std::sync::Arc;

use outlay_server::store::{PostgresStore, Store};

use super::place::Place;
use super::{model, permutation, some, suite};
use crate::support::commands::*;
use crate::support::database::Database;

fn place() -> Place {
    let database = Database::new().expect("the server was available before");
    Box::new(move || Arc::new(database.store()))
}

#[test]
fn postgres_passes_the_suite() {
    if Database::new().is_some() {
        suite::all(&place);
    }
}

#[test]
fn opening_an_existing_store_creates_no_tables() {
    let Some(database) = Database::new() else { return };
    for _ in 0..2 {
        let error = PostgresStore::open_existing(database.options()).unwrap_err();
        assert!(error.what.starts_with("the database has no store of outlay"), "{error}");
    }
    drop(database.store());
    PostgresStore::open_existing(database.options()).unwrap();
}

/// Tables of the version before checkpoints, deletions and counts are migrated.
#[test]
fn tables_of_the_previous_version_are_migrated() {
    let Some(database) = Database::new() else { return };
    let store = database.store();
    one(&store, create("c", 2)).unwrap();
    one(&store, ask("c", 1..3, 2)).unwrap();
    one(&store, ask("c", 3..4, 2)).unwrap();
    one(&store, tell("c", 1, &[(0, FAILED)])).unwrap();
    drop(store);
    database.without_counts();
    let store = database.store();
    // Outcomes from before the migration and counts add up.
    let several = several(24, 12_500_000_000, Some((70, 100)));
    one(&store, tell("c", 2, &[(0, several)])).unwrap();
    assert_eq!(one(&store, tell("c", 1, &[(0, FAILED)])), counted(&[false], false));
    let standing = store.standing("c").unwrap();
    assert_eq!((standing.tasks[0].told, standing.tasks[0].completions), (2, 24));
    assert_eq!(store.verify().unwrap().faults, Vec::<String>::new());
    assert_eq!(store.compact(&compaction("c", i64::MAX, 9)).unwrap().rounds, 2);
    assert_eq!(store.standing("c").unwrap(), standing);
    assert_eq!(store.verify().unwrap().faults, Vec::<String>::new());
}

#[test]
fn postgres_follows_the_model() {
    if Database::new().is_some() {
        model::all(&place, some());
    }
}

#[test]
fn postgres_counts_the_same_in_any_order() {
    if Database::new().is_some() {
        permutation::all(&place, some());
    }
}
