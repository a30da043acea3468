//! A long run of one process: its memory grows with the number of open rounds, not with history.

use std::fs;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use outlay::random::{Draws, Purpose};
use serde_json::{Value, json};

use super::folder;
use super::http::Connection;
use super::service::{Disk, Service};

const CAMPAIGNS: usize = 50;
const TASKS: usize = 50;
const CLIENTS: u64 = 8;
/// Rounds per connection, after which a client opens a new one.
const ROUNDS_A_CONNECTION: u64 = 500;
/// Samples in a run.
const SAMPLES: u32 = 40;
/// Unreported rounds expire after this many seconds.
const EXPIRY: u64 = 20;
/// Allowed growth of memory from the second quarter of the run, when caches are full, to the last.
const ROOM: f64 = 0.1;

/// The resources held at a moment.
#[derive(Debug, Clone, Copy)]
struct Sample {
    seconds: u64,
    rounds: u64,
    resident_kb: u64,
    files: u64,
    threads: u64,
    disk_mb: u64,
}

fn campaign(number: usize) -> Value {
    let task = |place: usize| {
        let scale = 5.0 + ((place * 7 + number * 3) % 23) as f64;
        let family = if place.is_multiple_of(2) { "exponential" } else { "power" };
        let mut curve = json!({ "family": family, "scale": scale });
        if family == "power" {
            curve["exponent"] = json!(0.5);
        }
        json!({ "name": format!("t{place}"), "curve": curve })
    };
    json!({ "problem": { "budget": 100.0, "task": (0..TASKS).map(task).collect::<Vec<_>>() }, "expiry_seconds": EXPIRY })
}

/// Asks for rounds, reports most of them, some twice, and reads state, until `is_over` is set.
fn play(
    address: &str,
    number: u64,
    rounds: &AtomicU64,
    is_over: &AtomicBool,
) -> std::io::Result<()> {
    let mut played = 0;
    while !is_over.load(Ordering::Relaxed) {
        let mut line = Connection::open(address)?;
        for _ in 0..ROUNDS_A_CONNECTION {
            played += 1;
            let draws = Draws::new(number, Purpose::Delay).round(played);
            let path = format!("/v1/campaigns/c{}", (draws.uniform(0) * CAMPAIGNS as f64) as usize);
            let key = (draws.uniform(1) < 0.5).then(|| format!("{number}-{played}"));
            let asked = expect(
                &mut line,
                "POST",
                &format!("{path}/rounds"),
                key.as_deref(),
                Some(&json!({})),
                201,
            )?;
            let round = asked["rounds"][0].as_u64().unwrap_or(0);
            // One in fifty is left to expire.
            if draws.uniform(2) < 0.98 {
                let result = |task: usize| match draws.uniform(10 + task) < 0.5 {
                    true => {
                        json!({ "task": format!("t{task}"), "completed": true, "reward": draws.uniform(100 + task) })
                    }
                    false => json!({ "task": format!("t{task}"), "completed": false }),
                };
                let report = json!({ "results": (0..TASKS).map(result).collect::<Vec<_>>() });
                for _ in 0..=u32::from(draws.uniform(3) < 0.1) {
                    expect(
                        &mut line,
                        "PUT",
                        &format!("{path}/rounds/{round}/feedback"),
                        None,
                        Some(&report),
                        200,
                    )?;
                }
            }
            if draws.uniform(4) < 0.01 {
                for what in [
                    path.clone(),
                    format!("{path}/rounds?after={}", round.saturating_sub(50)),
                    "/metrics".to_owned(),
                ] {
                    expect(&mut line, "GET", &what, None, None, 200)?;
                }
            }
            rounds.fetch_add(1, Ordering::Relaxed);
            if is_over.load(Ordering::Relaxed) {
                break;
            }
        }
    }
    Ok(())
}

fn expect(
    line: &mut Connection,
    method: &str,
    path: &str,
    key: Option<&str>,
    body: Option<&Value>,
    status: u16,
) -> std::io::Result<Value> {
    let answer = line.send(method, path, key, body)?;
    assert_eq!(answer.status, status, "{method} {path}: {:?}", answer.body);
    Ok(answer.body)
}

#[test]
#[ignore = "runs for OUTLAY_SOAK_SECONDS: tests/crash/soak"]
fn memory_grows_with_open_rounds_not_with_history() {
    let seconds = std::env::var("OUTLAY_SOAK_SECONDS")
        .ok()
        .and_then(|seconds| seconds.parse().ok())
        .unwrap_or(60);
    let folder = folder("soak");
    let service = Service::start(&folder, &Disk::default()).expect("a start");
    let mut line = Connection::open(&service.address).expect("a connection");
    for number in 0..CAMPAIGNS {
        expect(
            &mut line,
            "PUT",
            &format!("/v1/campaigns/c{number}"),
            None,
            Some(&campaign(number)),
            201,
        )
        .expect("a campaign");
    }
    drop(line);
    let (rounds, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let samples = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let (address, rounds, is_over) = (&service.address, &rounds, &is_over);
                scope.spawn(move || play(address, number, rounds, is_over))
            })
            .collect();
        let samples = watch(&service, &folder, &rounds, Duration::from_secs(seconds));
        is_over.store(true, Ordering::Relaxed);
        clients.into_iter().for_each(|client| {
            client.join().expect("no client broke").expect("no connection broke")
        });
        samples
    });
    assert!(service.stop().success());
    fs::remove_dir_all(&folder).ok();
    leave(&samples).expect("results");
    let quarter = samples.len() / 4;
    let (second, last) = (median(&samples[quarter..2 * quarter]), median(&samples[3 * quarter..]));
    let growth = last as f64 / second as f64 - 1.0;
    println!(
        "{} rounds; {second} kB resident in the second quarter, {last} kB in the last",
        samples[samples.len() - 1].rounds
    );
    assert!(growth < ROOM, "memory has grown by {:.0} %", 100.0 * growth);
}

fn watch(
    service: &Service,
    folder: &std::path::Path,
    rounds: &AtomicU64,
    long: Duration,
) -> Vec<Sample> {
    let begun = Instant::now();
    let sample = |turn: u32| {
        let until = long * turn / SAMPLES;
        std::thread::sleep(until.saturating_sub(begun.elapsed()));
        let held = service.holds();
        let disk: u64 = fs::read_dir(folder)
            .expect("a folder")
            .filter_map(|entry| entry.ok()?.metadata().ok())
            .map(|file| file.len())
            .sum();
        let sample = Sample {
            seconds: begun.elapsed().as_secs(),
            rounds: rounds.load(Ordering::Relaxed),
            resident_kb: held.resident_kb,
            files: held.files,
            threads: held.threads,
            disk_mb: disk / 1_000_000,
        };
        eprintln!("{sample:?}");
        sample
    };
    (1..=SAMPLES).map(sample).collect()
}

fn median(samples: &[Sample]) -> u64 {
    let mut resident: Vec<u64> = samples.iter().map(|sample| sample.resident_kb).collect();
    resident.sort_unstable();
    resident[resident.len() / 2]
}

/// Writes one row per sample to the results file, if one is set.
fn leave(samples: &[Sample]) -> std::io::Result<()> {
    let Ok(path) = std::env::var("OUTLAY_SOAK_RESULTS") else { return Ok(()) };
    let mut file = fs::File::create(path)?;
    writeln!(file, "seconds,rounds,resident_kb,files,threads,disk_mb")?;
    for Sample { seconds, rounds, resident_kb, files, threads, disk_mb } in samples {
        writeln!(file, "{seconds},{rounds},{resident_kb},{files},{threads},{disk_mb}")?;
    }
    Ok(())
}
