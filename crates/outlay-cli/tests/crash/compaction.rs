//! The service is killed while it compacts rounds and clients report late and twice. Acknowledged
//! outcomes count once, and the store passes `verify` after every kill.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::http::Connection;
use super::service::{Disk, Service};
use super::{cycles, folder};

const CLIENTS: u64 = 4;
/// Rounds expire after a second.
const LATE: Duration = Duration::from_millis(1250);

/// What the clients have observed.
#[derive(Default)]
struct Counts {
    /// Outcomes that the service acknowledged.
    acknowledged: AtomicU64,
    /// Outcomes reported for which the answer was lost.
    unknown: AtomicU64,
    compacted: AtomicU64,
    refused: AtomicU64,
}

/// Asks for rounds and reports each twice: at once, some rounds later, or, for the first ones, when
/// they have expired and may be compacted.
fn client(line: &mut Connection, counts: &Counts, number: u64) -> std::io::Result<()> {
    let (mut waiting, mut expiring): (Vec<u64>, Vec<u64>) = Default::default();
    let begun = Instant::now();
    for turn in 0.. {
        let count = json!({ "count": 5 });
        let asked = line.send("POST", "/v1/campaigns/c/rounds", None, Some(&count))?;
        assert_eq!(asked.status, 201, "{asked:?}");
        let rounds = asked.body["rounds"].as_array().expect("rounds").iter();
        let held = if turn < 4 { &mut expiring } else { &mut waiting };
        held.extend(rounds.filter_map(serde_json::Value::as_u64));
        let late = if turn % 3 == number % 3 { 0 } else { 400 };
        let mut due: Vec<u64> = waiting.drain(..waiting.len().saturating_sub(late)).collect();
        if begun.elapsed() > LATE {
            due.append(&mut expiring);
        }
        for round in due {
            let mut is_counted = false;
            for _ in 0..2 {
                is_counted = report(line, counts, round, is_counted)?;
            }
        }
    }
    Ok(())
}

/// Reports a round and returns true if it has been counted.
fn report(
    line: &mut Connection,
    counts: &Counts,
    round: u64,
    was_counted: bool,
) -> std::io::Result<bool> {
    let path = format!("/v1/campaigns/c/rounds/{round}/feedback");
    let body = json!({ "results": [{ "task": "a", "completed": true, "reward": 0.5 }] });
    let answer = line.send("PUT", &path, None, Some(&body)).inspect_err(|_| {
        counts.unknown.fetch_add(u64::from(!was_counted), Ordering::SeqCst);
    })?;
    if answer.status == 410 {
        counts.refused.fetch_add(1, Ordering::SeqCst);
        return Ok(was_counted);
    }
    assert_eq!(answer.status, 200, "{answer:?}");
    let accepted = answer.body["accepted"].as_u64().expect("a number");
    assert!(!was_counted || accepted == 0, "round {round} was counted twice");
    counts.acknowledged.fetch_add(accepted, Ordering::SeqCst);
    Ok(true)
}

/// Compacts expired rounds repeatedly until the service is killed.
fn compact(address: &str, counts: &Counts) -> std::io::Result<()> {
    let mut line = Connection::open(address)?;
    loop {
        let body = json!({ "retain_seconds": 0 });
        let answer = line.send("POST", "/v1/compactions", None, Some(&body))?;
        assert_eq!(answer.status, 200, "{answer:?}");
        let rounds = answer.body["rounds"].as_u64().unwrap_or(0);
        counts.compacted.fetch_add(rounds, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn verify(folder: &Path) {
    let mut verify = Command::new(env!("CARGO_BIN_EXE_outlay"));
    let output = verify.arg("verify").arg("--data").arg(folder).output().expect("a program");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn killed_while_it_compacts() {
    let folder = folder("compaction");
    let counts = Counts::default();
    let create = json!({ "expiry_seconds": 1, "problem": { "budget": 1, "task": [
        { "name": "a", "curve": { "family": "exponential", "scale": 1 } } ] } });
    for cycle in 0..cycles(4) {
        let service = Service::start(&folder, &Disk::default()).expect("a start");
        let address = service.address.clone();
        let mut line = Connection::open(&address).expect("a connection");
        line.send("PUT", "/v1/campaigns/c", None, Some(&create)).expect("an answer");
        std::thread::scope(|scope| {
            for number in 0..CLIENTS {
                let (address, counts) = (&address, &counts);
                scope.spawn(move || {
                    let mut line = Connection::open(address).expect("a connection");
                    client(&mut line, counts, number).expect_err("the service is killed");
                });
            }
            scope.spawn(|| compact(&address, &counts));
            std::thread::sleep(Duration::from_millis(1500 + 137 * (cycle % 5)));
            service.kill();
        });
        verify(&folder);
    }
    let service = Service::start(&folder, &Disk::default()).expect("a start");
    let mut line = Connection::open(&service.address).expect("a connection");
    let state = line.send("GET", "/v1/campaigns/c", None, None).expect("an answer").body;
    let counted = state["tasks"][0]["told"].as_u64().expect("a number");
    let [acknowledged, unknown, compacted, refused] =
        [&counts.acknowledged, &counts.unknown, &counts.compacted, &counts.refused]
            .map(|count| count.load(Ordering::SeqCst));
    println!(
        "{acknowledged} acknowledged, {unknown} unknown, {counted} counted, {compacted} rounds compacted, {refused} reports refused"
    );
    assert!((acknowledged..=acknowledged + unknown).contains(&counted));
    assert!(
        compacted > 100 && refused > 0,
        "no round was compacted, or none was reported after that"
    );
    service.kill();
    std::fs::remove_dir_all(folder).ok();
}
