//! One connection, and the transactions on it.
//!
//! There are no session settings: each transaction begins with its settings in the same message,
//! and no statement is prepared under a name. So a pooler may use another connection for each
//! transaction. Messages that do not depend on the previous answer are sent together: a read takes
//! one round trip, a batch of rounds two.

use deadpool_postgres::ClientWrapper;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Error, Row, SimpleQueryMessage};

use super::SEQ_STEP;
use super::trouble::Trouble;

/// A value and its type.
pub(super) type Value<'a> = (&'a (dyn ToSql + Sync), Type);

/// How transactions begin: settings for one transaction.
#[derive(Debug)]
pub(super) struct Openings {
    pub(super) read: String,
    /// One snapshot for all statements.
    pub(super) view: String,
    /// The same without a time limit.
    pub(super) long_view: String,
    pub(super) write: String,
}

impl Openings {
    pub(super) fn new(schema: &str, timeout_ms: u128) -> Self {
        let schema = schema.replace('"', "\"\"");
        let path = format!("SET LOCAL search_path TO \"{schema}\"");
        let waits = format!(
            "SET LOCAL statement_timeout = {timeout_ms}; SET LOCAL lock_timeout = {}; \
             SET LOCAL idle_in_transaction_session_timeout = {timeout_ms}",
            timeout_ms / 2
        );
        // Acknowledged data is on disk, even if the database is configured otherwise.
        let durable = "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'";
        Self {
            read: format!("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY; {path}; {waits}"),
            view: format!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {path}; {waits}"),
            long_view: format!(
                "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {path}; SET LOCAL statement_timeout = 0"
            ),
            write: format!(
                "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; {path}; {waits}; {durable}"
            ),
        }
    }
}

/// A connection in exclusive use.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) client: ClientWrapper,
    /// Its slot, see [`slot`](super::slot); none before it writes.
    pub(super) slot: Option<i32>,
    /// Number of connections that had been lost when it was created.
    pub(super) epoch: u64,
    /// True if no transaction is open on it.
    pub(super) is_clean: bool,
}

impl Session {
    /// One statement in a separate transaction that begins in this way. For statements that may be
    /// repeated.
    pub(super) async fn repeatable(
        &self,
        opening: &str,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, Trouble> {
        let (begun, rows, ended) = self.one(opening, sql, values).await;
        begun?;
        let rows = rows?;
        ended?;
        Ok(rows)
    }

    /// The same for statements that must not be repeated.
    pub(super) async fn once(
        &self,
        opening: &str,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, Trouble> {
        let (begun, rows, ended) = self.one(opening, sql, values).await;
        begun.map_err(|error| Trouble::at_commit(&error))?;
        let rows = rows.map_err(|error| Trouble::at_commit(&error))?;
        ended.map_err(|error| Trouble::of_commit(&error))?;
        Ok(rows)
    }

    async fn one(
        &self,
        opening: &str,
        sql: &str,
        values: &[Value<'_>],
    ) -> (Result<(), Error>, Result<Vec<Row>, Error>, Result<(), Error>) {
        tokio::join! {
            biased;
            self.client.batch_execute(opening),
            self.client.query_typed(sql, values),
            self.client.batch_execute("COMMIT"),
        }
    }

    /// Begins a writing transaction. Returns the first of [`SEQ_STEP`] event numbers.
    pub(super) async fn begin(&self, opening: &str) -> Result<i64, Trouble> {
        let messages =
            self.client.simple_query(&format!("{opening}; SELECT nextval('event')")).await?;
        let last = messages.iter().rev().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0)?.parse().ok(),
            _ => None,
        });
        let number: i64 = last
            .ok_or_else(|| Trouble::final_one("the database gives no number for events", false))?;
        number
            .checked_mul(SEQ_STEP)
            .ok_or_else(|| Trouble::final_one("there are no numbers for events any more", false))
    }

    /// A statement in the current transaction; not sent if it has nothing to do.
    pub(super) async fn execute(
        &self,
        is_needed: bool,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<u64, Error> {
        if is_needed { self.client.execute_typed(sql, values).await } else { Ok(0) }
    }

    /// The same without values: the beginning or end of a transaction.
    pub(super) async fn statement(&self, is_needed: bool, sql: &str) -> Result<(), Error> {
        if is_needed { self.client.batch_execute(sql).await } else { Ok(()) }
    }

    /// The same with rows as the result.
    pub(super) async fn query(
        &self,
        is_needed: bool,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, Error> {
        if is_needed { self.client.query_typed(sql, values).await } else { Ok(Vec::new()) }
    }

    pub(super) async fn rollback(&self) -> Result<(), Trouble> {
        Ok(self.client.batch_execute("ROLLBACK").await?)
    }

    pub(super) async fn commit(&self) -> Result<(), Trouble> {
        self.client.batch_execute("COMMIT").await.map_err(|error| Trouble::of_commit(&error))
    }
}
