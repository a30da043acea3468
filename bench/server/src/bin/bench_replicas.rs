//! Two replicas on PostgreSQL write reports of one busy campaign, compared with a design that locks
//! the campaign's row first, in the same run. Prints reports per second as JSON for
//! `bench/service/run`.
//!
//!     crates/outlay-server/tests/with-postgres cargo run --release -p outlay-bench-server --bin bench_replicas [SECONDS [REPEATS [CLIENTS]]]
//!
//! Every client waits for the answer before it sends the next report (of four tasks). With group
//! commit the clients of a replica send reports to writer threads, each of which writes all waiting
//! reports together, as the service does while fewer than 64 wait.

use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use outlay_server::store::{
    Ask, Command, Done, Item, NewCampaign, Outcome, PostgresOptions, PostgresStore, Refusal, Split,
    Store, StoreError, Tell,
};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Client, NoTls, Statement};

const REPLICAS: usize = 2;
const WRITERS: usize = 1;
const TASKS: u32 = 4;
const ROUNDS: u64 = 1 << 40;

fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::var("OUTLAY_TEST_POSTGRES")
        .map_err(|_| "run this program with crates/outlay-server/tests/with-postgres")?;
    let mut words = std::env::args().skip(1).map(|word| word.parse::<u64>());
    let mut next = |usual: u64| words.next().unwrap_or(Ok(usual));
    let (seconds, repeats, clients) = (next(3)?, next(3)?, next(16)?);
    make_row_lock_tables(&url)?;
    let options =
        PostgresOptions { connections: 2 * (clients as usize + 1), ..PostgresOptions::new(&url) };
    let stores = (0..REPLICAS)
        .map(|_| PostgresStore::open(options.clone()))
        .collect::<Result<Vec<_>, _>>()?;
    begin_campaign(&stores[0])?;
    let (mut locked, mut outlay) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for _ in 0..repeats {
        for (grouped, (locked, outlay)) in
            [false, true].into_iter().zip(locked.iter_mut().zip(&mut outlay))
        {
            locked.push(measure(seconds, clients, grouped, |_| RowLock::open(&url))?);
            outlay.push(measure(seconds, clients, grouped, |replica| Ok(Slots(&stores[replica])))?);
        }
    }
    let cells = |[alone, grouped]: &[Vec<f64>; 2]| json!({ "alone": median(alone), "group_commit": median(grouped) });
    let answer = json!({
        "replicas": REPLICAS, "clients": clients, "tasks": TASKS, "seconds": seconds, "repeats": repeats,
        "row_lock": cells(&locked), "outlay": cells(&outlay),
    });
    println!("{answer}");
    let faults = stores[0].verify()?.faults;
    if faults.is_empty() { Ok(()) } else { Err(faults.join("; ").into()) }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn begin_campaign(store: &PostgresStore) -> Result<(), StoreError> {
    let new = NewCampaign {
        id: "hot".into(),
        spec: "{}".into(),
        tasks: TASKS,
        at: 0,
        token: String::new(),
    };
    let numbers = vec![0.5; TASKS as usize];
    let split = Split {
        budget: 1.0,
        available: None,
        spend: numbers.clone(),
        success: numbers.clone(),
        index: numbers,
        ..Split::default()
    };
    let (rounds, token) = (1..ROUNDS, String::new());
    let ask = Ask {
        campaign: "hot".into(),
        rounds,
        split: split.into(),
        amendments: 0,
        stats_version: 0,
        at: 0,
        expires_at: 0,
        token,
        key: None,
        horizon: None,
    };
    store.apply(&[Command::Create(new), Command::Ask(ask)]).map(drop)
}

fn tell(round: u64) -> Tell {
    let outcome = |task: u32| Outcome {
        completions: u64::from(task.is_multiple_of(2)),
        delivery: None,
        reward: u64::from(task.is_multiple_of(2)) * (round % 1000),
    };
    let items = (0..TASKS)
        .map(|task| Item { task, outcome: outcome(task), expected: 500_000_000 })
        .collect();
    Tell { campaign: "hot".into(), round, items, is_late: false, at: 0, token: String::new() }
}

/// Writes reports, which are durable when `write` returns.
trait Writer: Send {
    fn write(&mut self, tells: &[Tell]) -> Result<(), Box<dyn Error + Send + Sync>>;
}

struct Slots<'a>(&'a PostgresStore);

impl Writer for Slots<'_> {
    fn write(&mut self, tells: &[Tell]) -> Result<(), Box<dyn Error + Send + Sync>> {
        let batch: Vec<_> = tells.iter().cloned().map(Command::Tell).collect();
        let answers = self.0.apply(&batch)?;
        let is_new = |answer: &Result<Done, Refusal>| matches!(answer, Ok(Done::Told { is_new, .. }) if !is_new.contains(&false));
        if answers.iter().all(is_new) { Ok(()) } else { Err("some outcomes were not new".into()) }
    }
}

/// The usual design: a client that changes a campaign locks its row, then reads and writes its
/// counts.
struct RowLock {
    runtime: Runtime,
    client: Client,
    lock: Statement,
    insert: Statement,
    count: Statement,
}

fn make_row_lock_tables(url: &str) -> Result<(), Box<dyn Error>> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
        tokio::spawn(connection);
        client
            .batch_execute(
                "CREATE SCHEMA row_lock; SET search_path TO row_lock;
                 CREATE TABLE campaign (id text PRIMARY KEY, version bigint NOT NULL); INSERT INTO campaign VALUES ('hot', 0);
                 CREATE TABLE feedback (round bigint, reward bigint NOT NULL, campaign text, task int, completed bool NOT NULL,
                     PRIMARY KEY (campaign, round, task));
                 CREATE TABLE stat (campaign text, task int, told bigint, completions bigint, reward_sum bigint,
                     PRIMARY KEY (campaign, task)) WITH (fillfactor = 50);
                 INSERT INTO stat SELECT 'hot', task, 0, 0, 0 FROM generate_series(0, 3) task;",
            )
            .await
    })?;
    Ok(())
}

impl RowLock {
    fn open(url: &str) -> Result<Self, Box<dyn Error + Send + Sync>> {
        // Its own thread for the connection, so that it is not slower than the pool of the service.
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let (client, lock, insert, count) = runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
            tokio::spawn(connection);
            client.batch_execute("SET search_path TO row_lock").await?;
            let lock = client.prepare("SELECT version FROM campaign WHERE id = 'hot' FOR UPDATE").await?;
            let insert = "INSERT INTO feedback (campaign, round, task, completed, reward)
                SELECT 'hot', * FROM unnest($1::bigint[], $2::int[], $3::bool[], $4::bigint[]) ON CONFLICT DO NOTHING";
            let insert = client.prepare(insert).await?;
            let count = "UPDATE stat SET told = stat.told + new.told, completions = stat.completions + new.completions,
                reward_sum = stat.reward_sum + new.reward_sum
                FROM (SELECT task, count(*) AS told, count(*) FILTER (WHERE completed) AS completions, sum(reward)::bigint AS reward_sum
                    FROM unnest($1::int[], $2::bool[], $3::bigint[]) AS u (task, completed, reward) GROUP BY task) new
                WHERE stat.campaign = 'hot' AND stat.task = new.task";
            let count = client.prepare(count).await?;
            Ok::<_, tokio_postgres::Error>((client, lock, insert, count))
        })?;
        Ok(Self { runtime, client, lock, insert, count })
    }
}

impl Writer for RowLock {
    fn write(&mut self, tells: &[Tell]) -> Result<(), Box<dyn Error + Send + Sync>> {
        let items = || {
            tells.iter().flat_map(|tell| tell.items.iter().map(|item| (tell.round as i64, item)))
        };
        let rounds: Vec<i64> = items().map(|(round, _)| round).collect();
        let tasks: Vec<i32> = items().map(|(_, item)| item.task as i32).collect();
        let completed: Vec<bool> = items().map(|(_, item)| item.outcome.completions > 0).collect();
        let rewards: Vec<i64> = items().map(|(_, item)| item.outcome.reward as i64).collect();
        let Self { runtime, client, lock, insert, count } = self;
        runtime.block_on(async {
            let transaction = client.transaction().await?;
            transaction.query(lock, &[]).await?;
            let new = transaction.execute(insert, &[&rounds, &tasks, &completed, &rewards]).await?;
            transaction.execute(count, &[&tasks, &completed, &rewards]).await?;
            transaction.commit().await?;
            if new == rounds.len() as u64 {
                Ok(())
            } else {
                Err("some outcomes were not new".into())
            }
        })
    }
}

/// A report sent to a writer thread.
type Job = (Tell, Sender<()>);

/// Reports per second of all replicas together.
fn measure<W: Writer>(
    seconds: u64,
    clients: u64,
    grouped: bool,
    open: impl Fn(usize) -> Result<W, Box<dyn Error + Send + Sync>>,
) -> Result<f64, Box<dyn Error>> {
    // The next round that no earlier measurement has reported.
    static ROUND: AtomicU64 = AtomicU64::new(1);
    let written = AtomicU64::new(0);
    let open_all = |replica| {
        (0..if grouped { WRITERS as u64 } else { clients })
            .map(|_| open(replica))
            .collect::<Result<Vec<_>, _>>()
    };
    let writers: Vec<Vec<W>> =
        (0..REPLICAS).map(open_all).collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    let deadline = Instant::now() + Duration::from_secs(seconds);
    let next = || (Instant::now() < deadline).then(|| tell(ROUND.fetch_add(1, Ordering::Relaxed)));
    let queues: Vec<(SyncSender<Job>, Mutex<Receiver<Job>>)> = (0..REPLICAS)
        .map(|_| sync_channel(4096))
        .map(|(sender, jobs)| (sender, Mutex::new(jobs)))
        .collect();
    let (senders, queues): (Vec<_>, Vec<_>) = queues.into_iter().unzip();
    let start = Instant::now();
    std::thread::scope(|scope| {
        for ((sender, jobs), writers) in senders.into_iter().zip(&queues).zip(writers) {
            for mut writer in writers {
                let (next, written) = (&next, &written);
                scope.spawn(move || {
                    while grouped && serve(&mut writer, jobs) {}
                    while let Some(tell) = next().filter(|_| !grouped) {
                        writer.write(&[tell]).expect("a report is written");
                        written.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            for _ in 0..if grouped { clients } else { 0 } {
                let (sender, next, written) = (sender.clone(), &next, &written);
                scope.spawn(move || {
                    while let Some(tell) = next() {
                        let (reply, answer) = channel();
                        sender.send((tell, reply)).expect("a writer thread runs");
                        answer.recv().expect("a report is written");
                        written.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        }
    });
    Ok(written.into_inner() as f64 / start.elapsed().as_secs_f64())
}

/// Writes all waiting reports; returns false when all senders are gone.
fn serve(writer: &mut impl Writer, jobs: &Mutex<Receiver<Job>>) -> bool {
    let (tells, replies): (Vec<_>, Vec<_>) = {
        let jobs = jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(first) = jobs.recv() else { return false };
        std::iter::once(first).chain(std::iter::from_fn(|| jobs.try_recv().ok()).take(1023)).unzip()
    };
    writer.write(&tells).expect("reports are written");
    for reply in &replies {
        reply.send(()).ok();
    }
    true
}
