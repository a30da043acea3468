//! State of a connection that deadpool does not know: its slot, the number of connections lost before
//! it was made, and whether a call on it was interrupted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use deadpool::managed::{Manager, Metrics, RecycleError, RecycleResult};
use tokio_postgres::Error;

use super::session::Session;

/// Creates connections for a pool, and decides which may be reused.
pub(super) struct Sessions {
    connections: deadpool_postgres::Manager,
    epoch: Arc<AtomicU64>,
}

impl Sessions {
    pub(super) fn new(connections: deadpool_postgres::Manager, epoch: Arc<AtomicU64>) -> Self {
        Self { connections, epoch }
    }
}

impl Manager for Sessions {
    type Type = Session;
    type Error = Error;

    async fn create(&self) -> Result<Session, Error> {
        let epoch = self.epoch.load(Ordering::SeqCst);
        let client = self.connections.create().await?;
        Ok(Session { client, slot: None, epoch, is_clean: true })
    }

    async fn recycle(&self, session: &mut Session, metrics: &Metrics) -> RecycleResult<Error> {
        // A caller that timed out leaves a transaction open.
        if !session.is_clean {
            return Err(RecycleError::message("a call on the connection was interrupted"));
        }
        if session.epoch != self.epoch.load(Ordering::SeqCst) {
            return Err(RecycleError::message("another connection was lost since"));
        }
        self.connections.recycle(&mut session.client, metrics).await
    }

    fn detach(&self, session: &mut Session) {
        self.connections.detach(&mut session.client);
    }
}
