//! Three replicas on one PostgreSQL server. Replicas are killed at random times, and now and then
//! the database is restarted under all of them.

use std::io::{Error, ErrorKind, Result};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use outlay::random::{Draws, Purpose, RoundDraws};
use serde_json::Value;

use super::check::{self, Fault, Kind};
use super::clients::{Client, Line, Promises, Trust};
use super::cluster::Cluster;
use super::found::Found;
use super::http::{Answer, Connection};
use super::service::Service;

const REPLICAS: usize = 3;
const CLIENTS: u64 = 9;
/// Number of kills per chapter: the same clients work on the same campaign, and the database is
/// restarted once.
const CHAPTER: u64 = 40;
/// A client that gets no answer for this long is stuck.
const PATIENCE: Duration = Duration::from_secs(60);

/// The replicas; `None` for one that is down.
struct Replicas<'a> {
    cluster: &'a Cluster,
    running: [Mutex<Option<Service>>; REPLICAS],
}

impl<'a> Replicas<'a> {
    fn start(cluster: &'a Cluster) -> Self {
        let replicas = Self { cluster, running: Default::default() };
        // All at once, as on a new deployment.
        std::thread::scope(|scope| {
            for number in 0..REPLICAS {
                let replicas = &replicas;
                scope.spawn(move || replicas.begin(number));
            }
        });
        replicas
    }

    fn address(&self, number: usize) -> Option<String> {
        self.running[number]
            .lock()
            .expect("no thread panicked")
            .as_ref()
            .map(|service| service.address.clone())
    }

    fn kill(&self, number: usize) {
        let killed = self.running[number].lock().expect("no thread panicked").take();
        killed.expect("a replica that runs").kill();
    }

    /// Starts a replica, and retries while it cannot reach the database, as a supervisor would.
    fn begin(&self, number: usize) {
        let begun = Instant::now();
        let service = loop {
            match Service::replica(&self.cluster.url) {
                Ok(service) => break service,
                Err(said) => {
                    assert!(begun.elapsed() < PATIENCE, "replica {number} does not start: {said}")
                }
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        *self.running[number].lock().expect("no thread panicked") = Some(service);
    }

    /// Kills one or two replicas and starts them again; may restart the database meanwhile.
    fn harm(&self, draws: &RoundDraws, restart: Option<u64>) {
        let first = (draws.uniform(0) * REPLICAS as f64) as usize;
        let victims =
            if draws.uniform(1) < 0.25 { vec![first, (first + 1) % REPLICAS] } else { vec![first] };
        victims.iter().for_each(|victim| self.kill(*victim));
        std::thread::sleep(Duration::from_secs_f64(0.1 * draws.uniform(2)));
        match restart {
            None => {}
            // Like a power cut of the database's machine: it recovers from its log.
            Some(0) => self.cluster.control(&["restart", "immediate"]),
            Some(1) => self.cluster.control(&["restart", "fast"]),
            Some(_) => {
                self.cluster.control(&["stop", "immediate"]);
                std::thread::sleep(Duration::from_millis(500));
                self.cluster.control(&["start"]);
            }
        }
        victims.iter().for_each(|victim| self.begin(*victim));
    }
}

/// A connection to any replica that answers: an unacknowledged request is sent again to the next
/// one.
struct Roaming<'a> {
    replicas: &'a Replicas<'a>,
    at: usize,
    connection: Option<Connection>,
    refused: &'a AtomicU64,
}

impl Roaming<'_> {
    fn connected(&mut self) -> Result<&mut Connection> {
        if self.connection.is_none() {
            let address = self
                .replicas
                .address(self.at)
                .ok_or_else(|| Error::new(ErrorKind::NotConnected, "it is down"))?;
            self.connection = Some(Connection::open(&address)?);
        }
        self.connection
            .as_mut()
            .ok_or_else(|| Error::new(ErrorKind::NotConnected, "there is no connection"))
    }
}

impl Line for Roaming<'_> {
    fn send(
        &mut self,
        method: &str,
        path: &str,
        key: Option<&str>,
        body: Option<&Value>,
    ) -> Result<Answer> {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            match self.connected().and_then(|connection| connection.send(method, path, key, body)) {
                Ok(answer) if answer.status != 503 => return Ok(answer),
                Ok(_) => {
                    self.refused.fetch_add(1, Ordering::Relaxed);
                }
                Err(_) => {}
            }
            self.connection = None;
            self.at = (self.at + 1) % REPLICAS;
            std::thread::sleep(Duration::from_millis(10));
        }
        Err(Error::new(ErrorKind::TimedOut, format!("{method} {path}: no replica answers")))
    }
}

/// Waits until `more` outcomes are acknowledged, so that clients are at work when a replica is
/// killed.
fn wait_for_outcomes(promises: &Mutex<Promises>, more: usize) {
    let kept = || promises.lock().expect("no thread panicked").kept.len();
    let (before, begun) = (kept(), Instant::now());
    while kept() < before + more {
        assert!(begun.elapsed() < PATIENCE, "no outcomes are acknowledged any more");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Runs clients while replicas are killed `kills` times and the database is restarted once. Returns
/// what was acknowledged, and the clients that got stuck.
fn chapter(
    replicas: &Replicas<'_>,
    number: u64,
    kills: u64,
    refused: &AtomicU64,
) -> (Promises, Vec<Fault>) {
    let campaign = format!("c{number}");
    assert_eq!(
        super::create(&replicas.address(0).expect("a replica"), &campaign).expect("an answer"),
        201
    );
    let (promises, is_over) = (Mutex::new(Promises::default()), AtomicBool::new(false));
    let stuck = std::thread::scope(|scope| {
        let work = |place: u64| {
            let (campaign, promises, is_over) = (&campaign, &promises, &is_over);
            let client = Client {
                campaign,
                number: number * CLIENTS + place,
                trust: Trust::Answers,
                promises,
                is_over,
            };
            let mut line =
                Roaming { replicas, at: place as usize % REPLICAS, connection: None, refused };
            scope.spawn(move || {
                client.run(&mut line).err().map(|error| format!("client {place} is stuck: {error}"))
            })
        };
        let clients: Vec<_> = (0..CLIENTS).map(work).collect();
        let harmed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for kill in 0..kills {
                wait_for_outcomes(&promises, 30);
                let draws = Draws::new(number * CHAPTER + kill, Purpose::Delay).round(1);
                std::thread::sleep(Duration::from_secs_f64(0.1 * draws.uniform(3)));
                replicas.harm(&draws, (kill == kills / 2).then_some(number % 3));
            }
            wait_for_outcomes(&promises, 100);
        }));
        is_over.store(true, Ordering::Relaxed);
        let ended: Vec<_> = clients
            .into_iter()
            .filter_map(|client| client.join().expect("a client that does not panic"))
            .collect();
        harmed.expect("clients continue after each kill");
        ended
    });
    (
        promises.into_inner().expect("no thread panicked"),
        stuck.into_iter().map(|what| (Kind::Lost, what)).collect(),
    )
}

/// Runs `outlay verify`: the counts of all slots must match the outcomes in the database.
fn verify(cluster: &Cluster) {
    let verify = Command::new(env!("CARGO_BIN_EXE_outlay"))
        .args(["verify", "--database", &cluster.url])
        .output()
        .expect("the program");
    assert!(verify.status.success(), "{verify:?}");
}

#[test]
fn nothing_is_lost_when_replicas_are_killed_and_the_database_restarts() {
    let Some(cluster) = Cluster::start() else { return };
    let kills = super::cycles(8);
    let mut found = Found::new("replicas", kills);
    let (replicas, refused) = (Replicas::start(&cluster), AtomicU64::new(0));
    let chapters = kills.div_ceil(CHAPTER);
    for number in 0..chapters {
        let kills = CHAPTER.min(kills - number * CHAPTER);
        let (promises, mut faults) = chapter(&replicas, number, kills, &refused);
        // The database ends the transactions of killed replicas, and the others read counts again
        // after 100 ms.
        std::thread::sleep(Duration::from_millis(500));
        for replica in 0..REPLICAS {
            faults.extend(check::faults(
                &replicas.address(replica).expect("a replica"),
                &format!("c{number}"),
                &promises,
            ));
        }
        found.add(kills, &promises, faults);
    }
    verify(&cluster);
    assert!(!cluster.log().contains("deadlock detected"));
    found.report(&format!("{chapters} restarts of the database"));
    assert!(refused.into_inner() > 0, "no request failed while the database was down");
    found.assert_no_faults();
}
