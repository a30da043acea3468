//! The service from its first connection to its last.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use super::connections::{Connections, Taken};
use super::tls::{TlsFiles, acceptor};
use super::{App, router};
use crate::desk::Desk;
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::tokens::Tokens;

/// Tokens that another process may have made or revoked are read again this often.
const TOKENS_AGE: Duration = Duration::from_secs(5);
/// A store that has failed is noticed this soon.
const WATCH: Duration = Duration::from_millis(100);
/// What is under way when the store has failed is given this long to be answered.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// Where and how to serve.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// With TLS, or in the clear.
    pub tls: Option<TlsFiles>,
    /// Whether figures may name campaigns: as many time series as there are campaigns.
    pub campaign_metrics: bool,
}

/// Why the service cannot start: a sentence with what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StartError(pub String);

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// It was told to stop. Everything acknowledged is kept.
    Stopped,
    /// The store has failed: what went wrong. What was acknowledged before is kept.
    StoreFailed(String),
}

/// A service that is ready to be run.
pub struct Server {
    app: Arc<App>,
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
}

/// Keys are not shown.
impl std::fmt::Debug for Server {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Server").field("listener", &self.listener).field("has_tls", &self.tls.is_some()).finish_non_exhaustive()
    }
}

/// What every connection needs.
struct ServerParts {
    router: Router,
    builder: http1::Builder,
    tls: Option<TlsAcceptor>,
    limits: Limits,
}

impl Server {
    /// Takes the address.
    ///
    /// # Errors
    /// If others could reach the service and nobody would be asked for a token; if the address is taken; if TLS cannot be set up.
    pub async fn bind(desk: Desk, settings: &Settings) -> Result<Self, StartError> {
        let tls = settings.tls.as_ref().map(acceptor).transpose()?;
        let store = Arc::clone(desk.store());
        let tokens = tokio::task::spawn_blocking(move || Tokens::load(store)).await;
        let tokens = tokens.map_err(|error| StartError(error.to_string()))?;
        let tokens = tokens.map_err(|error| StartError(format!("cannot read the tokens: {error}")))?;
        if tokens.is_open() && !settings.listen.ip().is_loopback() {
            return Err(StartError(format!(
                "there are no tokens yet, so everybody who can reach {} could do everything; \
                 make one with `outlay token create`, or listen on 127.0.0.1",
                settings.listen
            )));
        }
        let listener = TcpListener::bind(settings.listen).await;
        let listener = listener.map_err(|error| StartError(format!("cannot listen on {}: {error}", settings.listen)))?;
        let metrics = Metrics::new(desk.clone(), settings.campaign_metrics);
        let app = Arc::new(App::new(desk, tokens, metrics, tls.is_some()));
        Ok(Self { app, listener, tls })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Whether nobody is asked for a token.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.app.tokens.is_open()
    }

    /// Serves until `stop` comes or the store fails.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Ending {
        let limits = self.app.limits().clone();
        let connections = Arc::clone(&self.app.connections);
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(limits.header_timeout).max_header_size(limits.header_bytes);
        let parts = Arc::new(ServerParts { router: router(Arc::clone(&self.app)), builder, tls: self.tls, limits: limits.clone() });
        let (stopping, told) = watch::channel(false);
        let tokens = tokio::spawn(keep_tokens_fresh(Arc::clone(&self.app)));
        let mut stop = pin!(stop);
        let mut failed = pin!(fails(&self.app.desk));
        let ending = loop {
            tokio::select! {
                biased;
                what = &mut failed => break Ending::StoreFailed(what),
                () = &mut stop => break Ending::Stopped,
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => welcome(stream, &connections, &parts, &told),
                    Err(error) => {
                        // Out of file descriptors, mostly: others must leave first.
                        tracing::warn!(%error, "cannot accept a connection");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                },
            }
        };
        self.app.is_stopping.store(true, Ordering::SeqCst);
        drop(self.listener);
        let _ = stopping.send(true);
        tokens.abort();
        if ending != Ending::Stopped {
            connections.are_gone(LAST_WORDS).await;
            return ending;
        }
        tokio::select! {
            is_idle = connections.are_gone(limits.drain_timeout) => if !is_idle {
                tracing::warn!(connections = connections.count(), "stopped with requests under way");
            },
            what = &mut failed => return Ending::StoreFailed(what),
        }
        match self.app.desk.drain().await {
            Ok(()) => Ending::Stopped,
            Err(error) => Ending::StoreFailed(error.what),
        }
    }
}

/// Waits until the store has failed, and says what went wrong.
async fn fails(desk: &Desk) -> String {
    loop {
        if let Some(what) = desk.failure() {
            return what;
        }
        tokio::time::sleep(WATCH).await;
    }
}

async fn keep_tokens_fresh(app: Arc<App>) {
    if !app.desk.store().is_shared() {
        return;
    }
    loop {
        tokio::time::sleep(TOKENS_AGE).await;
        let held = Arc::clone(&app);
        if let Ok(Err(error)) = tokio::task::spawn_blocking(move || held.tokens.reload()).await {
            tracing::warn!(error = error.what, "cannot read the tokens again");
        }
    }
}

fn welcome(stream: TcpStream, connections: &Arc<Connections>, parts: &Arc<ServerParts>, told: &watch::Receiver<bool>) {
    match connections.take() {
        Some(seat) => {
            // Answers are small: they should not wait for more.
            let _ = stream.set_nodelay(true);
            tokio::spawn(attend(stream, seat, Arc::clone(parts), told.clone()));
        }
        None => drop(tokio::spawn(turn_away(stream))),
    }
}

/// Everybody connected is being served right now: the newcomer may come back.
async fn turn_away(mut stream: TcpStream) {
    const SORRY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nretry-after: 1\r\nconnection: close\r\n\r\n";
    let _ = tokio::time::timeout(Duration::from_secs(1), stream.write_all(SORRY)).await;
}

async fn attend(stream: TcpStream, seat: Taken, parts: Arc<ServerParts>, told: watch::Receiver<bool>) {
    let seat = Arc::new(seat);
    match &parts.tls {
        None => converse(stream, &seat, &parts, told).await,
        Some(tls) => {
            let shaken = tokio::select! {
                shaken = tokio::time::timeout(parts.limits.header_timeout, tls.accept(stream)) => shaken,
                () = seat.evicted() => return,
            };
            match shaken {
                Ok(Ok(stream)) => converse(stream, &seat, &parts, told).await,
                Ok(Err(error)) => tracing::debug!(%error, "no TLS"),
                Err(_) => tracing::debug!("no TLS in time"),
            }
        }
    }
}

/// Answers requests of one connection until it ends.
async fn converse<S: AsyncRead + AsyncWrite + Unpin>(stream: S, seat: &Arc<Taken>, parts: &ServerParts, mut told: watch::Receiver<bool>) {
    let inner = TowerToHyperService::new(parts.router.clone());
    let service = service_fn(|request: Request<Incoming>| {
        let busy = seat.busy();
        let answer = inner.call(request);
        async move {
            let answer = answer.await;
            drop(busy);
            answer as Result<_, Infallible>
        }
    });
    let mut connection = pin!(parts.builder.serve_connection(TokioIo::new(stream), service));
    let mut is_told = false;
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection broke off");
                }
                return;
            }
            _ = told.wait_for(|stop| *stop), if !is_told => {
                is_told = true;
                connection.as_mut().graceful_shutdown();
            }
            () = seat.evicted() => return,
        }
    }
}
