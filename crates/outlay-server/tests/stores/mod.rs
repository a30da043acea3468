//! One suite for every store: what one of them does, all of them do.
//!
//! `STORE_CASES=2000` plays more random sequences on the stores that sync to disk; the store in
//! memory always plays them.

mod archive;
mod earlier;
mod model;
mod permutation;
mod place;
mod planted;
mod postgres;
mod sqlite;
mod suite;

/// Random sequences on a store that is cheap.
const MANY: u32 = 2000;

/// Random sequences on a store that syncs: each takes some milliseconds a batch.
fn some() -> u32 {
    std::env::var("STORE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(150)
}

#[test]
fn memory_does_what_a_store_does() {
    suite::all(&place::memory);
}

#[test]
fn memory_follows_the_model() {
    model::all(&place::memory, MANY);
}

#[test]
fn memory_counts_the_same_in_any_order() {
    permutation::all(&place::memory, 1000);
}

#[test]
fn sqlite_does_what_a_store_does() {
    suite::all(&place::sqlite);
}

#[test]
fn sqlite_follows_the_model() {
    model::all(&place::sqlite, some());
}

#[test]
fn sqlite_counts_the_same_in_any_order() {
    permutation::all(&place::sqlite, some());
}
