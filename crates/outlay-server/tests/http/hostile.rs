//! Malicious or broken clients. Other clients must still be served.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use outlay_server::limits::Limits;
use outlay_server::store::{Command, MemoryStore, Store as _};

use super::client::{connect, read};
use super::{CAMPAIGN, Running};
use crate::support::wrapped::Wrapped;

const SHOP: &str = "/v1/campaigns/shop";

fn impatient() -> Limits {
    let short = Duration::from_millis(400);
    Limits { header_timeout: short, body_timeout: short, ..Limits::default() }
}

fn running(limits: Limits) -> Running {
    Running::with(Arc::new(MemoryStore::new()), limits)
}

#[test]
fn one_byte_too_many() {
    let service = Running::new();
    let most = Limits::default().body_bytes;
    let just = format!("{{\"problem\": {{}}, \"learner\": \"{}\"}}", " ".repeat(most - 30));
    assert_eq!(just.len(), most);
    assert_ne!(service.client().json("PUT", SHOP, &just).status, 413);
    let more = service.client().json("PUT", SHOP, &just.replace(" \"}", "  \"}"));
    assert_eq!((more.status, more.code().as_str()), (413, "too-large"));
    // In chunks, without a content length.
    let mut chunked =
        format!("PUT {SHOP} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
            .into_bytes();
    for _ in 0..=(most / 65_536 + 1) {
        chunked.extend_from_slice(b"10000\r\n");
        chunked.extend(std::iter::repeat_n(b' ', 65_536));
        chunked.extend_from_slice(b"\r\n");
    }
    assert_eq!(service.client().raw(&chunked).code(), "too-large");
}

#[test]
fn invalid_json_is_refused() {
    let service = Running::new();
    let client = service.client();
    client.json("PUT", SHOP, CAMPAIGN);
    let rounds = format!("{SHOP}/rounds");
    let cases: [(&[u8], u16); 9] = [
        (b"{\"budget\": NaN}", 400),
        (b"{\"budget\": 1e400}", 400),
        (b"{\"budget\": -Infinity}", 400),
        (b"{\"count\": 1, \"count\": 1}", 400),
        (b"{\"without\": [\"\xff\xfe\"]}", 400),
        (b"{} {}", 400),
        (b"[]", 400),
        (b"\x00", 400),
        (&b"{\"a\":".repeat(100_000), 413),
    ];
    for (body, status) in cases {
        let answer =
            client.send("POST", &rounds, &[("content-type", "application/json")], Some(body));
        answer.code();
        assert_eq!(
            answer.status,
            status,
            "{:?}",
            String::from_utf8_lossy(&body[..body.len().min(60)])
        );
    }
    assert_eq!(client.get(SHOP).json()["rounds"], 0, "a round was issued all the same");
}

#[test]
fn endless_headers_are_cut_off() {
    let service = running(impatient());
    let begun = Instant::now();
    let mut sockets: Vec<_> = (0..50).map(|_| connect(service.address())).collect();
    for socket in &mut sockets {
        socket.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\nx-slow: ").unwrap();
    }
    assert_eq!(service.client().get("/livez").status, 200);
    for socket in &mut sockets {
        let mut rest = Vec::new();
        // Closed normally or by a reset.
        let _ = socket.read_to_end(&mut rest);
        let taken = begun.elapsed();
        assert!(taken < Duration::from_secs(10), "{taken:?}");
    }
}

/// The client gets 503 because the outcome is unknown; the write still takes effect.
#[test]
fn a_slow_answer_times_out_but_takes_effect() {
    let store = Wrapped::new(false, |store, batch| {
        if batch.iter().any(|command| matches!(command, Command::Ask(_))) {
            std::thread::sleep(Duration::from_secs(3));
        }
        store.apply(batch)
    });
    let limits = Limits { request_timeout: Duration::from_millis(500), ..Limits::default() };
    let service = Running::with(Arc::new(store), limits);
    let client = service.client();
    assert_eq!(client.json("PUT", "/v1/campaigns/shop", CAMPAIGN).status, 201);
    let begun = Instant::now();
    let answer = client.json("POST", "/v1/campaigns/shop/rounds", "{}");
    assert_eq!((answer.status, answer.code().as_str()), (503, "busy"), "{answer:?}");
    let taken = begun.elapsed();
    assert!(taken >= Duration::from_millis(500) && taken < Duration::from_secs(2), "{taken:?}");
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(client.get("/v1/campaigns/shop").json()["rounds"], 1);
}

#[test]
fn a_missing_body_times_out() {
    let service = running(impatient());
    let head = format!(
        "PUT {SHOP} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{{"
    );
    let answer = service.client().raw(head.as_bytes());
    assert_eq!((answer.status, answer.code().as_str()), (408, "timeout"));
}

/// Requests over thirty megabytes at once, more than the socket buffers of a client that does not
/// read can hold.
#[test]
fn a_client_that_does_not_read_is_disconnected() {
    const TIMES: usize = 400;
    let service = running(Limits { unread_timeout: Duration::from_secs(1), ..Limits::default() });
    let size = service.client().get("/openapi.json").body.len();
    let request = "GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let last = "GET /openapi.json HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let got_after = |pause: Duration| {
        let mut socket = connect(service.address());
        socket.write_all(format!("{}{last}", request.repeat(TIMES - 1)).as_bytes()).unwrap();
        std::thread::sleep(pause);
        let mut got = Vec::new();
        let _ = socket.read_to_end(&mut got);
        got.len()
    };
    assert!(
        got_after(Duration::from_millis(100)) > TIMES * size,
        "a client that reads gets everything"
    );
    let got = got_after(Duration::from_secs(5));
    assert!(
        got > 0 && got < TIMES * size,
        "{got} of {} bytes were received after five seconds",
        TIMES * size
    );
    assert_eq!(service.client().get("/livez").status, 200);
}

#[test]
fn held_sockets_do_not_block_other_clients() {
    let service = running(Limits { connections: 20, ..Limits::default() });
    let mut held: Vec<_> = (0..60).map(|_| connect(service.address())).collect();
    for socket in &mut held {
        let _ = socket.write_all(b"GET /livez HTTP/1.1\r\n");
    }
    for _ in 0..10 {
        let begun = Instant::now();
        assert_eq!(service.client().get("/livez").status, 200);
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
}

/// Half of them send part of a body, which is not a complete request either.
#[test]
fn slow_sockets_are_cut_and_healthy_clients_are_all_served() {
    const CONNECTIONS: usize = 60;
    const SLOW: usize = 200;
    let service = running(Limits { connections: CONNECTIONS, ..Limits::default() });
    assert_eq!(service.client().json("PUT", SHOP, CAMPAIGN).status, 201);
    let begin = |number: usize| match number % 2 {
        0 => "GET /livez HTTP/1.1\r\nhost: localhost\r\nx-slow: ".to_owned(),
        _ => format!(
            "POST {SHOP}/rounds HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{{"
        ),
    };
    let mut slow: Vec<_> = (0..SLOW).map(|_| connect(service.address())).collect();
    for (number, socket) in slow.iter_mut().enumerate() {
        let _ = socket.write_all(begin(number).as_bytes());
    }
    for turn in 0..50 {
        for socket in &mut slow {
            let _ = socket.write_all(b" ");
        }
        let asked = service.client().json("POST", &format!("{SHOP}/rounds"), "{}");
        assert_eq!(
            (asked.status, &asked.json()["rounds"][0]),
            (201, &serde_json::json!(turn + 1)),
            "{asked:?}"
        );
        let report = r#"{"results": [{"task": "a", "completed": false}]}"#;
        assert_eq!(
            service
                .client()
                .json("PUT", &format!("{SHOP}/rounds/{}/feedback", turn + 1), report)
                .status,
            200
        );
    }
    let is_cut = |socket: &mut std::net::TcpStream| {
        socket.set_nonblocking(true).unwrap();
        !matches!(socket.read(&mut [0; 4096]), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
    };
    let cut = slow.iter_mut().filter_map(|socket| is_cut(socket).then_some(())).count();
    assert!(cut >= SLOW - CONNECTIONS, "{cut} of {SLOW} were cut for {CONNECTIONS} connections");
}

/// Health checks do not count against the limit of connections.
#[test]
fn with_all_connections_busy_new_clients_get_503_and_health_is_served() {
    let service = running(Limits { connections: 0, ..Limits::default() });
    let answer = service.client().get("/v1/campaigns");
    assert_eq!((answer.status, answer.header("retry-after")), (503, Some("1")));
    assert_eq!((answer.code().as_str(), answer.header("connection")), ("busy", Some("close")));
    assert_eq!(service.client().get("/livez").status, 200);
    assert_eq!(service.client().get("/readyz").status, 200);
}

/// A client that sends its body after its headers, as many do, and uses the connection again. The
/// body of a refused request is read, or the answer says that the connection is closed.
#[test]
fn a_rejected_request_keeps_the_connection_usable_or_announces_its_close() {
    let service = Running::new();
    let body = " ".repeat(100_000);
    let cases = [
        ("PUT", "/nowhere", "application/json", body.len(), 404),
        ("PUT", "/v1/campaigns", "application/json", body.len(), 405),
        ("PUT", SHOP, "text/plain", body.len(), 415),
        ("PUT", SHOP, "application/json", 2_000_000, 413),
        ("GET", "/livez", "application/json", body.len(), 200),
    ];
    for (method, path, media, length, status) in cases {
        let mut socket = connect(service.address());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {media}\r\ncontent-length: {length}\r\n\r\n"
        );
        socket.write_all(head.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        let _ = socket.write_all(body.as_bytes());
        let answer = read(&mut socket);
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
        if answer.header("connection") == Some("close") {
            continue;
        }
        socket.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
        assert_eq!(read(&mut socket).status, 200, "after {method} {path}");
    }
}

#[test]
fn long_headers_are_refused_in_words() {
    let service = Running::new();
    let most = Limits::default().header_bytes;
    let with = |length: usize| {
        service.client().send("GET", "/livez", &[("x-long", &"y".repeat(length))], None)
    };
    assert_eq!(with(most / 2).status, 200);
    let long = with(most);
    assert_eq!((long.status, long.code().as_str()), (431, "headers-too-large"));
    // Far above the limit the server does not read to the end and sends a bare status.
    let endless = with(most * 5);
    assert_eq!((endless.status, endless.body.as_str()), (431, ""));
}

#[test]
fn several_requests_at_once_are_answered_in_order() {
    let service = Running::new();
    let mut socket = connect(service.address());
    let ids = ["one", "two", "three"];
    let requests: String = ids
        .iter()
        .map(|id| format!("GET /livez HTTP/1.1\r\nhost: localhost\r\nx-request-id: {id}\r\n\r\n"))
        .collect();
    socket.write_all(requests.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    while bytes.windows(6).filter(|six| six == b"alive\n").count() < ids.len() {
        let count = socket.read(&mut part).unwrap();
        assert!(count > 0, "the connection ended");
        bytes.extend_from_slice(&part[..count]);
    }
    let text = String::from_utf8(bytes).unwrap();
    let places: Vec<usize> =
        ids.iter().map(|id| text.find(&format!("x-request-id: {id}")).unwrap()).collect();
    assert!(places.is_sorted());
}

#[test]
fn invalid_http_causes_no_panic() {
    let service = Running::new();
    let cases: [&[u8]; 5] = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n",
        b"POST /v1/allocate HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
        b"\r\n\r\n\r\n\0\0\0",
    ];
    for bytes in cases {
        let mut socket = connect(service.address());
        let _ = socket.write_all(bytes);
        let _ = socket.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = socket.read_to_end(&mut answer);
        assert!(
            answer.is_empty() || answer.starts_with(b"HTTP/1.1 "),
            "{}",
            String::from_utf8_lossy(&answer)
        );
        assert!(!answer.starts_with(b"HTTP/1.1 5"), "{}", String::from_utf8_lossy(&answer));
    }
    let endless =
        format!("GET /livez HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n", "y".repeat(100_000));
    let mut socket = connect(service.address());
    let _ = socket.write_all(endless.as_bytes());
    assert_eq!(read(&mut socket).status, 431);
    assert_eq!(service.client().get("/livez").status, 200);
}
