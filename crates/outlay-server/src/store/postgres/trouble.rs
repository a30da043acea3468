//! Errors of the database connection, and whether to try again.

use tokio_postgres::error::SqlState;

use crate::store::StoreError;

/// A failed call.
#[derive(Debug)]
pub(super) struct Trouble {
    what: String,
    is_fatal: bool,
    /// The connection can no longer be used.
    pub(super) is_lost: bool,
    /// Nothing was committed, and another attempt may succeed.
    pub(super) is_worth_a_try: bool,
}

impl Trouble {
    /// Another attempt would fail too.
    pub(super) fn final_one(what: impl Into<String>, is_fatal: bool) -> Self {
        Self { what: what.into(), is_fatal, is_lost: false, is_worth_a_try: false }
    }

    /// A statement failed after the commit had been sent too. If the database rejected the
    /// statement, the transaction was rolled back. If the connection was lost, it may have been
    /// committed or not, and it is not repeated automatically.
    pub(super) fn at_commit(error: &tokio_postgres::Error) -> Self {
        if error.as_db_error().is_some() { Self::from(error) } else { Self::of_commit(error) }
    }

    /// The commit itself failed, or a later statement.
    pub(super) fn of_commit(error: &tokio_postgres::Error) -> Self {
        let mut trouble = Self::from(error);
        trouble.what =
            format!("it is not known whether the database has kept this: {}", trouble.what);
        trouble.is_worth_a_try = false;
        trouble
    }
}

impl From<tokio_postgres::Error> for Trouble {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::from(&error)
    }
}

impl From<&tokio_postgres::Error> for Trouble {
    fn from(error: &tokio_postgres::Error) -> Self {
        let Some(from_server) = error.as_db_error() else {
            // The cause is more specific than the error itself ("error communicating with the
            // server").
            let cause = std::error::Error::source(error)
                .map(|cause| format!(": {cause}"))
                .unwrap_or_default();
            return Self {
                what: format!("the database cannot be reached: {error}{cause}"),
                is_fatal: false,
                is_lost: true,
                is_worth_a_try: true,
            };
        };
        // Details may quote data of clients; the message does not.
        let what = format!(
            "the database refuses: {} ({})",
            from_server.message(),
            from_server.code().code()
        );
        let is_lost = ends_session(from_server.code());
        let is_passing = *from_server.code() == SqlState::T_R_SERIALIZATION_FAILURE
            || *from_server.code() == SqlState::T_R_DEADLOCK_DETECTED;
        Self { what, is_fatal: false, is_lost, is_worth_a_try: is_lost || is_passing }
    }
}

impl From<Trouble> for StoreError {
    fn from(trouble: Trouble) -> Self {
        Self { what: trouble.what, is_fatal: trouble.is_fatal }
    }
}

/// Classes 08 (connection) and 57P (the server stops, starts or ends the session), and a server
/// that has become a standby.
fn ends_session(code: &SqlState) -> bool {
    code.code().starts_with("08")
        || code.code().starts_with("57P")
        || *code == SqlState::READ_ONLY_SQL_TRANSACTION
}
