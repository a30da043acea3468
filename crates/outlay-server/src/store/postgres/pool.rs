//! Connections from deadpool, for blocking callers. Work is repeated if a connection was lost
//! before anything was committed, within a time limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use deadpool::managed::{self, Object, PoolConfig, PoolError, QueueMode};
use deadpool_postgres::{Manager, ManagerConfig, RecyclingMethod};
use tokio::runtime::Runtime;
use tokio_postgres::config::SslMode;
use tokio_postgres::{Config, NoTls};

use super::PostgresOptions;
use super::session::{Openings, Session};
use super::sessions::Sessions;
use super::tls;
use super::trouble::Trouble;
use crate::store::{PoolMetrics, StoreError};

/// Number of attempts if the database aborts before anything was committed.
const TRIES: u32 = 3;

/// Purpose of a connection: writing ones have a slot, and few slots are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum For {
    Reading,
    Writing,
}

/// Connections, and the threads that wait for their answers. Not to be used from a thread that runs
/// futures.
pub(super) struct Pool {
    /// Absent only during drop.
    runtime: Option<Runtime>,
    readers: managed::Pool<Sessions>,
    writers: managed::Pool<Sessions>,
    pub(super) openings: Openings,
    timeout: Duration,
    epoch: Arc<AtomicU64>,
}

impl Pool {
    pub(super) fn new(options: &PostgresOptions) -> Result<Self, StoreError> {
        let mut threads = tokio::runtime::Builder::new_multi_thread();
        let runtime = threads.worker_threads(1).thread_name("outlay-postgres").enable_all().build();
        let epoch = Arc::new(AtomicU64::new(0));
        let writers = (options.connections / 2).max(1);
        let readers = options.connections.saturating_sub(writers).max(1);
        Ok(Self {
            runtime: Some(
                runtime.map_err(|error| bad(format!("no thread for the database: {error}")))?,
            ),
            readers: connections(options, readers, &epoch)?,
            writers: connections(options, writers, &epoch)?,
            openings: Openings::new(&options.schema, options.timeout.as_millis().max(2)),
            timeout: options.timeout,
            epoch,
        })
    }

    /// Number of connections lost so far. Earlier knowledge about the database may be invalid if it
    /// was restored.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// Number of connections, and number of waiting callers.
    pub(super) fn metrics(&self) -> Vec<PoolMetrics> {
        let metrics = |(name, pool): (&'static str, &managed::Pool<Sessions>)| {
            let status = pool.status();
            PoolMetrics {
                name,
                max: status.max_size as u64,
                size: status.size as u64,
                available: status.available as u64,
                waiting: status.waiting as u64,
            }
        };
        [("read", &self.readers), ("write", &self.writers)].map(metrics).to_vec()
    }

    /// Runs work on a connection, again on a new one if the first was lost before anything was
    /// committed.
    pub(super) fn run<T>(
        &self,
        purpose: For,
        work: impl AsyncFn(&mut Session) -> Result<T, Trouble>,
    ) -> Result<T, StoreError> {
        // The server times out first, so that its message is received.
        let limit = self.timeout + self.timeout / 2;
        self.block(async {
            let tried = tokio::time::timeout(limit, self.tries(purpose, work)).await;
            let silence = || StoreError {
                what: format!("the database has not answered within {} s", limit.as_secs_f64()),
                is_fatal: false,
            };
            tried.unwrap_or_else(|_| Err(silence()))
        })
    }

    /// The same without a time limit.
    pub(super) fn run_long<T>(
        &self,
        purpose: For,
        work: impl AsyncFn(&mut Session) -> Result<T, Trouble>,
    ) -> Result<T, StoreError> {
        self.block(self.tries(purpose, work))
    }

    fn block<T>(&self, work: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        match &self.runtime {
            Some(runtime) => runtime.block_on(work),
            None => Err(StoreError { what: "the store is closed".to_owned(), is_fatal: false }),
        }
    }

    async fn tries<T>(
        &self,
        purpose: For,
        work: impl AsyncFn(&mut Session) -> Result<T, Trouble>,
    ) -> Result<T, StoreError> {
        let mut tried = 0;
        loop {
            tried += 1;
            match self.once(purpose, &work).await {
                Err(trouble) if trouble.is_worth_a_try && tried < TRIES => {}
                done => return done.map_err(StoreError::from),
            }
        }
    }

    async fn once<T>(
        &self,
        purpose: For,
        work: &impl AsyncFn(&mut Session) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let pool = match purpose {
            For::Reading => &self.readers,
            For::Writing => &self.writers,
        };
        let mut session = pool.get().await.map_err(no_connection)?;
        session.is_clean = false;
        let done = work(&mut session).await;
        session.is_clean = match &done {
            Ok(_) => true,
            Err(trouble) if trouble.is_lost => false,
            // Open transactions must not reach the next caller.
            Err(_) => session.rollback().await.is_ok(),
        };
        if !session.is_clean {
            drop(Object::take(session));
            self.forget_all();
        }
        done
    }

    /// After a lost connection the others are probably lost too, and each would cost a caller an
    /// error.
    pub(super) fn forget_all(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        for pool in [&self.readers, &self.writers] {
            pool.retain(|_, _| false);
        }
    }
}

fn bad(what: String) -> StoreError {
    StoreError { what, is_fatal: true }
}

fn no_connection(error: PoolError<tokio_postgres::Error>) -> Trouble {
    match error {
        PoolError::Backend(error) => error.into(),
        other => Trouble::final_one(format!("there is no connection: {other}"), false),
    }
}

/// A pool of this many connections.
fn connections(
    options: &PostgresOptions,
    most: usize,
    epoch: &Arc<AtomicU64>,
) -> Result<managed::Pool<Sessions>, StoreError> {
    let (url, certificates) = tls::split(&options.url);
    let mut config: Config = url
        .parse()
        .map_err(|error| bad(format!("the address of the database cannot be read: {error}")))?;
    if config.get_application_name().is_none() {
        config.application_name("outlay");
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(options.timeout / 2);
    }
    // Detects an unreachable machine, also on an idle connection.
    config.tcp_user_timeout(options.timeout).keepalives_idle(options.timeout);
    let how = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let manager = match config.get_ssl_mode() {
        SslMode::Require => {
            let tls = tls::connector(certificates.as_deref()).map_err(bad)?;
            Manager::from_config(config, tls, how)
        }
        _ => Manager::from_config(config, NoTls, how),
    };
    // Last used first, so that connections that are not needed get no slot.
    let limits = PoolConfig { queue_mode: QueueMode::Lifo, ..PoolConfig::new(most) };
    managed::Pool::builder(Sessions::new(manager, Arc::clone(epoch)))
        .config(limits)
        .build()
        .map_err(|error| bad(format!("no pool of connections: {error}")))
}

impl Drop for Pool {
    fn drop(&mut self) {
        // Dropping it would block, which is not allowed where futures run.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    async fn process(session: &Session) -> Result<i32, Trouble> {
        let rows = session.client.query_typed("SELECT pg_backend_pid()", &[]).await?;
        Ok(rows[0].get(0))
    }

    /// A caller that timed out leaves an open transaction behind.
    #[test]
    fn a_connection_with_an_interrupted_call_is_not_reused() {
        let Ok(url) = std::env::var("OUTLAY_TEST_POSTGRES") else { return };
        let timeout = Duration::from_secs(1);
        let pool =
            Pool::new(&PostgresOptions { connections: 2, timeout, ..PostgresOptions::new(url) })
                .unwrap();
        let used = Mutex::new(Vec::new());
        let note = async |session: &mut Session| {
            let process = process(session).await?;
            used.lock().unwrap().push(process);
            Ok(())
        };
        for _ in 0..2 {
            pool.run(For::Writing, note).unwrap();
        }
        let broken_off = pool.run(For::Writing, async |session| {
            note(session).await?;
            session.client.batch_execute("BEGIN").await?;
            tokio::time::sleep(Duration::from_secs(60)).await;
            Ok(())
        });
        assert!(broken_off.unwrap_err().what.contains("has not answered within"));
        pool.run(For::Writing, note).unwrap();
        let used = used.into_inner().unwrap();
        assert_eq!((used[0], used[1]), (used[1], used[2]), "it was not used again before");
        assert_ne!(used[2], used[3]);
    }
}
