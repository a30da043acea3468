//! How the service stops.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use outlay_server::clock::SystemClock;
use outlay_server::http::{Ending, Server, Settings};
use outlay_server::limits::Limits;
use outlay_server::service::CampaignService;
use outlay_server::store::{Command, MemoryStore, Store as _, StoreError};

use super::client::{connect, read};
use super::{CAMPAIGN, Running};
use crate::support::wrapped::Wrapped;

#[test]
fn a_stop_finishes_requests_in_progress_and_accepts_no_new_ones() {
    let mut service = Running::new();
    assert_eq!(service.client().get("/readyz").status, 200);
    // Half a request has been sent when the service is stopped.
    let mut socket = connect(service.address());
    let head = format!(
        "PUT /v1/campaigns/shop HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        CAMPAIGN.len()
    );
    socket.write_all(head.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    service.stop();
    std::thread::sleep(Duration::from_millis(200));
    assert!(
        std::net::TcpStream::connect(service.address()).is_err(),
        "it still accepts connections"
    );
    socket.write_all(CAMPAIGN.as_bytes()).unwrap();
    assert_eq!(read(&mut socket).status, 201);
    assert_eq!(service.ending(), Ending::Stopped);
}

#[test]
fn an_idle_connection_does_not_delay_the_stop() {
    let mut service = Running::new();
    let mut socket = connect(service.address());
    socket.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    assert_eq!(read(&mut socket).status, 200);
    let begun = Instant::now();
    service.stop();
    assert_eq!(service.ending(), Ending::Stopped);
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_failed_store_stops_the_service_within_a_second() {
    let is_broken = Arc::new(AtomicBool::new(false));
    let is_gone = Arc::clone(&is_broken);
    let store = Wrapped::new(false, move |store, batch| {
        if is_gone.load(Ordering::SeqCst) {
            return Err(StoreError { what: "the disk is gone".to_owned(), is_fatal: true });
        }
        store.apply(batch)
    });
    let mut service = Running::with(Arc::new(store), Limits::default());
    let client = service.client();
    assert_eq!(client.json("PUT", "/v1/campaigns/shop", CAMPAIGN).status, 201);
    is_broken.store(true, Ordering::SeqCst);
    let begun = Instant::now();
    let answer = client.json("POST", "/v1/campaigns/shop/rounds", "{}");
    assert_eq!(
        (answer.status, answer.code().as_str(), answer.header("retry-after")),
        (503, "busy", Some("1"))
    );
    assert_eq!(service.ending(), Ending::StoreFailed("the disk is gone".to_owned()));
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}

/// After a panic of the writer it is unknown what was written, so the service stops instead of
/// letting requests wait for ever.
#[test]
fn a_panicking_store_stops_the_service() {
    let store = Wrapped::new(false, |store, batch| {
        assert!(
            !batch.iter().any(|command| matches!(command, Command::Ask(_))),
            "a bug in the store"
        );
        store.apply(batch)
    });
    let mut service = Running::with(Arc::new(store), Limits::default());
    let client = service.client();
    assert_eq!(client.json("PUT", "/v1/campaigns/shop", CAMPAIGN).status, 201);
    assert_eq!(client.json("POST", "/v1/campaigns/shop/rounds", "{}").code(), "busy");
    let Ending::StoreFailed(what) = service.ending() else { panic!("it ended without an error") };
    assert!(what.contains("broke off"), "{what}");
}

#[test]
fn public_addresses_need_tokens() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let service = CampaignService::open(
        Arc::new(MemoryStore::new()),
        Arc::new(SystemClock),
        Limits::default(),
    )
    .unwrap();
    let settings = Settings::new("0.0.0.0:0".parse().unwrap());
    let refused = runtime.block_on(Server::bind(service, &settings)).unwrap_err();
    assert!(refused.to_string().contains("outlay token create"), "{refused}");
}
