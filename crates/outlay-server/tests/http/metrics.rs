//! Figures at an address of their own.

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

fn apart(limits: Limits) -> Running {
    apart_on(Arc::new(MemoryStore::new()), limits)
}

fn apart_on(store: Arc<dyn Store>, limits: Limits) -> Running {
    let metrics = Some("127.0.0.1:0".parse().unwrap());
    Running::with_settings(store, limits, Settings { metrics, ..local_settings() })
}

#[test]
fn they_are_there_and_only_there() {
    let mut service = apart(Limits::default());
    let (client, watcher) = (service.client(), service.watcher());
    assert_eq!(client.json("PUT", "/v1/campaigns/shop", CAMPAIGN).status, 201);
    assert_eq!(client.get("/metrics").code(), "no-route");
    assert_eq!([watcher.get("/livez").status, watcher.get("/readyz").status], [200, 200]);
    let figures = watcher.get("/metrics");
    assert_eq!(figures.status, 200);
    assert!(
        figures.body.contains("route=\"/v1/campaigns/{campaign}\",status=\"201\"} 1"),
        "{}",
        figures.body
    );
    for path in ["/v1/campaigns", "/", "/openapi.json"] {
        assert_eq!(watcher.get(path).code(), "no-route", "{path}");
    }
    service.stop();
    assert_eq!(service.ending(), Ending::Stopped);
}

#[test]
fn they_need_a_token_as_everything_does() {
    let service = apart(Limits::default());
    let (client, watcher) = (service.client(), service.watcher());
    let host =
        watcher.raw(b"GET /metrics HTTP/1.1\r\nhost: example.com\r\nconnection: close\r\n\r\n");
    assert_eq!(host.code(), "forbidden");
    let made = client.json("POST", "/v1/tokens", r#"{"scopes": ["admin"]}"#).json();
    assert_eq!(watcher.get("/metrics").code(), "unauthorised");
    assert_eq!(watcher.with_token(made["token"].as_str().unwrap()).get("/metrics").status, 200);
}

#[test]
fn a_full_house_does_not_keep_the_watcher_out() {
    let service = apart(Limits { connections: 2, ..Limits::default() });
    let _held: Vec<_> = (0..10).map(|_| connect(service.address())).collect();
    assert_eq!(service.watcher().get("/metrics").status, 200);
}

#[test]
fn they_are_not_shown_to_others_without_tokens() {
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
fn a_file_has_sizes_and_a_disk() {
    let folder = tempfile::tempdir().unwrap();
    let options = SqliteOptions { any_file_system: true, ..SqliteOptions::default() };
    let store = SqliteStore::open(&folder.path().join("data"), &options).unwrap();
    let service = apart_on(Arc::new(store), Limits::default());
    let scrape = || service.watcher().get("/metrics").body;
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
    // A store that has everything a store can have.
    let pool = PoolMetrics { name: "read", max: 8, size: 3, available: 1, waiting: 2 };
    let bytes = Some(5);
    let store = Wrapped::new(false, |store, batch| store.apply(batch)).with_metrics(StoreMetrics {
        file_bytes: bytes,
        wal_bytes: bytes,
        free_bytes: bytes,
        disk_free_bytes: bytes,
        pools: vec![pool],
    });
    let service = apart_on(Arc::new(store), Limits::default());
    let (client, watcher) = (service.client(), service.watcher());
    assert_eq!(client.json("PUT", "/v1/campaigns/shop", CAMPAIGN).status, 201);
    let body = watcher.get("/metrics").body;
    assert!(body.contains("\noutlay_store_pool_waiting{pool=\"read\"} 2.0\n"), "{body}");
    let exported = names(&body);
    let alerts = include_str!("../../../../deploy/prometheus/alerts.yml");
    let panels = include_str!("../../../../deploy/grafana/outlay.json");
    let used = names(alerts).into_iter().chain(names(panels));
    let unknown: Vec<&str> = used.filter(|name| !exported.contains(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?} are not among {exported:?}");
    assert!(names(alerts).len() > 5 && names(panels).len() > 10);
}
