//! Measures the service over real sockets, compared with a bare handler, and prints the results as
//! JSON for `bench/service/run`.
//!
//! ```text
//! bench_service rates FOLDER SECONDS     requests per second by connections: a bare handler, durable reports, asks
//! bench_service restart FOLDER ITEMS     time until the first answer of a store with this many outcomes
//! bench_service rounds FOLDER            time of an ask after a thousand to ten million rounds
//! bench_service client FOLDER SECONDS COUNT
//!                                        one client that asks and reports, with COUNT rounds per request
//! bench_service goodput FOLDER SECONDS   durable reports per second with 256 and 2,000 connections
//! bench_service alone WHAT CONNECTIONS FOLDER SECONDS
//!                                        one row of the rates, for a profiler; threads have names
//! crates/outlay-server/tests/with-postgres bench_service postgres SECONDS
//!                                        asks of one campaign on PostgreSQL, and a bare handler, in turn
//! ```
#![allow(clippy::print_stdout, missing_docs, reason = "its output is its purpose")]

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use outlay_server::api::{Ask, NewCampaign};
use outlay_server::clock::SystemClock;
use outlay_server::http::{Server, Settings};
use outlay_server::limits::Limits;
use outlay_server::service::CampaignService;
use outlay_server::store::{
    Command, Item, MemoryStore, Outcome, PostgresOptions, PostgresStore, SqliteOptions,
    SqliteStore, Store, Tell,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

type Failure = Box<dyn Error + Send + Sync>;

const CAMPAIGN: &str = "bench";
const CONNECTIONS: [usize; 3] = [1, 64, 256];
/// Many short turns: other load on the machine varies from second to second, and ratios are taken
/// within a turn.
const TURNS: usize = 9;
/// A turn is repeated if the host gave more than this share of the processors' time to other
/// guests.
const MOST_STOLEN: f64 = 0.03;
/// The largest number of repeated turns for each number of connections.
const MOST_AGAIN: usize = 27;
/// Rounds issued before a stretch, to be reported in it.
const MOST_COUNT: u32 = 256;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let answer = match arguments[..] {
        ["rates", folder, seconds] => rates(Path::new(folder), seconds.parse()?)?,
        ["restart", folder, items] => restart(Path::new(folder), items.parse()?)?,
        ["rounds", folder] => rounds(Path::new(folder))?,
        ["client", folder, seconds, count] => client(Path::new(folder), seconds.parse()?, count.parse()?)?,
        ["goodput", folder, seconds] => goodput(Path::new(folder), seconds.parse()?)?,
        ["postgres", seconds] => postgres(seconds.parse()?)?,
        ["alone", what, connections, folder, seconds] => alone(what, connections.parse()?, Path::new(folder), seconds.parse()?)?,
        _ => return Err("usage: bench_service rates|restart|rounds|client|goodput|alone …; the source says what follows".into()),
    };
    println!("{answer}");
    Ok(())
}

fn limits() -> Limits {
    Limits { open_rounds: 20_000_000, ..Limits::default() }
}

fn request() -> NewCampaign {
    let task = |name: &str, scale: f64| json!({ "name": name, "curve": { "family": "power", "exponent": 0.5, "scale": scale } });
    let tasks = [("search", 100.0), ("social", 150.0), ("video", 200.0), ("mail", 250.0)]
        .map(|(name, scale)| task(name, scale));
    let problem = json!({ "budget": 100.0, "task": tasks });
    NewCampaign {
        problem,
        learner: None,
        horizon: None,
        seed: None,
        guards: None,
        ignore_seen: None,
        expiry_seconds: None,
    }
}

fn runtime(name: &str) -> std::io::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(2).thread_name(name).enable_all().build()
}

fn embedded(folder: &Path) -> Result<Arc<dyn Store>, Failure> {
    Ok(Arc::new(SqliteStore::open(folder, &SqliteOptions::default())?))
}

/// A running service and its address.
struct Running {
    service: CampaignService,
    address: String,
    runtime: Runtime,
}

impl Running {
    fn start(store: Arc<dyn Store>) -> Result<Self, Failure> {
        let runtime = runtime("service")?;
        let service = CampaignService::open(store, Arc::new(SystemClock), limits())?;
        let settings = Settings::new(([127, 0, 0, 1], 0).into());
        let server = runtime.block_on(Server::bind(service.clone(), &settings))?;
        let address = server.address()?.to_string();
        runtime.block_on(service.create(CAMPAIGN, request(), ""))?;
        runtime.spawn(server.run(std::future::pending()));
        Ok(Self { service, address, runtime })
    }

    /// Issues rounds for later reports.
    fn hand_out(&self, rounds: u64) -> Result<std::ops::Range<u64>, Failure> {
        let mut first = None;
        let mut past = 0;
        for _ in 0..rounds.div_ceil(u64::from(MOST_COUNT)) {
            let ask = Ask { count: Some(MOST_COUNT), ..Ask::default() };
            let handed = self.runtime.block_on(self.service.ask(CAMPAIGN, ask, None, ""))?.rounds;
            first = first.or(handed.first().copied());
            past = handed.last().map_or(past, |last| last + 1);
        }
        Ok(first.unwrap_or(1)..past)
    }

    fn end(self) -> Result<(), Failure> {
        self.runtime.block_on(self.service.drain())?;
        self.runtime.shutdown_timeout(Duration::from_secs(1));
        Ok(())
    }
}

/// A handler that parses JSON and returns it, which measures axum itself.
fn bare() -> Result<(String, Runtime), Failure> {
    let runtime = runtime("service")?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let address = listener.local_addr()?.to_string();
    let echo =
        axum::routing::put(|axum::Json(body): axum::Json<Value>| async move { axum::Json(body) });
    let router = axum::Router::new().route("/v1/campaigns/{id}/rounds/{round}/feedback", echo);
    runtime.spawn(async move { axum::serve(listener, router).await });
    Ok((address, runtime))
}

fn results(round: u64) -> Vec<Value> {
    let result = |(place, task): (u64, &str)| {
        let completed = !(round + place).is_multiple_of(3);
        if completed {
            json!({ "task": task, "completed": true, "reward": 0.5 })
        } else {
            json!({ "task": task, "completed": false })
        }
    };
    (0..).zip(["search", "social", "video", "mail"]).map(result).collect()
}

fn sent(method: &str, path: &str, media: &str, body: &str) -> Vec<u8> {
    let head = format!(
        "{method} /v1/campaigns/{CAMPAIGN}/{path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {media}\r\n"
    );
    format!("{head}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn feedback(round: u64) -> Vec<u8> {
    sent(
        "PUT",
        &format!("rounds/{round}/feedback"),
        "application/json",
        &json!({ "results": results(round) }).to_string(),
    )
}

/// Reports of several rounds in one request.
fn bulk(rounds: &[u64]) -> Vec<u8> {
    let line =
        |round: &u64| json!({ "round": round, "results": results(*round) }).to_string() + "\n";
    sent("POST", "feedback", "application/x-ndjson", &rounds.iter().map(line).collect::<String>())
}

fn ask(count: usize) -> Vec<u8> {
    sent(
        "POST",
        "rounds",
        "application/json",
        &if count == 1 { "{}".to_owned() } else { json!({ "count": count }).to_string() },
    )
}

/// One request and its answer, on a connection that stays open. Returns the body.
async fn exchange(
    stream: &mut TcpStream,
    request: &[u8],
    answer: &mut Vec<u8>,
) -> Result<(u16, usize), Failure> {
    stream.write_all(request).await?;
    answer.clear();
    loop {
        if stream.read_buf(answer).await? == 0 {
            return Err("the connection was closed".into());
        }
        let Some(end) = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").map(|end| end + 4)
        else {
            continue;
        };
        let head = std::str::from_utf8(&answer[..end])?.to_ascii_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"))
            .and_then(|length| length.trim().parse::<usize>().ok());
        let length = length.ok_or("an answer without its length")?;
        if answer.len() >= end + length {
            let status =
                head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or("no status")?;
            return Ok((status, end));
        }
    }
}

/// Requests per second, the median and 99th percentile of their seconds, and the share of the
/// processors' time that the host gave to other guests.
struct Rate {
    per_second: f64,
    median: f64,
    slow: f64,
    stolen: f64,
}

/// Ticks of all processors so far: stolen by the host, and in total. `None` if the system does not
/// report them.
fn ticks() -> Option<(f64, f64)> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    let numbers: Vec<f64> = stat
        .lines()
        .next()?
        .split_whitespace()
        .skip(1)
        .filter_map(|number| number.parse().ok())
        .collect();
    // The later columns, guest time, are already included in earlier ones.
    Some((*numbers.get(7)?, numbers.iter().take(8).sum()))
}

/// The share that was stolen between two readings.
fn stolen(before: Option<(f64, f64)>, after: Option<(f64, f64)>) -> f64 {
    let (Some((stolen_before, before)), Some((stolen, now))) = (before, after) else { return 0.0 };
    (stolen - stolen_before) / (now - before).max(1.0)
}

/// Returns the next request of a client; `None` at the end.
type Requests = Arc<dyn Fn() -> Option<Vec<u8>> + Send + Sync>;

fn load(
    address: &str,
    connections: usize,
    seconds: f64,
    requests: &Requests,
) -> Result<Rate, Failure> {
    load_by(one_client, address, connections, seconds, requests)
}

fn load_by<F: Future<Output = Result<Vec<f64>, Failure>> + Send + 'static>(
    client: fn(String, Instant, Requests) -> F,
    address: &str,
    connections: usize,
    seconds: f64,
    requests: &Requests,
) -> Result<Rate, Failure> {
    let runtime = runtime("client")?;
    let (begin, ticks_before) = (Instant::now(), ticks());
    let until = begin + Duration::from_secs_f64(seconds);
    let mut times = runtime.block_on(async {
        let clients: Vec<_> = (0..connections)
            .map(|_| tokio::spawn(client(address.to_owned(), until, Arc::clone(requests))))
            .collect();
        let mut times = Vec::new();
        for client in clients {
            times.extend(client.await??);
        }
        Ok::<_, Failure>(times)
    })?;
    let per_second = times.len() as f64 / begin.elapsed().as_secs_f64();
    let stolen = stolen(ticks_before, ticks());
    times.sort_unstable_by(f64::total_cmp);
    let at =
        |share: f64| times.get((times.len() as f64 * share) as usize).copied().unwrap_or(f64::NAN);
    Ok(Rate { per_second, median: at(0.5), slow: at(0.99), stolen })
}

/// Sends one request after the other; returns the time of each.
async fn one_client(
    address: String,
    until: Instant,
    requests: Requests,
) -> Result<Vec<f64>, Failure> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (mut answer, mut times) = (Vec::with_capacity(4096), Vec::new());
    while Instant::now() < until
        && let Some(request) = requests()
    {
        let sent = Instant::now();
        let (status, _) = exchange(&mut stream, &request, &mut answer).await?;
        if status >= 300 {
            return Err(format!("{status}: {}", String::from_utf8_lossy(&answer)).into());
        }
        times.push(sent.elapsed().as_secs_f64());
    }
    Ok(times)
}

/// The same for a client that is refused or disconnected now and then: it waits and sends the
/// request again. Only answers that it wants are counted.
async fn patient_client(
    address: String,
    until: Instant,
    requests: Requests,
) -> Result<Vec<f64>, Failure> {
    /// Waits as long as `Retry-After` says.
    const PAUSE: Duration = Duration::from_secs(1);
    let (mut answer, mut times) = (Vec::with_capacity(4096), Vec::new());
    let (mut open, mut waiting) = (None, None);
    while Instant::now() < until
        && let Some(request) = waiting.take().or_else(|| requests())
    {
        let sent = Instant::now();
        let status = match &mut open {
            Some(stream) => exchange(stream, &request, &mut answer).await.map(|(status, _)| status),
            None => Ok(0),
        };
        match status {
            Ok(200..300) => times.push(sent.elapsed().as_secs_f64()),
            Ok(0) => {
                open = TcpStream::connect(&address).await.ok();
                waiting = Some(request);
            }
            _ => {
                (open, waiting) = (None, Some(request));
                tokio::time::sleep_until((Instant::now() + PAUSE).min(until).into()).await;
            }
        }
    }
    Ok(times)
}

/// Durable reports a second with 256 connections and with 2,000, in alternating turns. Each connection has an open file at both ends: `ulimit -n 8192`.
fn goodput(folder: &Path, seconds: f64) -> Result<Value, Failure> {
    let mut rows = Vec::new();
    for turn in 0..TURNS {
        for connections in [256, 2000] {
            let place = folder.join(format!("{connections}-{turn}"));
            let running = Running::start(embedded(&place)?)?;
            let requests = reports(&running, seconds)?;
            let rate = load_by(patient_client, &running.address, connections, seconds, &requests)?;
            running.end()?;
            std::fs::remove_dir_all(place)?;
            rows.push(row("goodput", connections, turn, &rate));
        }
    }
    Ok(json!({ "rates": rows }))
}

/// A measured kind of request.
#[derive(Clone, Copy)]
enum What {
    Bare,
    DurableTell,
    DurableAsk,
    AskFromMemory,
    AskOnPostgres,
}

const ALL: [(What, &str); 4] = [
    (What::Bare, "bare"),
    (What::DurableTell, "durable-tell"),
    (What::DurableAsk, "durable-ask"),
    (What::AskFromMemory, "ask-from-memory"),
];

/// More durable reports per second than two cores can write; this many rounds are issued
/// beforehand.
const MOST_PER_SECOND: f64 = 60_000.0;

impl What {
    fn measure(self, connections: usize, folder: &Path, seconds: f64) -> Result<Rate, Failure> {
        let asks: Requests = Arc::new(|| Some(ask(1)));
        match self {
            Self::Bare => {
                let (address, runtime) = bare()?;
                let rate = load(
                    &address,
                    connections,
                    seconds,
                    &(Arc::new(|| Some(feedback(1))) as Requests),
                );
                runtime.shutdown_background();
                rate
            }
            Self::AskFromMemory => {
                let running = Running::start(Arc::new(MemoryStore::new()))?;
                let rate = load(&running.address, connections, seconds, &asks)?;
                running.end().map(|()| rate)
            }
            Self::AskOnPostgres => {
                let running = Running::start(Arc::new(PostgresStore::open(database()?)?))?;
                let rate = load(&running.address, connections, seconds, &asks)?;
                running.end().map(|()| rate)
            }
            Self::DurableTell | Self::DurableAsk => {
                let running = Running::start(embedded(folder)?)?;
                let requests = if matches!(self, Self::DurableTell) {
                    reports(&running, seconds)?
                } else {
                    asks
                };
                let rate = load(&running.address, connections, seconds, &requests)?;
                running.end()?;
                std::fs::remove_dir_all(folder)?;
                Ok(rate)
            }
        }
    }
}

/// Reports of issued rounds, each once.
fn reports(running: &Running, seconds: f64) -> Result<Requests, Failure> {
    let rounds = running.hand_out((MOST_PER_SECOND * seconds) as u64)?;
    let (round, past) = (AtomicU64::new(rounds.start), rounds.end);
    Ok(Arc::new(move || {
        Some(round.fetch_add(1, Ordering::Relaxed)).filter(|round| *round < past).map(feedback)
    }))
}

fn rates(folder: &Path, seconds: f64) -> Result<Value, Failure> {
    let (mut rows, mut again) = (Vec::new(), 0);
    for connections in CONNECTIONS {
        let (mut turn, mut left) = (0, MOST_AGAIN);
        while turn < TURNS {
            let measure = |(what, name): (What, &'static str)| {
                Ok::<_, Failure>((
                    name,
                    what.measure(
                        connections,
                        &folder.join(format!("{name}-{connections}-{turn}-{left}")),
                        seconds,
                    )?,
                ))
            };
            let played = ALL.into_iter().map(measure).collect::<Result<Vec<_>, _>>()?;
            if left > 0 && played.iter().any(|(_, rate)| rate.stolen > MOST_STOLEN) {
                (left, again) = (left - 1, again + 1);
                continue;
            }
            rows.extend(played.iter().map(|(name, rate)| row(name, connections, turn, rate)));
            turn += 1;
        }
    }
    Ok(json!({ "rates": rows, "turns": TURNS, "turns_again": again, "most_stolen": MOST_STOLEN }))
}

/// The database that `with-postgres` has started, with a schema that is not used yet.
fn database() -> Result<PostgresOptions, Failure> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let url = std::env::var("OUTLAY_TEST_POSTGRES")?;
    let schema = format!("bench_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    Ok(PostgresOptions { schema, ..PostgresOptions::new(url) })
}

fn postgres(seconds: f64) -> Result<Value, Failure> {
    let mut rows = Vec::new();
    for connections in CONNECTIONS {
        for turn in 0..TURNS / 3 {
            for (what, name) in [(What::Bare, "bare"), (What::AskOnPostgres, "ask-on-postgres")] {
                let rate = what.measure(connections, Path::new(""), seconds)?;
                rows.push(row(name, connections, turn, &rate));
            }
        }
    }
    Ok(json!({ "rates": rows }))
}

fn alone(what: &str, connections: usize, folder: &Path, seconds: f64) -> Result<Value, Failure> {
    let (what, name) = ALL
        .into_iter()
        .find(|(_, name)| *name == what)
        .ok_or("bare, durable-tell, durable-ask or ask-from-memory")?;
    Ok(row(name, connections, 0, &what.measure(connections, folder, seconds)?))
}

fn row(what: &str, connections: usize, turn: usize, rate: &Rate) -> Value {
    let Rate { per_second, median, slow, stolen } = rate;
    json!({
        "what": what, "connections": connections, "turn": turn,
        "per_second": per_second, "median_seconds": median, "p99_seconds": slow, "stolen": stolen,
    })
}

/// Fills a store with rounds of four outcomes each.
fn fill(store: &dyn Store, rounds: std::ops::Range<u64>) -> Result<(), Failure> {
    let outcome = |round: u64, task: u32| Outcome {
        completions: u64::from(!(round + u64::from(task)).is_multiple_of(3)),
        delivery: None,
        reward: 0,
    };
    let tell = |round: u64| {
        let items = (0..4)
            .map(|task| Item { task, outcome: outcome(round, task), expected: 500_000_000 })
            .collect();
        Command::Tell(Tell {
            campaign: CAMPAIGN.to_owned(),
            round,
            items,
            is_late: false,
            at: 0,
            token: String::new(),
        })
    };
    let numbers: Vec<u64> = rounds.collect();
    for part in numbers.chunks(1000) {
        let batch: Vec<Command> = part.iter().map(|&round| tell(round)).collect();
        for answer in store.apply(&batch)? {
            answer.map_err(|refusal| format!("{refusal:?}"))?;
        }
    }
    Ok(())
}

fn restart(folder: &Path, items: u64) -> Result<Value, Failure> {
    let running = Running::start(embedded(folder)?)?;
    let rounds = running.hand_out(items / 4)?;
    fill(running.service.store().as_ref(), rounds.start..rounds.start + items / 4)?;
    running.end()?;
    let begin = Instant::now();
    let store = embedded(folder)?;
    let opened = begin.elapsed().as_secs_f64();
    let service = CampaignService::open(store, Arc::new(SystemClock), limits())?;
    runtime("service")?.block_on(service.ask(CAMPAIGN, Ask::default(), None, ""))?;
    let answered = begin.elapsed().as_secs_f64();
    let bytes = std::fs::metadata(folder.join("outlay.db"))?.len();
    Ok(
        json!({ "items": items, "opened_seconds": opened, "first_answer_seconds": answered, "file_bytes": bytes }),
    )
}

fn rounds(folder: &Path) -> Result<Value, Failure> {
    let running = Running::start(embedded(folder)?)?;
    let mut rows = Vec::new();
    let mut handed = 0;
    for rounds in [1_000_u64, 10_000, 100_000, 1_000_000, 10_000_000] {
        handed += running.hand_out(rounds - handed)?.count() as u64;
        const ASKS: usize = 501;
        let mut times = Vec::with_capacity(ASKS);
        for _ in 0..ASKS {
            let begin = Instant::now();
            running.runtime.block_on(running.service.ask(CAMPAIGN, Ask::default(), None, ""))?;
            times.push(begin.elapsed().as_secs_f64());
            handed += 1;
        }
        times.sort_unstable_by(f64::total_cmp);
        rows.push(json!({ "rounds": rounds, "ask_seconds": times[ASKS / 2] }));
    }
    running.end()?;
    Ok(json!({ "asks": rows }))
}

/// One client that asks and reports over one connection, like a single scheduler. With several
/// rounds per request it also reports them in one request.
fn client(folder: &Path, seconds: f64, count: usize) -> Result<Value, Failure> {
    let running = Running::start(embedded(folder)?)?;
    let pairs = runtime("client")?.block_on(async {
        let mut stream = TcpStream::connect(&running.address).await?;
        stream.set_nodelay(true)?;
        let mut answer = Vec::new();
        let (begin, mut pairs) = (Instant::now(), 0);
        while begin.elapsed().as_secs_f64() < seconds {
            let (_, body) = exchange(&mut stream, &ask(count), &mut answer).await?;
            let handed: Value = serde_json::from_slice(&answer[body..])?;
            let rounds: Vec<u64> = handed["rounds"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_u64)
                .collect();
            let report = match rounds[..] {
                [round] => feedback(round),
                _ => bulk(&rounds),
            };
            let (status, body) = exchange(&mut stream, &report, &mut answer).await?;
            if status != 200 || rounds.len() != count {
                return Err(
                    format!("{status}: {}", String::from_utf8_lossy(&answer[body..])).into()
                );
            }
            pairs += count;
        }
        Ok::<_, Failure>(pairs as f64 / begin.elapsed().as_secs_f64())
    })?;
    running.end()?;
    Ok(json!({ "rounds_a_request": count, "ask_and_tell_per_second": pairs }))
}
