//! A few connections, made when they are needed, dropped when they are lost.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio_postgres::config::SslMode;
use tokio_postgres::{Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::PostgresOptions;
use super::session::{Openings, Session};
use super::tls;
use super::trouble::Trouble;
use crate::store::StoreError;

/// How often something is tried that the database broke off before anything was committed.
const TRIES: u32 = 3;

/// What a connection is wanted for: those that write have a slot, and few slots are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum For {
    Reading,
    Writing,
}

/// Connections, and the threads that wait for their answers. Not to be used from a thread that runs
/// futures.
pub(super) struct Pool {
    /// Absent only while it is dropped.
    runtime: Option<Runtime>,
    config: Config,
    /// How to encrypt, if it was asked for.
    tls: Option<MakeRustlsConnect>,
    pub(super) openings: Openings,
    timeout: Duration,
    idle: Mutex<Vec<Session>>,
    room: Semaphore,
    epoch: AtomicU64,
}

impl Pool {
    pub(super) fn new(options: &PostgresOptions) -> Result<Self, StoreError> {
        let bad = |what: String| StoreError { what, is_fatal: true };
        let (url, certificates) = tls::split(&options.url);
        let mut config: Config = url
            .parse()
            .map_err(|error| bad(format!("the address of the database cannot be read: {error}")))?;
        let tls = match config.get_ssl_mode() {
            SslMode::Require => Some(tls::connector(certificates.as_deref()).map_err(bad)?),
            _ => None,
        };
        if config.get_application_name().is_none() {
            config.application_name("outlay");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(options.timeout / 2);
        }
        // A machine that has gone without a word is noticed, also by a connection that waits.
        config.tcp_user_timeout(options.timeout).keepalives_idle(options.timeout);
        let mut threads = tokio::runtime::Builder::new_multi_thread();
        let runtime = threads.worker_threads(1).thread_name("outlay-postgres").enable_all().build();
        Ok(Self {
            runtime: Some(
                runtime.map_err(|error| bad(format!("no thread for the database: {error}")))?,
            ),
            config,
            tls,
            openings: Openings::new(&options.schema, options.timeout.as_millis().max(2)),
            timeout: options.timeout,
            idle: Mutex::new(Vec::new()),
            room: Semaphore::new(options.connections.max(1)),
            epoch: AtomicU64::new(0),
        })
    }

    /// How often connections were lost so far. Whatever was learnt from the database before may
    /// have been undone by whoever brought it back.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// Does something on a connection, again on a fresh one if the first was lost before anything
    /// was committed.
    pub(super) fn run<T>(
        &self,
        purpose: For,
        work: impl AsyncFn(&mut Session) -> Result<T, Trouble>,
    ) -> Result<T, StoreError> {
        // The server gives up first, so that its word is heard.
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

    /// The same without a limit on time.
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
        let _room = self
            .room
            .acquire()
            .await
            .map_err(|_| Trouble::final_one("the store is closed", false))?;
        let mut session = match self.take(purpose) {
            Some(session) => session,
            None => self.connect().await?,
        };
        let done = work(&mut session).await;
        match &done {
            Ok(_) => self.put(session),
            Err(trouble) if trouble.is_lost => self.forget_all(),
            // Whatever was left open must not reach the next caller.
            Err(_) if session.rollback().await.is_ok() => self.put(session),
            Err(_) => self.forget_all(),
        }
        done
    }

    async fn connect(&self) -> Result<Session, Trouble> {
        let epoch = self.epoch();
        // What drives a connection ends when its client is dropped, and tells the client about
        // errors.
        let client = if let Some(tls) = &self.tls {
            let (client, connection) = self.config.connect(tls.clone()).await?;
            tokio::spawn(connection);
            client
        } else {
            let (client, connection) = self.config.connect(NoTls).await?;
            tokio::spawn(connection);
            client
        };
        Ok(Session { client, slot: None, epoch })
    }

    fn take(&self, purpose: For) -> Option<Session> {
        let mut idle = self.idle();
        idle.retain(|session| !session.client.is_closed());
        let fits = |session: &Session| session.slot.is_some() == (purpose == For::Writing);
        let place = idle.iter().rposition(fits).or(idle.len().checked_sub(1))?;
        Some(idle.remove(place))
    }

    fn put(&self, session: Session) {
        let mut idle = self.idle();
        if session.epoch == self.epoch() {
            idle.push(session);
        }
    }

    /// One connection was lost: the others are not worth much either, and each would cost a caller
    /// an error.
    pub(super) fn forget_all(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        self.idle().clear();
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Session>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.idle().clear();
        // Not by its own drop: that waits, and may not be done where futures run.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
