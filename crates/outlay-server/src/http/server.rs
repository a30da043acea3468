//! The service from its first connection to its last.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::MissedTickBehavior;
use tokio_rustls::TlsAcceptor;

use super::App;
use super::connections::{Call, Connections, Taken};
use super::envelope::new_id;
use super::error::{MEDIA_TYPE, ProblemDetails};
use super::site::{LOOKS, Site};
use super::tls::{TlsFiles, acceptor};
use super::unread::{Unread, Watched};
use crate::error::{ApiError, ErrorCode};
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::service::CampaignService;
use crate::tokens::Tokens;

/// Tokens that another process may have made or revoked are read again this often.
const TOKENS_AGE: Duration = Duration::from_secs(5);
/// A store that has failed is noticed this soon.
const WATCH: Duration = Duration::from_millis(100);
/// What is under way when the store has failed is given this long to be answered.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// Connections at the figures' own address.
const WATCHERS: usize = 32;
/// A head so many times over its limit is still read, to be refused in words; a longer one gets a
/// bare status.
const HEAD_ROOM: usize = 4;

/// Where and how to serve.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// An address of their own for the figures: then they are only there.
    pub metrics: Option<SocketAddr>,
    /// With TLS, or in the clear.
    pub tls: Option<TlsFiles>,
    /// Whether figures may name campaigns: as many time series as there are campaigns.
    pub campaign_metrics: bool,
}

impl Settings {
    /// What can be said before a store is opened, which may make one. `has_tokens`: whether there
    /// may be any.
    ///
    /// # Errors
    /// If the files for TLS cannot be read, or others could reach a service without tokens.
    pub fn check(&self, has_tokens: bool) -> Result<(), StartError> {
        self.tls.as_ref().map(acceptor).transpose()?;
        self.check_door(!has_tokens)
    }

    fn check_door(&self, is_open: bool) -> Result<(), StartError> {
        match self
            .metrics
            .iter()
            .chain([&self.listen])
            .find(|address| is_open && !address.ip().is_loopback())
        {
            None => Ok(()),
            Some(address) => Err(StartError(format!(
                "there are no tokens yet, so everybody who can reach {address} could do everything; \
                 make one with `outlay token create`, or listen on 127.0.0.1"
            ))),
        }
    }
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
    metrics: Option<TcpListener>,
    tls: Option<TlsAcceptor>,
}

/// Keys are not shown.
impl std::fmt::Debug for Server {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Server")
            .field("listener", &self.listener)
            .field("has_tls", &self.tls.is_some())
            .finish_non_exhaustive()
    }
}

/// Where connections come in.
struct Entrance {
    listener: TcpListener,
    connections: Arc<Connections>,
    parts: Arc<ServerParts>,
}

impl Entrance {
    fn new(
        listener: TcpListener,
        connections: Arc<Connections>,
        site: Site,
        tls: Option<TlsAcceptor>,
        limits: &Limits,
    ) -> Self {
        let mut builder = http1::Builder::new();
        let most = limits.header_bytes.saturating_mul(HEAD_ROOM);
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(limits.header_timeout)
            .max_header_size(most);
        Self {
            listener,
            connections,
            parts: Arc::new(ServerParts { site, builder, tls, limits: limits.clone() }),
        }
    }

    /// Lets everybody in, for ever.
    async fn open(&self) -> Infallible {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => welcome(stream, &self.connections, &self.parts),
                Err(error) => {
                    // Out of file descriptors, mostly: others must leave first.
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }
}

async fn open_if_any(entrance: Option<&Entrance>) -> Infallible {
    match entrance {
        Some(entrance) => entrance.open().await,
        None => std::future::pending().await,
    }
}

async fn listen(address: SocketAddr) -> Result<TcpListener, StartError> {
    TcpListener::bind(address).await.map_err(|error| {
        let is_taken = error.kind() == std::io::ErrorKind::AddrInUse;
        let hint = if is_taken {
            format!("; port 0 takes a free one: --listen {}", SocketAddr::new(address.ip(), 0))
        } else {
            String::new()
        };
        StartError(format!("cannot listen on {address}: {error}{hint}"))
    })
}

/// Waits until nobody is left anywhere, but not for ever; whether nobody is.
async fn are_gone(seats: &[Arc<Connections>], patience: Duration) -> bool {
    let gone =
        futures_util::future::join_all(seats.iter().map(|seats| seats.are_gone(patience))).await;
    gone.into_iter().all(|is_gone| is_gone)
}

/// What every connection needs.
struct ServerParts {
    site: Site,
    builder: http1::Builder,
    tls: Option<TlsAcceptor>,
    limits: Limits,
}

impl Server {
    /// Takes the address.
    ///
    /// # Errors
    /// If others could reach the service and nobody would be asked for a token; if the address is
    /// taken; if TLS cannot be set up.
    pub async fn bind(service: CampaignService, settings: &Settings) -> Result<Self, StartError> {
        let tls = settings.tls.as_ref().map(acceptor).transpose()?;
        let store = Arc::clone(service.store());
        let tokens = tokio::task::spawn_blocking(move || Tokens::load(store)).await;
        let tokens = tokens.map_err(|error| StartError(error.to_string()))?;
        let tokens =
            tokens.map_err(|error| StartError(format!("cannot read the tokens: {error}")))?;
        settings.check_door(tokens.is_open())?;
        let listener = listen(settings.listen).await?;
        let figures = match settings.metrics {
            Some(address) => Some(listen(address).await?),
            None => None,
        };
        let metrics = Metrics::new(service.clone(), settings.campaign_metrics);
        let app = Arc::new(App::new(service, tokens, metrics, tls.is_some()));
        Ok(Self { app, listener, metrics: figures, tls })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Where the figures are, if they have an address of their own.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn metrics_address(&self) -> std::io::Result<Option<SocketAddr>> {
        self.metrics.as_ref().map(TcpListener::local_addr).transpose()
    }

    /// Whether nobody is asked for a token.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.app.tokens.is_open()
    }

    /// Serves until `stop` comes or the store fails.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Ending {
        let limits = self.app.limits().clone();
        let tokens = tokio::spawn(keep_tokens_fresh(Arc::clone(&self.app)));
        let tls = self.tls.clone();
        let entrance = |listener, connections, site| {
            Entrance::new(listener, connections, site, tls.clone(), &limits)
        };
        let main = Site::new(Arc::clone(&self.app), self.metrics.is_none());
        let main = entrance(self.listener, Arc::clone(&self.app.connections), main);
        // Seats of its own: who watches is let in even when everybody else is there.
        let beside = self.metrics.map(|listener| {
            entrance(listener, Connections::new(WATCHERS), Site::of_figures(Arc::clone(&self.app)))
        });
        let seats: Vec<_> = [Some(&main), beside.as_ref()]
            .into_iter()
            .flatten()
            .map(|one| Arc::clone(&one.connections))
            .collect();
        let mut stop = pin!(stop);
        let mut failed = pin!(fails(&self.app.service));
        let ending = tokio::select! {
            biased;
            what = &mut failed => Ending::StoreFailed(what),
            () = &mut stop => Ending::Stopped,
            never = main.open() => match never {},
            never = open_if_any(beside.as_ref()) => match never {},
        };
        self.app.is_stopping.store(true, Ordering::SeqCst);
        drop((main, beside));
        seats.iter().for_each(|seats| seats.stop());
        tokens.abort();
        if ending != Ending::Stopped {
            are_gone(&seats, LAST_WORDS).await;
            return ending;
        }
        tokio::select! {
            is_idle = are_gone(&seats, limits.drain_timeout) => if !is_idle {
                let connections: usize = seats.iter().map(|seats| seats.count()).sum();
                tracing::warn!(connections, "stopped with requests under way");
            },
            what = &mut failed => return Ending::StoreFailed(what),
        }
        match self.app.service.drain().await {
            Ok(()) => Ending::Stopped,
            Err(error) => Ending::StoreFailed(error.what),
        }
    }
}

/// Waits until the store has failed, and says what went wrong.
async fn fails(service: &CampaignService) -> String {
    loop {
        if let Some(what) = service.failure() {
            return what;
        }
        tokio::time::sleep(WATCH).await;
    }
}

async fn keep_tokens_fresh(app: Arc<App>) {
    if !app.service.store().is_shared() {
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

fn welcome(stream: TcpStream, connections: &Arc<Connections>, parts: &Arc<ServerParts>) {
    match connections.take() {
        Some(seat) => {
            // Answers are small: they should not wait for more.
            let _ = stream.set_nodelay(true);
            tokio::spawn(attend(stream, seat, Arc::clone(parts)));
        }
        None => drop(tokio::spawn(turn_away(stream))),
    }
}

/// Everybody connected is being served right now: the newcomer may come back.
async fn turn_away(mut stream: TcpStream) {
    let refused = ApiError::new(
        ErrorCode::Busy,
        "all connections are taken, and every one has a request under way",
    );
    let body = serde_json::to_string(&ProblemDetails::new(&refused, &new_id())).unwrap_or_default();
    let head = format!(
        "content-type: {MEDIA_TYPE}\r\ncontent-length: {}\r\nretry-after: 1\r\nconnection: close",
        body.len()
    );
    let sorry = format!("HTTP/1.1 503 Service Unavailable\r\n{head}\r\n\r\n{body}");
    let _ = tokio::time::timeout(Duration::from_secs(1), stream.write_all(sorry.as_bytes())).await;
}

async fn attend(stream: TcpStream, seat: Taken, parts: Arc<ServerParts>) {
    match &parts.tls {
        None => converse(stream, &seat, &parts).await,
        Some(tls) => {
            let shaken = tokio::select! {
                shaken = tokio::time::timeout(parts.limits.header_timeout, tls.accept(stream)) => shaken,
                _ = seat.called() => return,
            };
            match shaken {
                Ok(Ok(stream)) => converse(stream, &seat, &parts).await,
                Ok(Err(error)) => tracing::debug!(%error, "no TLS"),
                Err(_) => tracing::debug!("no TLS in time"),
            }
        }
    }
}

/// Answers requests of one connection until it ends.
async fn converse<S: AsyncRead + AsyncWrite + Unpin>(stream: S, seat: &Taken, parts: &ServerParts) {
    let service = service_fn(|request: Request<Incoming>| async {
        Ok::<_, Infallible>(parts.site.answer(request, seat).await)
    });
    let (unread, limits) = (Unread::new(), &parts.limits);
    let mut connection = pin!(
        parts.builder.serve_connection(TokioIo::new(Watched { stream, unread: &unread }), service)
    );
    // Whoever is woken looks whether what is under way has taken too long.
    let mut looks = tokio::time::interval(
        (limits.request_timeout.min(limits.unread_timeout) / LOOKS).max(WATCH),
    );
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection broke off");
                }
                return;
            }
            call = seat.called() => match call {
                Call::Evicted => return,
                Call::Stopping => connection.as_mut().graceful_shutdown(),
            },
            _ = looks.tick() => if unread.for_longer_than(limits.unread_timeout) {
                tracing::debug!("a client does not read its answer");
                return;
            },
        }
    }
}
