//! PostgreSQL or a replica fails during work. Afterwards every acknowledged write is in the
//! database exactly once.
//!
//! These tests restart the PostgreSQL server and cut all of its connections, which would fail other
//! tests. `cargo test` runs one binary after the other, so they have their own binary.

#[allow(dead_code, reason = "the binary `main` uses the rest")]
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use outlay_server::store::{Done, PostgresOptions, PostgresStore, Refusal, Store, StoreError};

use support::commands::*;
use support::database::Database;

const TASKS: u32 = 3;

/// Runs one test at a time.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Acknowledged rounds and items. Counts alone would not be enough: a lost item could be offset by
/// an invented one.
#[derive(Debug, Default)]
struct Acknowledged {
    rounds: BTreeSet<u64>,
    /// Items sent; true if acknowledged.
    items: BTreeMap<(u64, u32), bool>,
    errors: usize,
}

/// Asks for rounds and reports outcomes until stopped; sends unacknowledged requests again.
fn client(
    store: &PostgresStore,
    number: u64,
    is_over: &AtomicBool,
    acknowledged: &Mutex<Acknowledged>,
) {
    let check = |error: StoreError| {
        assert!(!error.is_fatal, "{error:?}");
        acknowledged.lock().unwrap().errors += 1;
        std::thread::sleep(Duration::from_millis(5));
    };
    let mut step = 0;
    while !is_over.load(Ordering::Relaxed) {
        step += 1;
        let rounds = match store.lease_rounds("c", 1 + (step + number) as u32 % 3) {
            Ok(rounds) => rounds,
            Err(error) => {
                check(error);
                continue;
            }
        };
        match store.apply(&[ask("c", rounds.clone(), TASKS)]) {
            Ok(answers) => assert_eq!(answers, [Ok(Done::Asked)]),
            Err(error) => {
                check(error);
                continue;
            }
        }
        acknowledged.lock().unwrap().rounds.extend(rounds.clone());
        let outcomes = |round| [(0, done(round)), (1, FAILED), (2, done(number))];
        let batch: Vec<_> =
            rounds.clone().map(|round| tell("c", round, &outcomes(round))).collect();
        let places = || rounds.clone().flat_map(|round| (0..TASKS).map(move |task| (round, task)));
        acknowledged.lock().unwrap().items.extend(places().map(|place| (place, false)));
        // Repeated until acknowledged: stored outcomes count as repetitions, not as conflicts.
        loop {
            match store.apply(&batch) {
                Ok(answers) => {
                    assert!(
                        answers.iter().all(|answer| matches!(
                            answer,
                            Ok(Done::Told { is_complete: true, .. })
                        )),
                        "{answers:?}"
                    );
                    break acknowledged
                        .lock()
                        .unwrap()
                        .items
                        .extend(places().map(|place| (place, true)));
                }
                Err(error) if is_over.load(Ordering::Relaxed) => break check(error),
                Err(error) => check(error),
            }
        }
    }
}

/// Checks that every acknowledged item is in the database once, and that all others there were
/// sent.
fn compare(store: &PostgresStore, acknowledged: &Acknowledged) {
    let rows = store.rounds("c", 0, usize::MAX).unwrap();
    let kept: BTreeSet<u64> = rows.iter().map(|row| row.round).collect();
    assert_eq!(kept.len(), rows.len(), "a round is listed twice");
    assert_eq!(acknowledged.rounds.difference(&kept).count(), 0, "a round is lost");
    let items: BTreeSet<(u64, u32)> =
        rows.iter().flat_map(|row| row.told.iter().map(|(task, _)| (row.round, *task))).collect();
    for (place, is_acknowledged) in &acknowledged.items {
        assert!(items.contains(place) || !is_acknowledged, "{place:?} is lost");
    }
    assert!(
        items.iter().all(|place| acknowledged.items.contains_key(place)),
        "an item is invented"
    );
    let standing = store.standing("c").unwrap();
    assert_eq!((standing.version, standing.rounds), (items.len() as u64, rows.len() as u64));
    assert_eq!(store.verify().unwrap().faults, Vec::<String>::new());
    let log = std::fs::read_to_string(std::env::var("OUTLAY_TEST_POSTGRES_LOG").unwrap()).unwrap();
    assert!(!log.contains("deadlock detected"));
}

/// Runs six clients at three replicas while `harm` disturbs them.
fn under_load(database: &Database, harm: impl FnOnce(&dyn Fn() -> usize)) -> Acknowledged {
    let options = || PostgresOptions { timeout: Duration::from_secs(5), ..database.options() };
    let stores: Vec<_> = (0..3).map(|_| PostgresStore::open(options()).unwrap()).collect();
    assert_eq!(one(&stores[0], create("c", TASKS)), Ok(Done::Created));
    let (is_over, acknowledged) = (AtomicBool::new(false), Mutex::new(Acknowledged::default()));
    std::thread::scope(|scope| {
        for number in 0..6 {
            let (store, is_over, acknowledged) =
                (&stores[number as usize % 3], &is_over, &acknowledged);
            scope.spawn(move || client(store, number, is_over, acknowledged));
        }
        let harmed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            harm(&|| acknowledged.lock().unwrap().rounds.len())
        }));
        is_over.store(true, Ordering::Relaxed);
        harmed.unwrap();
    });
    let acknowledged = acknowledged.into_inner().unwrap();
    compare(&stores[0], &acknowledged);
    acknowledged
}

/// Waits until `more` rounds are acknowledged, so that calls have recovered.
fn wait_for_rounds(rounds: &dyn Fn() -> usize, more: usize) {
    let (begun, start) = (rounds(), Instant::now());
    while rounds() < begun + more {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "no progress: {} of {more} rounds",
            rounds() - begun
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn cut_connections_lose_nothing() {
    let (_alone, Some(database)) = (one_at_a_time(), Database::new()) else { return };
    let cut =
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'outlay'";
    let acknowledged = under_load(&database, |rounds| {
        for _ in 0..20 {
            wait_for_rounds(rounds, 5);
            // Rounds from before the last cut may be counted only now, while no client is
            // connected.
            while database.sql(cut).is_empty() {
                wait_for_rounds(rounds, 1);
            }
        }
        wait_for_rounds(rounds, 20);
    });
    println!("{} rounds, {} errors", acknowledged.rounds.len(), acknowledged.errors);
}

#[test]
fn restarts_of_the_database_lose_nothing() {
    let (_alone, Some(database)) = (one_at_a_time(), Database::new()) else { return };
    let control = |words: &[&str]| {
        let control = std::env::var("OUTLAY_TEST_POSTGRES_CONTROL")
            .expect("the control of tests/with-postgres");
        assert!(
            std::process::Command::new(control).args(words).status().unwrap().success(),
            "{words:?}"
        );
    };
    let acknowledged = under_load(&database, |rounds| {
        wait_for_rounds(rounds, 20);
        control(&["restart", "fast"]);
        wait_for_rounds(rounds, 20);
        // Like a power cut: it recovers from its log.
        control(&["restart", "immediate"]);
        wait_for_rounds(rounds, 20);
        control(&["stop", "immediate"]);
        std::thread::sleep(Duration::from_millis(500));
        control(&["start"]);
        wait_for_rounds(rounds, 20);
    });
    assert!(acknowledged.errors > 0, "calls must fail while the database is down");
    println!("{} rounds, {} errors", acknowledged.rounds.len(), acknowledged.errors);
}

/// The name under which this program starts itself as a replica.
const REPLICA: &str = "OUTLAY_TEST_REPLICA";

/// Not a test by itself: a replica in its own process, which prints what was acknowledged.
#[test]
fn replica() {
    let Ok(schema) = std::env::var(REPLICA) else { return };
    let store = PostgresStore::open(PostgresOptions {
        schema,
        ..PostgresOptions::new(std::env::var("OUTLAY_TEST_POSTGRES").unwrap())
    })
    .unwrap();
    loop {
        let rounds = store.lease_rounds("c", 2).unwrap();
        println!("\nasks {} {}", rounds.start, rounds.end);
        assert_eq!(one(&store, ask("c", rounds.clone(), TASKS)), Ok(Done::Asked));
        println!("\nasked {} {}", rounds.start, rounds.end);
        let batch: Vec<_> = rounds
            .clone()
            .map(|round| tell("c", round, &[(0, done(round)), (1, FAILED), (2, done(1))]))
            .collect();
        assert!(store.apply(&batch).unwrap().iter().all(Result::is_ok));
        println!("\ntold {} {}", rounds.start, rounds.end);
    }
}

struct Process {
    child: Child,
    reader: Option<std::thread::JoinHandle<Vec<String>>>,
}

impl Process {
    fn start(database: &Database) -> Self {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "replica", "--nocapture"]).env(REPLICA, &database.schema);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let output = child.stdout.take().unwrap();
        let reader = std::thread::spawn(move || {
            BufReader::new(output).lines().map_while(Result::ok).collect()
        });
        Self { child, reader: Some(reader) }
    }

    /// Kills the process and returns its output.
    fn kill(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.reader.take().unwrap().join().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn killed_replicas_lose_nothing() {
    let (_alone, Some(database)) = (one_at_a_time(), Database::new()) else { return };
    let store = database.store();
    assert_eq!(one(&store, create("c", TASKS)), Ok(Done::Created));
    let mut said = Vec::new();
    let mut running: Vec<_> = (0..3).map(|_| Process::start(&database)).collect();
    for step in 0..9 {
        let before = store.standing("c").unwrap().rounds;
        let start = Instant::now();
        while store.standing("c").unwrap().rounds < before + 30 {
            assert!(start.elapsed() < Duration::from_secs(60), "no progress");
            std::thread::sleep(Duration::from_millis(10));
        }
        said.extend(running.remove(0).kill());
        if step < 6 {
            running.push(Process::start(&database));
        }
        if running.is_empty() {
            break;
        }
    }
    let mut acknowledged = Acknowledged::default();
    for line in &said {
        let mut words = line.split(' ');
        let (Some(what), Some(Ok(start)), Some(Ok(end))) =
            (words.next(), words.next().map(str::parse), words.next().map(str::parse))
        else {
            continue;
        };
        for round in start..end {
            match what {
                "asks" => acknowledged.items.extend((0..TASKS).map(|task| ((round, task), false))),
                "asked" => {
                    assert!(acknowledged.rounds.insert(round), "round {round} was issued twice")
                }
                "told" => acknowledged.items.extend((0..TASKS).map(|task| ((round, task), true))),
                _ => {}
            }
        }
    }
    assert!(acknowledged.rounds.len() > 100);
    // The database ends the transactions of killed processes after a moment.
    std::thread::sleep(Duration::from_millis(300));
    compare(&store, &acknowledged);
    assert_eq!(
        one(&store, tell("c", *acknowledged.rounds.first().unwrap(), &[(1, done(3))])),
        Err(Refusal::Conflict { task: 1, stored: FAILED })
    );
    println!("{} rounds", acknowledged.rounds.len());
}
