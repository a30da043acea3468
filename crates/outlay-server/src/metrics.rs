//! Metrics for Prometheus.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric, NoLabelSet};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::{Registry, Unit};

use crate::process_metrics::ProcessCollector;
use crate::service::{self, CampaignMetrics, CampaignService, ServiceMetrics};
use crate::store::{PoolMetrics, StoreMetrics};

/// Seconds, from responses out of memory to the longest that clients wait.
const LATENCIES: [f64; 12] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 15.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    route: Arc<str>,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    method: &'static str,
    route: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StoreLabels {
    store: &'static str,
    version: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ShedLabels {
    reason: &'static str,
}

/// Resources that can run out.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shed {
    Connections,
    Answers,
}

impl Shed {
    fn as_str(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::Answers => "answers",
        }
    }
}

/// The metrics.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    latencies: Family<RouteLabels, Histogram, fn() -> Histogram>,
    connections: Gauge,
    shed: Family<ShedLabels, Counter>,
    store: StoreCollector,
    no_route: Arc<str>,
}

impl Metrics {
    /// Metrics are labelled with campaign ids only on request, because every time series costs
    /// memory and money.
    pub(crate) fn new(service: CampaignService, names_campaigns: bool) -> Self {
        let mut all = Registry::default();
        all.register_collector(Box::new(ProcessCollector));
        let registry = all.sub_registry_with_prefix("outlay");
        let (requests, connections) = (Family::default(), Gauge::default());
        let latencies: Family<_, _, fn() -> Histogram> =
            Family::new_with_constructor(|| Histogram::new(LATENCIES));
        registry.register("requests", "Requests answered", Family::clone(&requests));
        registry.register_with_unit(
            "request_duration",
            "Time from the last header to the response",
            Unit::Seconds,
            latencies.clone(),
        );
        registry.register("connections", "Connections open", connections.clone());
        let shed = Family::<ShedLabels, Counter>::default();
        let help = "Requests not served for lack of connections or of memory for responses";
        registry.register("shed", help, shed.clone());
        let build = Family::<StoreLabels, Gauge>::default();
        build
            .get_or_create(&StoreLabels {
                store: service.store().name(),
                version: env!("CARGO_PKG_VERSION"),
            })
            .set(1);
        registry.register("build_info", "Always 1; labels name the store and version", build);
        registry.register_collector(Box::new(ServiceCollector { service, names_campaigns }));
        let store = StoreCollector::default();
        registry.register_collector(Box::new(store.clone()));
        Self {
            registry: all,
            requests,
            latencies,
            connections,
            shed,
            store,
            no_route: Arc::from("none"),
        }
    }

    /// `route` is the path in the API description, absent if the path is unknown.
    pub(crate) fn count_request(
        &self,
        method: &'static str,
        route: Option<&Arc<str>>,
        status: u16,
        taken: Duration,
    ) {
        let route = Arc::clone(route.unwrap_or(&self.no_route));
        self.requests
            .get_or_create(&RequestLabels { method, route: Arc::clone(&route), status })
            .inc();
        self.latencies.get_or_create(&RouteLabels { method, route }).observe(taken.as_secs_f64());
    }

    /// Counts a request that was not served for lack of a resource.
    pub(crate) fn shed(&self, reason: Shed) -> Counter {
        self.shed.get_or_create_owned(&ShedLabels { reason: reason.as_str() })
    }

    /// All metrics as text.
    pub(crate) fn text(
        &self,
        connections: usize,
        store: StoreMetrics,
    ) -> Result<String, fmt::Error> {
        *self.store.0.lock().unwrap_or_else(PoisonError::into_inner) = store;
        self.connections.set(i64::try_from(connections).unwrap_or(i64::MAX));
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

/// Sizes and connections of the store as of the last request for metrics.
#[derive(Debug, Clone, Default)]
struct StoreCollector(Arc<Mutex<StoreMetrics>>);

impl Collector for StoreCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let store = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let encoder = &mut encoder;
        let sizes = [
            ("store_file_bytes", "Size of the database file", store.file_bytes),
            ("store_wal_bytes", "Size of the write-ahead log", store.wal_bytes),
            ("store_free_bytes", "Free pages within the database file", store.free_bytes),
            ("store_disk_free_bytes", "Space left on its file system", store.disk_free_bytes),
        ];
        for (name, help, bytes) in sizes {
            if let Some(bytes) = bytes {
                gauge(encoder, name, help, bytes as f64)?;
            }
        }
        pools(encoder, &store.pools)
    }
}

/// Name, help, and the number itself.
type PoolGauge = (&'static str, &'static str, fn(&PoolMetrics) -> u64);

fn pools(encoder: &mut DescriptorEncoder<'_>, pools: &[PoolMetrics]) -> Result<(), fmt::Error> {
    if pools.is_empty() {
        return Ok(());
    }
    let gauges: [PoolGauge; 4] = [
        ("store_pool_max_connections", "Largest number of connections", |pool| pool.max),
        ("store_pool_connections", "Open connections to the database", |pool| pool.size),
        ("store_pool_available_connections", "Those not in use", |pool| pool.available),
        ("store_pool_waiting", "Callers waiting for a connection", |pool| pool.waiting),
    ];
    for (name, help, number) in gauges {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for pool in pools {
            let labels = [("pool", pool.name)];
            family.encode_family(&labels)?.encode_gauge(&(number(pool) as f64))?;
        }
    }
    Ok(())
}

/// Metrics of the service at the time of the request.
#[derive(Debug)]
struct ServiceCollector {
    service: CampaignService,
    names_campaigns: bool,
}

impl Collector for ServiceCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let figures = self.service.metrics();
        let encoder = &mut encoder;
        histogram(
            encoder,
            "commit",
            "Duration of commits",
            Some(&Unit::Seconds),
            &figures.commit_seconds,
        )?;
        histogram(encoder, "batch_commands", "Commands per commit", None, &figures.batch_commands)?;
        gauge(encoder, "queue_depth", "Jobs waiting for the store", figures.queue_depth as f64)?;
        counter(
            encoder,
            "queue_full",
            "Reports and requests for rounds rejected because the queue of the store was full",
            figures.queue_full,
        )?;
        counter(
            encoder,
            "unsolved",
            "Requests rejected because no split was found in time",
            figures.unsolved,
        )?;
        counter(encoder, "rounds", "Rounds issued", figures.rounds)?;
        counter(encoder, "outcomes", "Outcomes taken", figures.outcomes)?;
        counter(
            encoder,
            "outcomes_duplicate",
            "Outcomes that repeated an earlier one",
            figures.duplicates,
        )?;
        counter(
            encoder,
            "outcomes_late",
            "Outcomes that arrived after their round had expired",
            figures.late,
        )?;
        counter(
            encoder,
            "outcomes_clipped",
            "Outcomes whose reward was above the largest one and was clipped",
            figures.clipped,
        )?;
        counter(
            encoder,
            "reports_conflicting",
            "Reports rejected because they contradicted an earlier outcome",
            figures.conflicts,
        )?;
        counter(encoder, "store_failures", "Failed writes to the store", figures.store_failures)?;
        gauge(
            encoder,
            "campaigns_in_memory",
            "Campaigns that were requested since the start",
            figures.campaigns.len() as f64,
        )?;
        totals(encoder, &figures)?;
        if self.names_campaigns { each_campaign(encoder, &figures.campaigns) } else { Ok(()) }
    }
}

fn totals(encoder: &mut DescriptorEncoder<'_>, figures: &ServiceMetrics) -> Result<(), fmt::Error> {
    // Not `sum`: that of nothing is minus zero.
    let sum = |number: fn(&CampaignMetrics) -> f64| {
        figures.campaigns.iter().map(number).fold(0.0, |sum, number| sum + number)
    };
    let oldest = figures.campaigns.iter().map(|campaign| campaign.stats_age_ms).max().unwrap_or(0);
    gauge(
        encoder,
        "open_rounds",
        "Open rounds of campaigns in memory",
        sum(|campaign| campaign.open_rounds as f64),
    )?;
    gauge(
        encoder,
        "completions",
        "Reported successes of campaigns in memory",
        sum(|campaign| campaign.completions as f64),
    )?;
    let help = "Successes that the curves predict for the same outcomes; if far from completions, the curves are wrong or only some outcomes are reported";
    gauge(encoder, "completions_expected", help, sum(|campaign| campaign.expected_completions))?;
    gauge(encoder, "stats_age_seconds", "Age of the oldest counts in memory", oldest as f64 / 1e3)
}

/// Name, help, and the number itself.
type CampaignGauge = (&'static str, &'static str, fn(&CampaignMetrics) -> f64);

fn each_campaign(
    encoder: &mut DescriptorEncoder<'_>,
    campaigns: &[CampaignMetrics],
) -> Result<(), fmt::Error> {
    let figures: [CampaignGauge; 3] = [
        ("campaign_open_rounds", "Open rounds", |campaign| campaign.open_rounds as f64),
        ("campaign_completions", "Successes reported", |campaign| campaign.completions as f64),
        (
            "campaign_completions_expected",
            "Successes that the curves predict for the reported outcomes",
            |campaign| campaign.expected_completions,
        ),
    ];
    for (name, help, figure) in figures {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for campaign in campaigns {
            let labels = [("campaign", campaign.id.as_str())];
            family.encode_family(&labels)?.encode_gauge(&figure(campaign))?;
        }
    }
    Ok(())
}

fn counter(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    count: u64,
) -> Result<(), fmt::Error> {
    let counter = ConstCounter::new(count);
    counter.encode(encoder.encode_descriptor(name, help, None, counter.metric_type())?)
}

fn gauge(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    value: f64,
) -> Result<(), fmt::Error> {
    let gauge = ConstGauge::new(value);
    gauge.encode(encoder.encode_descriptor(name, help, None, ConstGauge::<f64>::TYPE)?)
}

fn histogram(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    unit: Option<&Unit>,
    figures: &service::Histogram,
) -> Result<(), fmt::Error> {
    let count = figures.buckets.iter().map(|(_, count)| count).sum();
    let mut encoder = encoder.encode_descriptor(name, help, unit, MetricType::Histogram)?;
    encoder.encode_histogram::<NoLabelSet>(figures.sum, count, &figures.buckets, None)
}
