//! The HTTP server: listeners, connections and shutdown.
//!
//! Connections use hyper's `http1::Builder`: axum's loop has no timeout for headers, and
//! hyper-util's builder cannot limit their size.

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
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::time::MissedTickBehavior;
use tokio_rustls::TlsAcceptor;

use super::access_log::{ClientAddress, RequestObserver};
use super::connection_limit::{CloseReason, ConnectionLimit, ConnectionPermit};
use super::head_timeout::{HeadTimeout, HeadTimer};
use super::prefix::PathPrefix;
use super::tls::{CertificateFiles, TlsFiles, acceptor};
use super::write_timeout::{TimedStream, WriteTimeout};
use super::{App, router};
use crate::limits::Limits;
use crate::metrics::{Metrics, Shed};
use crate::service::CampaignService;
use crate::tokens::Tokens;

/// Interval for reading tokens that another process may have created or revoked.
const TOKENS_AGE: Duration = Duration::from_secs(5);
/// Time within which a failed store is noticed.
const WATCH: Duration = Duration::from_millis(100);
/// Time for requests in progress after the store has failed.
const FAILURE_GRACE: Duration = Duration::from_millis(300);
/// Number of checks of an unread response within its time limit.
const DEADLINE_POLLS: u32 = 8;

/// Connections at the separate address of the metrics.
const METRICS_CONNECTIONS: usize = 32;
/// Connections for health checks when all others are in use.
const RESERVED_CONNECTIONS: usize = 64;
/// Headers up to this many times their limit are still read, so that the error can explain it;
/// longer ones get a bare status.
const HEAD_ROOM: usize = 4;

/// Settings of the server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// Separate address for the metrics, which are then served only there.
    pub metrics: Option<SocketAddr>,
    /// TLS, if set.
    pub tls: Option<TlsFiles>,
    /// Whether metrics are labelled with campaign ids, which creates time series per campaign.
    pub campaign_metrics: bool,
    /// Whether every request is logged.
    pub access_log: bool,
    /// The path below which everything is served.
    pub prefix: PathPrefix,
    /// When stopping, the service reports that it is not ready and keeps serving for this long.
    pub drain: Duration,
    /// Receives every finished request.
    pub observer: Option<Arc<dyn RequestObserver>>,
}

impl Settings {
    /// The defaults, on this address.
    #[must_use]
    pub fn new(listen: SocketAddr) -> Self {
        Self {
            listen,
            metrics: None,
            tls: None,
            campaign_metrics: false,
            access_log: true,
            prefix: PathPrefix::default(),
            drain: Duration::ZERO,
            observer: None,
        }
    }

    /// An address at which tokens could be read on the way.
    pub(crate) fn public_plain_address(&self) -> Option<SocketAddr> {
        let addresses = [Some(self.listen), self.metrics].into_iter().flatten();
        addresses.filter(|_| self.tls.is_none()).find(|address| !address.ip().is_loopback())
    }

    /// Checks that are possible before a store is opened, which may create one. `has_tokens`:
    /// whether there may be tokens.
    ///
    /// # Errors
    /// If the TLS files cannot be read, or a service without tokens would be reachable from other
    /// machines.
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

/// Reason why the service cannot start, with a hint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StartError(pub String);

/// How the server ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// It was stopped. All acknowledged data is stored.
    Stopped,
    /// The store has failed, with the reason. Data acknowledged before is stored.
    StoreFailed(String),
}

/// A server that is ready to run.
pub struct Server {
    app: Arc<App>,
    listener: TcpListener,
    metrics: Option<TcpListener>,
    tls: Option<(TlsAcceptor, Arc<CertificateFiles>)>,
    drain: Duration,
    health: HealthRuntime,
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

/// A separate thread for health and metrics, which respond however busy the others are.
struct HealthRuntime(Option<Runtime>);

impl HealthRuntime {
    fn start() -> std::io::Result<Self> {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(1).thread_name("health").enable_all().build().map(Some).map(Self)
    }

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.0 {
            runtime.spawn(work);
        }
    }
}

impl Drop for HealthRuntime {
    fn drop(&mut self) {
        // Dropping it would block, and panic where blocking is not allowed.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// A listener with its connection limit.
#[derive(Clone)]
struct Entrance {
    connections: Arc<ConnectionLimit>,
    parts: Arc<ConnectionParts>,
}

/// Settings of every connection.
struct ConnectionParts {
    router: Router,
    builder: http1::Builder,
    tls: Option<TlsAcceptor>,
    prefix: PathPrefix,
    limits: Limits,
}

impl Entrance {
    fn new(
        connections: Arc<ConnectionLimit>,
        router: Router,
        tls: Option<TlsAcceptor>,
        prefix: PathPrefix,
        limits: &Limits,
    ) -> Self {
        let mut builder = http1::Builder::new();
        builder
            .header_read_timeout(limits.header_timeout)
            .max_header_size(limits.header_bytes.saturating_mul(HEAD_ROOM));
        let parts = ConnectionParts { router, builder, tls, prefix, limits: limits.clone() };
        Self { connections, parts: Arc::new(parts) }
    }

    /// Serves a connection, if there is a free slot; otherwise returns it.
    fn serve(&self, stream: TcpStream) -> Result<impl Future<Output = ()> + use<>, TcpStream> {
        let Some(permit) = self.connections.take() else { return Err(stream) };
        // Responses are small and must not be delayed.
        let _ = stream.set_nodelay(true);
        Ok(serve_connection(stream, permit, Arc::clone(&self.parts)))
    }
}

async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) => {
                // Mostly a lack of file descriptors: other connections must end first.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
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

/// Waits for all connections to close, up to a limit; true if they have.
async fn all_closed(limits: &[Arc<ConnectionLimit>], patience: Duration) -> bool {
    let closed = limits.iter().map(|limit| limit.all_closed(patience));
    futures_util::future::join_all(closed).await.into_iter().all(|is_closed| is_closed)
}

impl Server {
    /// Binds the addresses.
    ///
    /// # Errors
    /// If a service without tokens would be reachable from other machines, an address is in use, or
    /// TLS cannot be set up.
    pub async fn bind(service: CampaignService, settings: &Settings) -> Result<Self, StartError> {
        let tls = settings.tls.as_ref().map(acceptor).transpose()?;
        let store = Arc::clone(service.store());
        let tokens = tokio::task::spawn_blocking(move || Tokens::load(store)).await;
        let tokens = tokens.map_err(|error| StartError(error.to_string()))?;
        let tokens =
            tokens.map_err(|error| StartError(format!("cannot read the tokens: {error}")))?;
        settings.check_door(tokens.is_open())?;
        let listener = listen(settings.listen).await?;
        let metrics_listener = match settings.metrics {
            Some(address) => Some(listen(address).await?),
            None => None,
        };
        let health = HealthRuntime::start()
            .map_err(|error| StartError(format!("cannot start a thread: {error}")))?;
        let metrics = Metrics::new(service.clone(), settings.campaign_metrics);
        let app = Arc::new(App::new(service, tokens, metrics, settings));
        Ok(Self { app, listener, metrics: metrics_listener, tls, drain: settings.drain, health })
    }

    /// The address.
    ///
    /// # Errors
    /// If the system does not report it.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The separate address of the metrics, if there is one.
    ///
    /// # Errors
    /// If the system does not report it.
    pub fn metrics_address(&self) -> std::io::Result<Option<SocketAddr>> {
        self.metrics.as_ref().map(TcpListener::local_addr).transpose()
    }

    /// True if authentication is off.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.app.tokens.is_open()
    }

    /// Serves until `stop` completes or the store fails.
    pub async fn run(mut self, stop: impl Future<Output = ()>) -> Ending {
        let app = Arc::clone(&self.app);
        let tokens = tokio::spawn(keep_tokens_fresh(Arc::clone(&app)));
        if let Some((_, files)) = &self.tls {
            self.health.spawn(Arc::clone(files).keep_fresh());
        }
        let metrics = self.metrics.take();
        let entrance = |connections, router, prefix| {
            let tls = self.tls.as_ref().map(|(tls, _)| tls.clone());
            Entrance::new(connections, router, tls, prefix, app.limits())
        };
        let main = router::main(Arc::clone(&app), metrics.is_none());
        let main = entrance(Arc::clone(&app.connections), main, app.prefix.clone());
        let reserve = router::reserve(Arc::clone(&app));
        let reserved = ConnectionLimit::new(RESERVED_CONNECTIONS);
        let reserve = entrance(reserved, reserve, app.prefix.clone());
        let operations = router::operations(Arc::clone(&app));
        let scrapers = ConnectionLimit::new(METRICS_CONNECTIONS);
        let operations = entrance(scrapers, operations, PathPrefix::default());
        let limits =
            [&main, &reserve, &operations].map(|entrance| Arc::clone(&entrance.connections));
        if let Some(listener) = metrics {
            self.serve_operations(listener, operations);
        }
        let mut stop = pin!(stop);
        let mut failed = pin!(fails(&app.service));
        let mut ending = tokio::select! {
            biased;
            what = &mut failed => Ending::StoreFailed(what),
            () = &mut stop => Ending::Stopped,
            never = self.accept_all(&main, &reserve) => match never {},
        };
        app.is_stopping.store(true, Ordering::SeqCst);
        if ending == Ending::Stopped && !self.drain.is_zero() {
            tokio::select! {
                biased;
                what = &mut failed => ending = Ending::StoreFailed(what),
                () = tokio::time::sleep(self.drain) => {}
                never = self.accept_all(&main, &reserve) => match never {},
            }
        }
        app.is_closing.store(true, Ordering::SeqCst);
        // No new connections from here on.
        let Self { listener, health, .. } = self;
        drop((listener, main, reserve));
        limits.iter().for_each(|limit| limit.stop());
        tokens.abort();
        if ending != Ending::Stopped {
            all_closed(&limits, FAILURE_GRACE).await;
            return ending;
        }
        tokio::select! {
            is_idle = all_closed(&limits, app.limits().drain_timeout) => if !is_idle {
                let connections: usize = limits.iter().map(|limit| limit.count()).sum();
                tracing::warn!(connections, "stopped with requests under way");
            },
            what = &mut failed => return Ending::StoreFailed(what),
        }
        drop(health);
        match app.service.drain().await {
            Ok(()) => Ending::Stopped,
            Err(error) => Ending::StoreFailed(error.what),
        }
    }

    /// Accepts connections forever. When all slots are taken and busy, only health checks are
    /// served.
    async fn accept_all(&self, main: &Entrance, reserve: &Entrance) -> Infallible {
        let shed = self.app.metrics.shed(Shed::Connections);
        loop {
            let stream = accept(&self.listener).await;
            match main.serve(stream) {
                Ok(connection) => drop(tokio::spawn(connection)),
                Err(stream) => {
                    shed.inc();
                    let reserve = reserve.clone();
                    self.on_health_thread(stream, move |stream| reserve.serve(stream));
                }
            }
        }
    }

    /// Serves a connection on the thread for health checks, which owns its sockets.
    fn on_health_thread<F: Future<Output = ()> + Send + 'static>(
        &self,
        stream: TcpStream,
        serve: impl FnOnce(TcpStream) -> Result<F, TcpStream> + Send + 'static,
    ) {
        let Ok(stream) = stream.into_std() else { return };
        self.health.spawn(async move {
            if let Ok(Ok(connection)) = TcpStream::from_std(stream).map(serve) {
                connection.await;
            }
        });
    }

    fn serve_operations(&self, listener: TcpListener, entrance: Entrance) {
        let Ok(listener) = listener.into_std() else { return };
        let app = Arc::clone(&self.app);
        self.health.spawn(async move {
            let Ok(listener) = TcpListener::from_std(listener) else { return };
            while !app.is_closing.load(Ordering::SeqCst) {
                let stream = tokio::select! {
                    stream = accept(&listener) => stream,
                    () = tokio::time::sleep(WATCH) => continue,
                };
                if let Ok(connection) = entrance.serve(stream) {
                    tokio::spawn(connection);
                }
            }
        });
    }
}

/// Waits until the store has failed, and returns the reason.
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

async fn serve_connection(
    stream: TcpStream,
    permit: ConnectionPermit,
    parts: Arc<ConnectionParts>,
) {
    let permit = Arc::new(permit);
    let client = stream.peer_addr().ok().map(ClientAddress);
    match &parts.tls {
        None => serve_http1(stream, client, &permit, &parts).await,
        Some(tls) => {
            let handshake = tokio::time::timeout(parts.limits.header_timeout, tls.accept(stream));
            let accepted = tokio::select! {
                accepted = handshake => accepted,
                _ = permit.closed() => return,
            };
            match accepted {
                Ok(Ok(stream)) => serve_http1(stream, client, &permit, &parts).await,
                Ok(Err(error)) => tracing::debug!(%error, "no TLS"),
                Err(_) => tracing::debug!("no TLS in time"),
            }
        }
    }
}

/// Serves the requests of one connection until it ends.
async fn serve_http1<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    client: Option<ClientAddress>,
    permit: &Arc<ConnectionPermit>,
    parts: &ConnectionParts,
) {
    let router = TowerToHyperService::new(parts.router.clone());
    let service = service_fn(|mut request: Request<Incoming>| {
        let placement = parts.prefix.strip(request.uri_mut());
        let extensions = request.extensions_mut();
        extensions.insert(placement);
        extensions.insert(Arc::clone(permit));
        if let Some(client) = client {
            extensions.insert(client);
        }
        router.call(request)
    });
    let (write_timeout, limits) = (WriteTimeout::new(), &parts.limits);
    let head_timeout = HeadTimeout::new(limits);
    let stream = TimedStream { stream, write_timeout: &write_timeout, head_timeout: &head_timeout };
    let mut builder = parts.builder.clone();
    builder.timer(HeadTimer(Arc::clone(&head_timeout)));
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let mut polls = tokio::time::interval((limits.unread_timeout / DEADLINE_POLLS).max(WATCH));
    polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection broke off");
                }
                return;
            }
            reason = permit.closed() => match reason {
                CloseReason::Evicted => return,
                CloseReason::Stopping => connection.as_mut().graceful_shutdown(),
            },
            _ = polls.tick() => if write_timeout.is_over(limits.unread_timeout) {
                tracing::debug!("a client does not read its answer");
                return;
            },
        }
    }
}
