//! Features for operators: idle connections, hosts, a path prefix, draining, traces, token names.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use outlay_server::http::{Ending, RequestObserver, RequestSummary, Settings, TraceContext};
use outlay_server::limits::Limits;
use outlay_server::store::MemoryStore;

use super::client::{connect, read};
use super::{CAMPAIGN, Running, local_settings};

const LIVEZ: &[u8] = b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n";

fn running(settings: Settings) -> Running {
    Running::with_settings(Arc::new(MemoryStore::new()), Limits::default(), settings)
}

#[test]
fn the_idle_timeout_may_exceed_the_header_timeout() {
    let limits = Limits {
        header_timeout: Duration::from_millis(300),
        idle_timeout: Duration::from_secs(2),
        ..Limits::default()
    };
    let service = Running::with(Arc::new(MemoryStore::new()), limits);
    let closed_after = |socket: &mut std::net::TcpStream| {
        let begun = Instant::now();
        let _ = socket.read_to_end(&mut Vec::new());
        begun.elapsed()
    };
    // The first request counts from the start of the connection.
    let silent = closed_after(&mut connect(service.address()));
    assert!(silent < Duration::from_secs(2), "{silent:?}");
    let mut socket = connect(service.address());
    for _ in 0..3 {
        socket.write_all(LIVEZ).unwrap();
        assert_eq!(read(&mut socket).status, 200, "after a pause");
        std::thread::sleep(Duration::from_millis(900));
    }
    // Endless headers are still cut off.
    socket.write_all(b"GET /livez HTTP/1.1\r\nhost: ").unwrap();
    let slow = closed_after(&mut socket);
    assert!(slow < Duration::from_millis(1500), "{slow:?}");
    let mut idle = connect(service.address());
    idle.write_all(LIVEZ).unwrap();
    assert_eq!(read(&mut idle).status, 200);
    let idle = closed_after(&mut idle);
    assert!(idle > Duration::from_millis(1500) && idle < Duration::from_secs(10), "{idle:?}");
}

#[test]
fn connections_are_kept_for_longer_than_proxies_keep_them() {
    assert!(Limits::default().idle_timeout > Duration::from_secs(60));
}

#[test]
fn a_request_has_exactly_one_valid_host() {
    let service = Running::new();
    let send = |head: &str| service.client().raw(format!("{head}\r\n\r\n").as_bytes());
    for head in [
        "GET /livez HTTP/1.1\r\nhost: localhost",
        "GET /livez HTTP/1.1\r\nHost: [::1]:7341",
        "GET /livez HTTP/1.0",
        "GET /livez HTTP/1.0\r\nhost: localhost",
        "GET http://localhost/livez HTTP/1.1\r\nhost: localhost",
    ] {
        assert_eq!(send(head).status, 200, "{head}");
    }
    for head in [
        "GET /livez HTTP/1.1",
        "GET /livez HTTP/1.1\r\nhost:",
        "GET /livez HTTP/1.1\r\nhost: localhost\r\nhost: localhost",
        "GET /livez HTTP/1.1\r\nhost: localhost\r\nhost: evil.example",
        "GET /livez HTTP/1.0\r\nhost: a\r\nhost: b",
        "GET /livez HTTP/1.1\r\nhost: a b",
        "GET /livez HTTP/1.1\r\nhost: user@localhost",
        "GET /livez HTTP/1.1\r\nhost: localhost:port",
        "GET /livez HTTP/1.1\r\nhost: localhost/path",
        "GET http://localhost/livez HTTP/1.1",
        "GET /nowhere HTTP/1.1",
        "GET /v1/campaigns HTTP/1.1",
    ] {
        let answer = send(head);
        assert_eq!((answer.status, answer.code().as_str()), (400, "bad-request"), "{head}");
        assert_eq!(answer.header("connection"), Some("close"), "{head}");
    }
}

#[test]
fn all_paths_are_below_the_prefix() {
    let service = running(Settings { prefix: "/a/outlay".parse().unwrap(), ..local_settings() });
    let client = service.client();
    let made = client.json("PUT", "/a/outlay/v1/campaigns/shop", CAMPAIGN);
    assert_eq!((made.status, made.header("location")), (201, Some("/a/outlay/v1/campaigns/shop")));
    for path in ["/", "/dashboard/api.js", "/metrics", "/livez", "/readyz", "/problems/busy"] {
        assert_eq!(client.get(&format!("/a/outlay{path}")).status, 200, "{path}");
    }
    assert_eq!((client.get("/livez").status, client.get("/readyz").status), (200, 200));
    let openapi = client.get("/a/outlay/openapi.json").json();
    assert_eq!(openapi["servers"], serde_json::json!([{ "url": "/a/outlay" }]));
    let refused = client.get("/a/outlay/v1/campaigns/none").json();
    assert_eq!(refused["type"], "/a/outlay/problems/no-campaign");
    assert_eq!(client.get(refused["type"].as_str().unwrap()).status, 200);
    for path in ["/", "/v1/campaigns", "/a/outlay-2/livez", "/a", "/metrics", "/openapi.json"] {
        let outside = client.get(path);
        assert_eq!((outside.status, &outside.json()["code"]), (404, &"no-route".into()), "{path}");
    }
    let bare = client.get("/a/outlay");
    assert_eq!((bare.status, bare.header("location")), (308, Some("/a/outlay/")));
    // Links of the page are relative to it.
    let page = client.get("/a/outlay/").body;
    assert!(page.contains("\"dashboard/main.js\"") && !page.contains("\"/"), "{page}");
    let metrics = client.get("/a/outlay/metrics").body;
    assert!(metrics.contains("route=\"/v1/campaigns/{campaign}\",status=\"201\"} 1"), "{metrics}");
}

#[test]
fn a_draining_service_is_not_ready() {
    let drain = Duration::from_secs(1);
    let metrics = Some("127.0.0.1:0".parse().unwrap());
    let mut service = running(Settings { drain, metrics, ..local_settings() });
    let (client, metrics_client) = (service.client(), service.metrics_client());
    assert_eq!(client.get("/readyz").status, 200);
    let begun = Instant::now();
    service.stop();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(client.get("/readyz").code(), "busy");
    assert_eq!(metrics_client.get("/readyz").code(), "busy");
    assert_eq!(client.get("/livez").status, 200);
    assert_eq!(client.json("PUT", "/v1/campaigns/shop", CAMPAIGN).status, 201, "still served");
    assert_eq!(metrics_client.get("/metrics").status, 200);
    assert_eq!(service.ending(), Ending::Stopped);
    assert!(begun.elapsed() >= drain, "{:?}", begun.elapsed());
    assert!(std::net::TcpStream::connect(service.address()).is_err());
}

/// A part of a summary.
#[derive(Debug, Clone)]
struct Observed {
    request: String,
    status: u16,
    bytes: u64,
    campaign: Option<String>,
    trace: Option<TraceContext>,
}

/// Collects the summaries it receives.
#[derive(Debug, Default)]
struct Kept(Mutex<Vec<Observed>>);

impl RequestObserver for Kept {
    fn observe(&self, request: &RequestSummary<'_>) {
        assert!(request.client.is_some_and(|client| client.ip().is_loopback()));
        self.0.lock().unwrap().push(Observed {
            request: format!("{} {}", request.method, request.route),
            status: request.status,
            bytes: request.bytes,
            campaign: request.campaign.map(str::to_owned),
            trace: request.trace,
        });
    }
}

#[test]
fn a_trace_is_passed_on_and_every_request_is_observed() {
    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    let given = format!("00-{TRACE}-b7ad6b7169203331-01");
    let plain = Running::new();
    let missing = |trace: &str| {
        plain.client().send("GET", "/v1/campaigns/none", &[("traceparent", trace)], None)
    };
    let answer = missing(&given);
    assert_eq!(answer.json()["trace_id"], TRACE);
    let passed_on = answer.header("traceresponse").unwrap();
    assert!(passed_on.starts_with(&format!("00-{TRACE}-")) && passed_on.ends_with("-01"));
    assert!(
        !passed_on.contains("b7ad6b7169203331"),
        "the client's span must be replaced by the request's: {passed_on}"
    );
    let invalid = missing(&given.to_uppercase());
    assert_eq!((invalid.json().get("trace_id"), invalid.header("traceresponse")), (None, None));

    let kept = Arc::new(Kept::default());
    let observer: Option<Arc<dyn RequestObserver>> = Some(kept.clone());
    let service = running(Settings { observer, ..local_settings() });
    let client = service.client();
    assert_eq!(client.get("/livez").status, 200);
    client.json("PUT", "/v1/campaigns/shop", CAMPAIGN);
    client.send("GET", "/v1/campaigns/no%0Ane", &[("traceparent", &given)], None);
    let page = client.send("GET", "/openapi.json", &[("accept-encoding", "gzip")], None).head;
    assert!(page.contains("gzip"), "{page}");
    let kept = || kept.0.lock().unwrap().clone();
    let end = Instant::now() + Duration::from_secs(10);
    while kept().len() < 3 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    let [created, refused, compressed] = kept().try_into().unwrap();
    let path = "/v1/campaigns/{campaign}";
    assert_eq!((created.request, created.status), (format!("PUT {path}"), 201), "without probes");
    assert_eq!(created.campaign.as_deref(), Some("shop"));
    assert!(created.bytes > 100, "{}", created.bytes);
    let started = created.trace.unwrap();
    assert!(started.trace_id != 0 && started.parent_id.is_none(), "a new trace");
    assert_eq!((refused.request, refused.status), (format!("GET {path}"), 404));
    assert_eq!(refused.campaign, None, "only valid ids");
    let trace = refused.trace.unwrap();
    assert_eq!(format!("{:032x}", trace.trace_id), TRACE);
    assert_eq!((trace.parent_id, trace.is_sampled), (Some(0xb7ad_6b71_6920_3331), true));
    assert_eq!((compressed.request.as_str(), compressed.status), ("GET /openapi.json", 200));
    let bytes = compressed.bytes;
    assert!(bytes > 1000 && bytes < 50_000, "counted as sent: {bytes}");
}

#[test]
fn tokens_have_names_which_lists_and_events_show() {
    let service = Running::new();
    let open = service.client();
    let made = open.json("POST", "/v1/tokens", r#"{"scopes": ["admin"], "name": "ops"}"#);
    assert_eq!((made.status, &made.json()["name"]), (201, &"ops".into()));
    let admin = open.with_token(made.json()["token"].as_str().unwrap());
    let bad = admin.json("POST", "/v1/tokens", r#"{"scopes": ["read"], "name": "a b"}"#);
    assert_eq!((bad.status, &bad.json()["pointer"]), (400, &"/name".into()));
    let group = r#"{"scopes": ["admin"], "campaign": "shop-*", "name": "shops"}"#;
    let group = admin.json("POST", "/v1/tokens", group).json();
    let shops = open.with_token(group["token"].as_str().unwrap());
    assert_eq!(shops.json("PUT", "/v1/campaigns/shop-1", CAMPAIGN).status, 201);
    assert_eq!(shops.json("PUT", "/v1/campaigns/shop", CAMPAIGN).code(), "forbidden");
    assert_eq!(shops.get("/v1/campaigns").code(), "forbidden", "a list is about all campaigns");
    let events = shops.get("/v1/campaigns/shop-1/events").json();
    assert_eq!(events["events"][0]["token"], group["id"]);
    assert_eq!(events["events"][0]["token_name"], "shops");
    let list = admin.get("/v1/tokens").json();
    let names: Vec<&str> =
        list["tokens"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"ops") && names.contains(&"shops"), "{list}");
}
