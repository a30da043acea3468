//! PostgreSQL in the suite.

use std::sync::Arc;

use outlay_server::store::PostgresStore;

use super::place::Place;
use super::{model, permutation, some, suite};
use crate::support::database::Database;

fn place() -> Place {
    let database = Database::new().expect("a server, as there was one before");
    Box::new(move || Arc::new(database.store()))
}

#[test]
fn postgres_does_what_a_store_does() {
    if Database::new().is_some() {
        suite::all(&place);
    }
}

#[test]
fn nothing_is_made_in_a_database_that_is_only_looked_at() {
    let Some(database) = Database::new() else { return };
    for _ in 0..2 {
        let error = PostgresStore::open_existing(database.options()).unwrap_err();
        assert!(error.what.starts_with("the database has no store of outlay"), "{error}");
    }
    drop(database.store());
    PostgresStore::open_existing(database.options()).unwrap();
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
