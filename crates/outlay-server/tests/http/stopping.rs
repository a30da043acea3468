//! How it ends.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use outlay_server::clock::SystemClock;
use outlay_server::desk::Desk;
use outlay_server::http::{Ending, Server, Settings};
use outlay_server::limits::Limits;
use outlay_server::store::{
    CampaignRow, Command, Done, Event, MemoryStore, Millis, Refusal, RoundRow, SplitRow, Standing, Store, StoreError, TokenRow, UsedKey,
    Verified,
};

use crate::client::{connect, read};
use crate::{CAMPAIGN, Running};

#[test]
fn requests_under_way_are_finished_and_no_new_ones_begun() {
    let mut service = Running::new();
    assert_eq!(service.client().get("/readyz").status, 200);
    // Half a request is under way when it is told to stop.
    let mut socket = connect(service.address());
    let head = format!(
        "PUT /v1/campaigns/shop HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        CAMPAIGN.len()
    );
    socket.write_all(head.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    service.stop();
    std::thread::sleep(Duration::from_millis(200));
    assert!(std::net::TcpStream::connect(service.address()).is_err(), "it still takes connections");
    socket.write_all(CAMPAIGN.as_bytes()).unwrap();
    assert_eq!(read(&mut socket).status, 201);
    assert_eq!(service.ending(), Ending::Stopped);
}

#[test]
fn an_idle_connection_does_not_hold_up_the_end() {
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
fn a_store_that_fails_ends_it_within_a_second() {
    let store = Arc::new(Failing::default());
    let mut service = Running::with(Arc::clone(&store) as Arc<dyn Store>, Limits::default());
    let client = service.client();
    assert_eq!(client.json("PUT", "/v1/campaigns/shop", CAMPAIGN).status, 201);
    store.is_broken.store(true, Ordering::SeqCst);
    let begun = Instant::now();
    let answer = client.json("POST", "/v1/campaigns/shop/rounds", "{}");
    assert_eq!((answer.status, answer.code().as_str(), answer.header("retry-after")), (503, "busy", Some("1")));
    assert_eq!(service.ending(), Ending::StoreFailed("the disk is gone".to_owned()));
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[test]
fn nobody_else_is_served_without_tokens() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let desk = Desk::open(Arc::new(MemoryStore::new()), Arc::new(SystemClock), Limits::default()).unwrap();
    let settings = Settings { listen: "0.0.0.0:0".parse().unwrap(), metrics: None, tls: None, campaign_metrics: false };
    let refused = runtime.block_on(Server::bind(desk, &settings)).unwrap_err();
    assert!(refused.to_string().contains("outlay token create"), "{refused}");
}

/// A store whose disk can be taken away.
#[derive(Debug, Default)]
struct Failing {
    inner: MemoryStore,
    is_broken: AtomicBool,
}

impl Store for Failing {
    fn name(&self) -> &'static str {
        "failing"
    }

    fn is_shared(&self) -> bool {
        false
    }

    fn apply(&self, batch: &[Command]) -> Result<Vec<Result<Done, Refusal>>, StoreError> {
        if self.is_broken.load(Ordering::SeqCst) {
            return Err(StoreError { what: "the disk is gone".to_owned(), is_fatal: true });
        }
        self.inner.apply(batch)
    }

    fn lease_rounds(&self, campaign: &str, count: u32) -> Result<Range<u64>, StoreError> {
        self.inner.lease_rounds(campaign, count)
    }

    fn campaign(&self, id: &str) -> Result<Option<CampaignRow>, StoreError> {
        self.inner.campaign(id)
    }

    fn campaigns(&self, after: Option<&str>, limit: usize) -> Result<Vec<CampaignRow>, StoreError> {
        self.inner.campaigns(after, limit)
    }

    fn standing(&self, campaign: &str) -> Result<Standing, StoreError> {
        self.inner.standing(campaign)
    }

    fn split(&self, campaign: &str, round: u64) -> Result<Option<SplitRow>, StoreError> {
        self.inner.split(campaign, round)
    }

    fn last_split(&self, campaign: &str) -> Result<Option<SplitRow>, StoreError> {
        self.inner.last_split(campaign)
    }

    fn open_rounds(&self, campaign: &str, now: Millis) -> Result<Vec<(u64, Millis)>, StoreError> {
        self.inner.open_rounds(campaign, now)
    }

    fn rounds(&self, campaign: &str, after: u64, limit: usize) -> Result<Vec<RoundRow>, StoreError> {
        self.inner.rounds(campaign, after, limit)
    }

    fn events(&self, campaign: &str, after: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
        self.inner.events(campaign, after, limit)
    }

    fn used_key(&self, token: &str, key: &str, now: Millis) -> Result<Option<UsedKey>, StoreError> {
        self.inner.used_key(token, key, now)
    }

    fn tokens(&self) -> Result<Vec<TokenRow>, StoreError> {
        self.inner.tokens()
    }

    fn verify(&self) -> Result<Verified, StoreError> {
        self.inner.verify()
    }

    fn health(&self) -> Result<(), StoreError> {
        self.inner.health()
    }

    fn close(&self) -> Result<(), StoreError> {
        self.inner.close()
    }
}
