//! Figures for Prometheus.

use std::fmt;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::desk::Desk;

/// Seconds: from what memory answers in to what nobody waits for.
const LATENCIES: [f64; 12] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 15.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    route: String,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    method: &'static str,
    route: String,
}

/// What is counted.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    latencies: Family<RouteLabels, Histogram, fn() -> Histogram>,
    connections: Gauge,
    names_campaigns: bool,
}

impl Metrics {
    pub(crate) fn new(store: &'static str, names_campaigns: bool) -> Self {
        let mut registry = Registry::with_prefix("outlay");
        let requests = Family::default();
        let latencies: Family<_, _, fn() -> Histogram> = Family::new_with_constructor(|| Histogram::new(LATENCIES));
        let connections = Gauge::default();
        registry.register("requests", "Requests answered", requests.clone());
        registry.register_with_unit("request_duration", "From the last header to the answer", Unit::Seconds, latencies.clone());
        registry.register("connections", "Connections open", connections.clone());
        let _ = store;
        Self { registry, requests, latencies, connections, names_campaigns }
    }

    pub(crate) fn count_request(&self, method: &'static str, route: &str, status: u16, taken: Duration) {
        self.requests.get_or_create(&RequestLabels { method, route: route.to_owned(), status }).inc();
        self.latencies.get_or_create(&RouteLabels { method, route: route.to_owned() }).observe(taken.as_secs_f64());
    }

    pub(crate) fn connections(&self, count: usize) {
        self.connections.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// All of it as text, with what the desk knows by now.
    pub(crate) fn text(&self, desk: &Desk) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        let _ = (desk, self.names_campaigns);
        Ok(text)
    }
}
