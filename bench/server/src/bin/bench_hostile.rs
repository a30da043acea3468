//! The effect of hostile clients on healthy ones: the p99 latency of healthy clients with and without
//! them, in alternating turns of one run.
//!
//!     cargo run --release -p outlay-bench-server --bin bench_hostile [SOCKETS [SECONDS [TURNS]]]
//!
//! The hostile clients are slow sockets that send one byte of a header or body at a time and reconnect
//! when they are disconnected, and four clients that continuously send bodies one byte too long,
//! deeply nested JSON and NaN. The healthy clients ask for rounds and report them, half of them
//! over a new connection each time. Exit code 1 if their p99 more than doubles, or if a healthy
//! client was not served.
#![allow(clippy::print_stdout, missing_docs, reason = "its output is its purpose")]

use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use outlay_server::clock::SystemClock;
use outlay_server::http::{Server, Settings};
use outlay_server::limits::Limits;
use outlay_server::service::CampaignService;
use outlay_server::store::{SqliteOptions, SqliteStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::{Builder, Runtime};

type Failure = Box<dyn Error + Send + Sync>;

const CLIENTS: usize = 8;
/// Pause between the requests of a client.
const PAUSE: Duration = Duration::from_millis(5);
/// Pause between the bytes of a slow socket.
const DRIP: Duration = Duration::from_secs(1);
/// Time for the hostile sockets to connect.
const GATHER: Duration = Duration::from_secs(3);
/// Open files other than the sockets of the attack.
const OTHER_FILES: u64 = 2048;
const CAMPAIGN: &str = r#"{"problem": {"budget": 10, "task": [
    {"name": "a", "curve": {"family": "exponential", "scale": 2}},
    {"name": "b", "curve": {"family": "exponential", "scale": 4}}]}}"#;

fn main() -> Result<(), Failure> {
    let mut words = std::env::args().skip(1).map(|word| word.parse::<u64>());
    let mut next = |usual: u64| words.next().unwrap_or(Ok(usual));
    let (sockets, seconds, turns) = (next(2000)?, next(10)?, next(3)?);
    check_files(sockets)?;
    let folder = tempfile::tempdir_in(".")?;
    let (service, address) = serve(folder.path())?;
    Client::new(address, true).expect("PUT", "/v1/campaigns/bench", CAMPAIGN)?;
    let (mut calm, mut stormy) = (Vec::new(), Vec::new());
    let storm = Arc::new(Storm::default());
    for _ in 0..turns {
        calm.extend(measure(address, Duration::from_secs(seconds))?);
        let attackers = attack(address, sockets, &storm)?;
        std::thread::sleep(GATHER);
        stormy.extend(measure(address, Duration::from_secs(seconds))?);
        attackers.shutdown_background();
        // Wait until the attackers' connections have closed.
        std::thread::sleep(Duration::from_secs(1));
    }
    service.shutdown_background();
    report(sockets, &mut calm, &mut stormy, &storm)
}

/// Checks the limit on open files: both ends of every socket are in this process.
fn check_files(sockets: u64) -> Result<(), Failure> {
    let limits = std::fs::read_to_string("/proc/self/limits")?;
    let most = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))
        .and_then(|rest| rest.split_whitespace().next());
    let most = most.and_then(|most| most.parse().ok()).unwrap_or(u64::MAX);
    let needed = 2 * sockets + OTHER_FILES;
    if most < needed {
        return Err(format!("{sockets} sockets need {needed} open files and {most} are allowed; raise it with: ulimit -n {needed}").into());
    }
    Ok(())
}

fn serve(folder: &std::path::Path) -> Result<(Runtime, SocketAddr), Failure> {
    let store = SqliteStore::open(folder, &SqliteOptions::default())?;
    let service = CampaignService::open(
        Arc::new(store),
        Arc::new(SystemClock),
        Limits { open_rounds: 20_000_000, ..Limits::default() },
    )?;
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let settings = Settings::new(([127, 0, 0, 1], 0).into());
    let server = runtime.block_on(Server::bind(service, &settings))?;
    let address = server.address()?;
    runtime.spawn(server.run(std::future::pending()));
    Ok((runtime, address))
}

/// Asks and reports for a while; returns the time of each request, including the connection.
fn measure(address: SocketAddr, long: Duration) -> Result<Vec<Duration>, Failure> {
    let end = Instant::now() + long;
    let client = |keeps: bool| -> Result<Vec<Duration>, Failure> {
        let mut client = Client::new(address, keeps);
        let mut taken = Vec::new();
        while Instant::now() < end {
            let begun = Instant::now();
            let asked = client.expect("POST", "/v1/campaigns/bench/rounds", "{}")?;
            taken.push(begun.elapsed());
            let round = asked.split(&['[', ']'][..]).nth(1).ok_or("no round")?.to_owned();
            let report = r#"{"results": [{"task": "a", "completed": true, "reward": 0.5}, {"task": "b", "completed": false}]}"#;
            let begun = Instant::now();
            client.expect(
                "PUT",
                &format!("/v1/campaigns/bench/rounds/{round}/feedback"),
                report,
            )?;
            taken.push(begun.elapsed());
            std::thread::sleep(PAUSE);
        }
        Ok(taken)
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> =
            (0..CLIENTS).map(|number| scope.spawn(move || client(number % 2 == 0))).collect();
        let mut all = Vec::new();
        for client in clients {
            all.extend(client.join().map_err(|_| "a client broke")??);
        }
        Ok(all)
    })
}

/// A healthy client, for which any error is a failure of the service.
struct Client {
    address: SocketAddr,
    keeps: bool,
    stream: Option<TcpStream>,
}

impl Client {
    fn new(address: SocketAddr, keeps: bool) -> Self {
        Self { address, keeps, stream: None }
    }

    fn expect(&mut self, method: &str, path: &str, body: &str) -> Result<String, Failure> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect(self.address)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(Duration::from_secs(20)))?;
                stream
            }
        };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        );
        stream
            .write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes())?;
        let (status, body) = answer(&mut stream)?;
        if self.keeps {
            self.stream = Some(stream);
        }
        if (200..300).contains(&status) {
            Ok(body)
        } else {
            Err(format!("{method} {path}: {status} {body}").into())
        }
    }
}

fn answer(stream: &mut TcpStream) -> Result<(u16, String), Failure> {
    let (mut bytes, mut part) = (Vec::new(), [0; 16_384]);
    loop {
        if let Some(answer) = whole(&bytes)? {
            return Ok(answer);
        }
        match stream.read(&mut part)? {
            0 => return Err("a healthy client was cut off".into()),
            count => bytes.extend_from_slice(&part[..count]),
        }
    }
}

fn whole(bytes: &[u8]) -> Result<Option<(u16, String)>, Failure> {
    let text = String::from_utf8_lossy(bytes);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return Ok(None) };
    let length: usize = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(Ok(0), str::parse)?;
    let status = head.split(' ').nth(1).ok_or("no status")?.parse()?;
    Ok(body.get(..length).map(|body| (status, body.to_owned())))
}

/// Counters of the attack.
#[derive(Debug, Default)]
struct Storm {
    connected: AtomicU64,
    cut: AtomicU64,
    refused: AtomicU64,
    is_wrong: AtomicBool,
}

fn attack(address: SocketAddr, sockets: u64, storm: &Arc<Storm>) -> Result<Runtime, Failure> {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    for number in 0..sockets {
        runtime.spawn(hold(address, number, Arc::clone(storm)));
    }
    let json = |body: &str| {
        format!("content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    };
    let most = Limits::default().body_bytes;
    let blank = " ".repeat(most + 1);
    let chunked = format!(
        "content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{blank}\r\n0\r\n\r\n",
        most + 1
    );
    let mix = [
        (json(&blank), 413),
        (chunked, 413),
        (json(&"{\"a\":".repeat(100_000)), 413),
        (json("{\"budget\": NaN}"), 400),
    ];
    for (rest, status) in mix {
        runtime.spawn(insist(
            address,
            format!("POST /v1/campaigns/bench/rounds HTTP/1.1\r\nhost: localhost\r\n{rest}"),
            status,
            Arc::clone(storm),
        ));
    }
    Ok(runtime)
}

/// Holds a socket open by sending a byte now and then, and reconnects when it is closed.
async fn hold(address: SocketAddr, number: u64, storm: Arc<Storm>) {
    let begin: &[u8] = match number % 3 {
        0 => b"GET /livez HTTP/1.1\r\nhost: localhost\r\nx-slow: ",
        1 => {
            b"POST /v1/campaigns/bench/rounds HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n"
        }
        _ => b"GET /livez",
    };
    // Not all in the same millisecond.
    tokio::time::sleep(DRIP * (number % 1000) as u32 / 1000).await;
    loop {
        let Ok(mut stream) = tokio::net::TcpStream::connect(address).await else {
            tokio::time::sleep(DRIP).await;
            continue;
        };
        storm.connected.fetch_add(1, Ordering::Relaxed);
        let _ = stream.write_all(begin).await;
        let mut byte = [0];
        loop {
            // An end of file, an answer or an error ends this connection; on a timeout, send
            // another byte.
            match tokio::time::timeout(DRIP, stream.read(&mut byte)).await {
                Err(_) if stream.write_all(b" ").await.is_ok() => {}
                _ => break,
            }
        }
        storm.cut.fetch_add(1, Ordering::Relaxed);
        drop(stream);
        tokio::time::sleep(DRIP).await;
    }
}

/// Sends the same invalid request repeatedly and checks the status of the answer.
async fn insist(address: SocketAddr, request: String, status: u16, storm: Arc<Storm>) {
    loop {
        if let Ok(mut stream) = tokio::net::TcpStream::connect(address).await {
            // The service may answer before the whole request has been sent.
            let (mut reader, mut writer) = stream.split();
            let mut start = [0; 12];
            let (_, read) =
                tokio::join!(writer.write_all(request.as_bytes()), reader.read_exact(&mut start));
            if read.is_ok() {
                storm.refused.fetch_add(1, Ordering::Relaxed);
                if start != *format!("HTTP/1.1 {status}").as_bytes() {
                    storm.is_wrong.store(true, Ordering::Relaxed);
                }
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn report(
    sockets: u64,
    calm: &mut [Duration],
    stormy: &mut [Duration],
    storm: &Storm,
) -> Result<(), Failure> {
    let at = |taken: &mut [Duration], share: f64| {
        taken.sort_unstable();
        taken[((taken.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3
    };
    let [calm_half, calm_most] = [0.5, 0.99].map(|share| at(calm, share));
    let [stormy_half, stormy_most] = [0.5, 0.99].map(|share| at(stormy, share));
    let ratio = stormy_most / calm_most;
    let [connected, cut, refused] =
        [&storm.connected, &storm.cut, &storm.refused].map(|count| count.load(Ordering::Relaxed));
    println!(
        "| sockets | requests calm / attacked | p50 ms | p99 ms | p99 ratio | slow connections made / cut | bodies refused | memory MB |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    println!(
        "| {sockets} | {} / {} | {calm_half:.2} / {stormy_half:.2} | {calm_most:.2} / {stormy_most:.2} | {ratio:.2} | {connected} / {cut} | {refused} | {} |",
        calm.len(),
        stormy.len(),
        memory()
    );
    if storm.is_wrong.load(Ordering::Relaxed) {
        return Err("a hostile body was answered with another status than it should".into());
    }
    if ratio > 2.0 {
        return Err(format!("healthy clients' p99 is {ratio:.2} times what it is without the attack: more than twice").into());
    }
    println!("healthy clients: all served, p99 within twice");
    Ok(())
}

/// Resident megabytes of service, attackers and clients together.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let most = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.split_whitespace().next());
    most.and_then(|most| most.parse::<u64>().ok()).unwrap_or(0) / 1024
}
