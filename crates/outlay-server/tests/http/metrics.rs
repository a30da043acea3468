//! Metrics at their own address.

use std::net::SocketAddr;
use std::sync::Arc;

use outlay_server::clock::SystemClock;
use outlay_server::http::{Ending, Server, Settings};
use outlay_server::limits::Limits;
use outlay_server::service::CampaignService;
use outlay_server::store::{
    MemoryStore, PoolMetrics, SqliteOptions, SqliteStore, Store, StoreMetrics,
};

use super::client::connect;
use super::{CAMPAIGN, Running, local_settings};
use crate::support::wrapped::Wrapped;

fn with_metrics_address(limits: Limits) -> Running {
    with_metrics_address_on(Arc::new(MemoryStore::new()), limits)
}

fn with_metrics_address_on(store: Arc<dyn Store>, limits: Limits) -> Running {
    let metrics = Some("127.0.0.1:0".parse().unwrap());
    Running::with_settings(store, limits, Settings { metrics, ..local_settings() })
}

#[test]
fn metrics_are_served_at_their_own_address_only() {
    let mut service = with_metrics_address(Limits::default());
    let (client, metrics_client) = (service.client(), service.metrics_client());
    assert_eq!(client.json("PUT", "/v1/campaigns/shop", CAMPAIGN).status, 201);
    assert_eq!(client.get("/metrics").code(), "no-route");
    assert_eq!(
        [metrics_client.get("/livez").status, metrics_client.get("/readyz").status],
        [200, 200]
    );
    let answer = metrics_client.get("/metrics");
    assert_eq!(answer.status, 200);
    assert!(
        answer.body.contains("route=\"/v1/campaigns/{campaign}\",status=\"201\"} 1"),
        "{}",
        answer.body
    );
    for path in ["/v1/campaigns", "/", "/openapi.json"] {
        assert_eq!(metrics_client.get(path).code(), "no-route", "{path}");
    }
    service.stop();
    assert_eq!(service.ending(), Ending::Stopped);
}

#[test]
fn metrics_need_a_token() {
    let service = with_metrics_address(Limits::default());
    let (client, metrics_client) = (service.client(), service.metrics_client());
    let host = metrics_client
        .raw(b"GET /metrics HTTP/1.1\r\nhost: example.com\r\nconnection: close\r\n\r\n");
    assert_eq!(host.code(), "forbidden");
    let made = client.json("POST", "/v1/tokens", r#"{"scopes": ["admin"]}"#).json();
    assert_eq!(metrics_client.get("/metrics").code(), "unauthorised");
    assert_eq!(
        metrics_client.with_token(made["token"].as_str().unwrap()).get("/metrics").status,
        200
    );
}

#[test]
fn metrics_are_served_when_all_connections_are_busy() {
    let service = with_metrics_address(Limits { connections: 2, ..Limits::default() });
    let _held: Vec<_> = (0..10).map(|_| connect(service.address())).collect();
    assert_eq!(service.metrics_client().get("/metrics").status, 200);
}

#[test]
fn public_metrics_need_tokens() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let service = CampaignService::open(
        Arc::new(MemoryStore::new()),
        Arc::new(SystemClock),
        Limits::default(),
    )
    .unwrap();
    let (here, everywhere): (SocketAddr, SocketAddr) =
        ("127.0.0.1:0".parse().unwrap(), "0.0.0.0:0".parse().unwrap());
    let settings = Settings { metrics: Some(everywhere), ..Settings::new(here) };
    let refused = runtime.block_on(Server::bind(service, &settings)).unwrap_err();
    assert!(refused.to_string().contains("outlay token create"), "{refused}");
}

/// Names of metrics in a text.
fn names(text: &str) -> std::collections::BTreeSet<&str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| word.starts_with("outlay_") || word.starts_with("process_"))
        .collect()
}

/// The value of a metric without labels.
fn value(body: &str, name: &str) -> f64 {
    let line = body.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {body}")).parse().unwrap()
}

#[test]
fn a_database_file_reports_sizes_and_free_disk_space() {
    let folder = tempfile::tempdir().unwrap();
    let options = SqliteOptions { any_file_system: true, ..SqliteOptions::default() };
    let store = SqliteStore::open(&folder.path().join("data"), &options).unwrap();
    let service = with_metrics_address_on(Arc::new(store), Limits::default());
    let scrape = || service.metrics_client().get("/metrics").body;
    let before = value(&scrape(), "outlay_store_wal_bytes");
    for name in ["a", "b", "c"] {
        let path = format!("/v1/campaigns/{name}");
        assert_eq!(service.client().json("PUT", &path, CAMPAIGN).status, 201);
    }
    let body = scrape();
    assert!(value(&body, "outlay_store_wal_bytes") > before, "{body}");
    assert!(value(&body, "outlay_store_file_bytes") >= 4096.0, "{body}");
    assert!(value(&body, "outlay_store_free_bytes") >= 0.0, "{body}");
    assert!(value(&body, "outlay_store_disk_free_bytes") > 0.0, "{body}");
    assert!(!body.contains("outlay_store_pool"), "{body}");
}

#[test]
fn alerts_and_panels_use_metrics_that_exist() {
    // A store that exports every store metric.
    let pool = PoolMetrics { name: "read", max: 8, size: 3, available: 1, waiting: 2 };
    let bytes = Some(5);
    let store = Wrapped::new(false, |store, batch| store.apply(batch)).with_metrics(StoreMetrics {
        file_bytes: bytes,
        wal_bytes: bytes,
        free_bytes: bytes,
        disk_free_bytes: bytes,
        pools: vec![pool],
    });
    let service = with_metrics_address_on(Arc::new(store), Limits::default());
    let (client, metrics_client) = (service.client(), service.metrics_client());
    assert_eq!(client.json("PUT", "/v1/campaigns/shop", CAMPAIGN).status, 201);
    let body = metrics_client.get("/metrics").body;
    assert!(body.contains("\noutlay_store_pool_waiting{pool=\"read\"} 2.0\n"), "{body}");
    let exported = names(&body);
    let alerts = include_str!("../../../../deploy/prometheus/alerts.yml");
    let panels = include_str!("../../../../deploy/grafana/outlay.json");
    let used = names(alerts).into_iter().chain(names(panels));
    let unknown: Vec<&str> = used.filter(|name| !exported.contains(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?} are not exported; expected some of {exported:?}");
    assert!(names(alerts).len() > 5 && names(panels).len() > 10);
}
