//! Schemas for single tests in the PostgreSQL server that `tests/with-postgres` has started.

use std::sync::atomic::{AtomicU32, Ordering};

use outlay_server::store::{PostgresOptions, PostgresStore};
use tokio_postgres::{NoTls, SimpleQueryMessage};

/// A schema for one test, removed at the end.
pub(crate) struct Database {
    url: String,
    pub(crate) schema: String,
}

/// The address of the server. Without one the test is skipped with a message, or fails if
/// PostgreSQL is required.
fn url() -> Option<String> {
    let url = std::env::var("OUTLAY_TEST_POSTGRES").ok();
    let is_needed = std::env::var_os("OUTLAY_TEST_POSTGRES_REQUIRED").is_some();
    assert!(
        url.is_some() || !is_needed,
        "there is no PostgreSQL, and this test needs one: run it with crates/outlay-server/tests/with-postgres"
    );
    if url.is_none() {
        eprintln!(
            "SKIPPED: this test needs PostgreSQL; run it with crates/outlay-server/tests/with-postgres"
        );
    }
    url
}

impl Database {
    pub(crate) fn new() -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let schema =
            format!("test_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        Some(Self { url: url()?, schema })
    }

    /// The options with which a replica opens it.
    pub(crate) fn options(&self) -> PostgresOptions {
        PostgresOptions { schema: self.schema.clone(), ..PostgresOptions::new(&self.url) }
    }

    /// A replica's store.
    pub(crate) fn store(&self) -> PostgresStore {
        PostgresStore::open(self.options()).unwrap()
    }

    /// Takes the tables back to the version before counts, checkpoints and deletions.
    pub(crate) fn without_counts(&self) {
        self.sql(
            "DROP TABLE checkpoint, checkpoint_stat, deletion;
            ALTER TABLE feedback DROP COLUMN completions, DROP COLUMN spent, DROP COLUMN allocated;
            ALTER TABLE correction DROP COLUMN from_completions, DROP COLUMN from_spent, DROP COLUMN from_allocated,
                DROP COLUMN to_completions, DROP COLUMN to_spent, DROP COLUMN to_allocated, DROP COLUMN to_expected;
            ALTER TABLE stat DROP COLUMN spent, DROP COLUMN allocated;
            ALTER TABLE split DROP COLUMN scale, DROP COLUMN volume, DROP COLUMN amendments;
            ALTER TABLE campaign DROP COLUMN amendments;
            DROP TABLE amendment;
            UPDATE outlay_schema SET version = 4",
        );
    }

    /// The first column of a statement's result, as text.
    pub(crate) fn sql(&self, sql: &str) -> Vec<String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(&self.url, NoTls).await.unwrap();
            let driven = tokio::spawn(connection);
            client.batch_execute(&format!("SET search_path TO {}", self.schema)).await.unwrap();
            let messages = client.simple_query(sql).await.unwrap();
            drop(client);
            let _ = driven.await;
            let cell = |message: &SimpleQueryMessage| match message {
                SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
                _ => None,
            };
            messages.iter().filter_map(cell).collect()
        })
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let drop = || self.sql(&format!("DROP SCHEMA IF EXISTS {} CASCADE", self.schema));
        // A failed test may have left the server stopped; ignore the error here so that its own
        // message is shown.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(drop));
    }
}
