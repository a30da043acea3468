//! One suite for every store, so that all of them behave alike.
//!
//! `STORE_CASES=2000` runs more random sequences on the stores that sync to disk; the in-memory
//! store always runs 2000.

mod archive;
mod earlier;
mod model;
mod permutation;
mod place;
mod planted;
mod postgres;
mod sqlite;
mod suite;

/// Number of random sequences for a cheap store.
const MANY: u32 = 2000;

/// Number of random sequences for a store that syncs, which takes some milliseconds per batch.
fn some() -> u32 {
    std::env::var("STORE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(150)
}

#[test]
fn memory_passes_the_suite() {
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
fn sqlite_passes_the_suite() {
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
