//! The service over real sockets, mostly with the in-memory store.

mod amendments;
mod api;
mod auth;
mod client;
mod clipped;
mod counts;
mod deletion;
mod event_stream;
mod hostile;
mod isolation;
mod metrics;
mod openapi;
mod operations;
mod same_learner;
mod seen;
mod stopping;
mod tables;
mod tls;

use std::net::SocketAddr;
use std::sync::Arc;

use outlay_server::clock::SystemClock;
use outlay_server::http::{Ending, Server, Settings};
use outlay_server::limits::Limits;
use outlay_server::service::CampaignService;
use outlay_server::store::{MemoryStore, Store};
use tokio::sync::oneshot;

use client::Client;

/// A service in its own thread, stopped when dropped.
pub(crate) struct Running {
    address: SocketAddr,
    metrics: Option<SocketAddr>,
    stop: Option<oneshot::Sender<()>>,
    ended: Option<std::thread::JoinHandle<Ending>>,
}

impl Running {
    pub(crate) fn new() -> Self {
        Self::with(Arc::new(MemoryStore::new()), Limits::default())
    }

    pub(crate) fn with(store: Arc<dyn Store>, limits: Limits) -> Self {
        Self::with_settings(store, limits, local_settings())
    }

    pub(crate) fn with_settings(store: Arc<dyn Store>, limits: Limits, settings: Settings) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let (send_address, bound) = std::sync::mpsc::channel();
        let ended = std::thread::spawn(move || {
            let service = CampaignService::open(store, Arc::new(SystemClock), limits).unwrap();
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async move {
                let server = Server::bind(service, &settings).await.unwrap();
                send_address
                    .send((server.address().unwrap(), server.metrics_address().unwrap()))
                    .unwrap();
                let stop = async {
                    let _ = stopped.await;
                };
                server.run(stop).await
            })
        });
        let (address, metrics) = bound.recv().unwrap();
        Self { address, metrics, stop: Some(stop), ended: Some(ended) }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.address)
    }

    /// A client of the separate metrics address.
    pub(crate) fn metrics_client(&self) -> Client {
        Client::new(self.metrics.unwrap())
    }

    /// Requests a stop.
    pub(crate) fn stop(&mut self) {
        drop(self.stop.take());
    }

    /// Waits for its end.
    pub(crate) fn ending(&mut self) -> Ending {
        self.ended.take().unwrap().join().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

/// On a free port of this machine.
pub(crate) fn local_settings() -> Settings {
    Settings { campaign_metrics: true, ..Settings::new("127.0.0.1:0".parse().unwrap()) }
}

/// A campaign of two tasks: a success of `a` is likely.
pub(crate) const CAMPAIGN: &str = r#"{"problem": {"budget": 10, "task": [
    {"name": "a", "curve": {"family": "exponential", "scale": 2}},
    {"name": "b", "curve": {"family": "exponential", "scale": 4}}]}}"#;
