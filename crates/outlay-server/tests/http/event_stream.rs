//! Server-sent events.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use outlay_server::http::Ending;
use outlay_server::limits::Limits;
use outlay_server::store::MemoryStore;
use serde_json::Value;

use super::client::connect;
use super::{CAMPAIGN, Running};
use crate::support::database::Database;

const PATH: &str = "/v1/campaigns/shop/events/stream";

/// An open stream.
struct Stream(BufReader<TcpStream>);

/// An event as received: id, type and data.
type Got = (String, String, Value);

impl Stream {
    fn open(service: &Running, path: &str, headers: &str) -> Self {
        let mut socket = connect(service.address());
        let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n");
        socket.write_all(head.as_bytes()).unwrap();
        let mut stream = Self(BufReader::new(socket));
        let status = stream.line().unwrap();
        assert!(status.starts_with("HTTP/1.1 200"), "{status}");
        let mut head = String::new();
        while let Some(line) = stream.line().filter(|line| !line.is_empty()) {
            head += &line.to_lowercase();
            head.push('\n');
        }
        assert!(head.contains("content-type: text/event-stream"), "{head}");
        assert!(!head.contains("content-encoding"), "{head}");
        stream
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let count = self.0.read_line(&mut line).unwrap();
        (count > 0).then(|| line.trim_end().to_owned())
    }

    /// The next event; `None` at the end.
    fn next(&mut self) -> Option<Got> {
        let (mut id, mut kind) = (String::new(), String::new());
        loop {
            // The last chunk is empty; the connection can be reused.
            let line = self.line().filter(|line| line != "0")?;
            match line.split_once(": ") {
                Some(("id", text)) => id = text.to_owned(),
                Some(("event", text)) => kind = text.to_owned(),
                Some(("data", text)) => {
                    return Some((id, kind, serde_json::from_str(text).unwrap()));
                }
                // Skips chunk sizes, comments and the retry interval.
                _ => {}
            }
        }
    }

    fn kinds(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.next().unwrap().1).collect()
    }
}

fn begin(service: &Running) {
    assert_eq!(service.client().json("PUT", "/v1/campaigns/shop", CAMPAIGN).status, 201);
}

fn ask(service: &Running) {
    let asked = service.client().json("POST", "/v1/campaigns/shop/rounds", "{}");
    assert_eq!(asked.status, 201);
}

#[test]
fn events_are_streamed_live_and_resumed() {
    let service = Running::new();
    begin(&service);
    let mut new = Stream::open(&service, PATH, "");
    ask(&service);
    let (id, kind, data) = new.next().unwrap();
    assert_eq!(
        (kind.as_str(), &data["kind"], &data["rounds"][0]),
        ("asked", &"asked".into(), &1.into())
    );
    assert_eq!(data["seq"].to_string(), id);
    let feedback = r#"{"results": [{"task": "a", "completed": true, "reward": 0.5}]}"#;
    service.client().json("PUT", "/v1/campaigns/shop/rounds/1/feedback", feedback);
    assert_eq!(new.next().unwrap().1, "told");
    // From the beginning, and from the end of another stream.
    let mut all = Stream::open(&service, &format!("{PATH}?after=0"), "");
    assert_eq!(all.kinds(3), ["created", "asked", "told"]);
    let mut rest = Stream::open(&service, PATH, &format!("last-event-id: {id}\r\n"));
    assert_eq!(rest.kinds(1), ["told"]);
    // The list returns the same events.
    let list = service.client().get(&format!("/v1/campaigns/shop/events?after={id}")).json();
    let again = Stream::open(&service, PATH, &format!("last-event-id: {id}\r\n")).next().unwrap();
    assert_eq!(list["events"][0], again.2);
}

#[test]
fn many_events_are_streamed_in_order_and_completely() {
    let service = Running::new();
    begin(&service);
    let mut stream =
        Stream::open(&service, &format!("{PATH}?after=0"), "accept-encoding: gzip\r\n");
    (0..500).for_each(|_| ask(&service));
    assert_eq!(stream.next().unwrap().1, "created");
    let rounds: Vec<Value> =
        (0..500).map(|_| stream.next().unwrap().2["rounds"][0].clone()).collect();
    assert_eq!(rounds, (1..=500).map(Value::from).collect::<Vec<_>>());
}

#[test]
fn a_stream_ends_with_its_campaign_with_the_service_and_in_time() {
    let mut service = Running::new();
    begin(&service);
    let mut stream = Stream::open(&service, PATH, "");
    let any = [("if-match", "*")];
    let gone = service.client().send("DELETE", "/v1/campaigns/shop?force=true", &any, None);
    assert_eq!(gone.status, 204);
    assert_eq!(stream.kinds(1), ["deleted"]);
    assert_eq!(stream.next(), None);
    begin(&service);
    let begun = Instant::now();
    assert_eq!(Stream::open(&service, &format!("{PATH}?max_seconds=1"), "").next(), None);
    assert!((1..4).contains(&begun.elapsed().as_secs()));
    let mut stream = Stream::open(&service, PATH, "");
    let begun = Instant::now();
    service.stop();
    assert_eq!(stream.next(), None);
    assert_eq!(service.ending(), Ending::Stopped);
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn streams_do_not_use_up_all_connections() {
    let limits = Limits { connections: 8, ..Limits::default() };
    let service = Running::with(Arc::new(MemoryStore::new()), limits);
    begin(&service);
    let streams: Vec<Stream> = (0..4).map(|_| Stream::open(&service, PATH, "")).collect();
    assert_eq!(service.client().get(PATH).code(), "busy");
    assert_eq!(service.client().get("/v1/campaigns/shop").status, 200);
    drop(streams);
    let begun = Instant::now();
    // The server notices a disconnected client when it next sends an event.
    loop {
        ask(&service);
        if service.client().get(&format!("{PATH}?max_seconds=1")).status == 200 {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn bad_positions_are_refused() {
    let service = Running::new();
    begin(&service);
    let client = service.client();
    let id = |id: &str| client.send("GET", PATH, &[("last-event-id", id)], None);
    assert_eq!((id("x").code(), id("-1").code()), ("bad-parameter".into(), "bad-parameter".into()));
    assert_eq!(client.get(&format!("{PATH}?max_seconds=0")).code(), "bad-parameter");
    assert_eq!(client.get("/v1/campaigns/nobody/events/stream").code(), "no-campaign");
}

/// Events written by another replica are streamed too.
#[test]
fn events_of_other_replicas_are_streamed() {
    let Some(database) = Database::new() else { return };
    let one = Running::with(Arc::new(database.store()), Limits::default());
    let other = Running::with(Arc::new(database.store()), Limits::default());
    begin(&one);
    let mut stream = Stream::open(&other, &format!("{PATH}?after=0"), "");
    for turn in 0..150 {
        ask(if turn % 2 == 0 { &one } else { &other });
    }
    assert_eq!(stream.next().unwrap().1, "created");
    let mut seqs: Vec<String> = (0..150).map(|_| stream.next().unwrap().0).collect();
    seqs.sort();
    seqs.dedup();
    assert_eq!(seqs.len(), 150, "each event arrives once per stream");
}
