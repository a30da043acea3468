//! The service is killed, loses its power, and meets every fault of its disk: nothing acknowledged is lost, nothing counted twice,
//! nothing made up.
//!
//! `OUTLAY_CRASH_CYCLES=2000 cargo test --release -p outlay-cli --test crash` runs the long version of the loops.

#![cfg(all(feature = "serve", target_os = "linux"))]
#![allow(unreachable_pub, missing_docs, clippy::print_stdout, reason = "a test of several files")]

mod check;
mod clients;
mod http;
mod power;
mod service;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clients::{Client, Promises, Trust};
use http::Connection;
use outlay::random::{Draws, Purpose};
use serde_json::json;
use service::{Disk, Service};

const CLIENTS: u64 = 8;

/// How many cycles a loop has.
fn cycles(few: u64) -> u64 {
    std::env::var("OUTLAY_CRASH_CYCLES").ok().and_then(|cycles| cycles.parse().ok()).unwrap_or(few)
}

/// A folder on the disk of the repository, empty.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("crash-{name}"));
    std::fs::remove_dir_all(&folder).ok();
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn create(address: &str, campaign: &str) -> std::io::Result<u16> {
    let body = json!({ "problem": clients::problem() });
    Ok(Connection::open(address)?.send("PUT", &format!("/v1/campaigns/{campaign}"), None, Some(&body))?.status)
}

/// Clients at work until the service is killed.
fn work(service: Service, campaign: &str, cycle: u64, trust: Trust) -> Promises {
    assert_eq!(create(&service.address, campaign).expect("an answer"), 201);
    let (promises, is_over) = (Mutex::new(Promises::default()), AtomicBool::new(false));
    let address = service.address.clone();
    let wait = Draws::new(cycle, Purpose::Delay).round(1).uniform(0);
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let client =
                Client { address: &address, campaign, number: cycle * CLIENTS + number, trust, promises: &promises, is_over: &is_over };
            scope.spawn(move || client.run());
        }
        std::thread::sleep(Duration::from_secs_f64(0.03 + 0.2 * wait));
        service.kill();
        is_over.store(true, Ordering::Relaxed);
    });
    promises.into_inner().expect("nobody panicked")
}

/// What a loop found.
#[derive(Debug, Default)]
struct Found {
    faulty_cycles: u64,
    first: Vec<String>,
    outcomes: usize,
    rounds: usize,
}

impl Found {
    fn add(&mut self, cycle: u64, promises: &Promises, faults: Vec<String>) {
        self.outcomes += promises.kept.len();
        self.rounds += promises.asked.len();
        self.faulty_cycles += u64::from(!faults.is_empty());
        if self.first.is_empty() {
            self.first = faults.into_iter().take(5).map(|fault| format!("cycle {cycle}: {fault}")).collect();
        }
    }

    fn told(&self, name: &str, cycles: u64) {
        println!(
            "{name}: {cycles} cycles, {} outcomes and {} asks acknowledged, {} cycles with faults",
            self.outcomes, self.rounds, self.faulty_cycles
        );
    }
}

fn kill_loop(name: &str, cycles: u64) -> Found {
    let folder = folder(name);
    let mut found = Found::default();
    for cycle in 0..cycles {
        let campaign = format!("c{cycle}");
        let service = Service::start(&folder, &Disk::default()).expect("a start");
        let promises = work(service, &campaign, cycle, Trust::Answers);
        let again = Service::start(&folder, &Disk::default()).expect("a start after a kill");
        let faults = check::faults(&again.address, &campaign, &promises);
        again.kill();
        found.add(cycle, &promises, faults);
    }
    found.told(name, cycles);
    std::fs::remove_dir_all(folder).ok();
    found
}

fn power_loop(name: &str, cycles: u64, lies: bool, trust: Trust) -> Found {
    let (folder, shadow) = (folder(name), folder(&format!("{name}-shadow")));
    let disk = Disk::shim(&folder, &shadow);
    let disk = if lies { disk.with("OUTLAY_SHIM_LIE", "1") } else { disk };
    let mut found = Found::default();
    for cycle in 0..cycles {
        let campaign = format!("c{cycle}");
        let service = Service::start(&folder, &disk).expect("a start");
        let promises = work(service, &campaign, cycle, trust);
        let draws = Draws::new(cycle, Purpose::Availability).round(1);
        power::cut(&folder, &shadow, (cycle % 2 == 1).then_some(&draws));
        let faults = match Service::start(&folder, &Disk::default()) {
            Ok(again) => {
                let faults = if is_there(&again.address, &campaign) {
                    check::faults(&again.address, &campaign, &promises)
                } else {
                    vec!["the campaign is lost".to_owned()]
                };
                again.kill();
                faults
            }
            Err(said) => vec![format!("it does not start: {said}")],
        };
        found.add(cycle, &promises, faults);
        if lies {
            // There is nothing left to go on from.
            clear(&folder);
            clear(&shadow);
        } else {
            // What was written without the shim is synced by the kernel sooner or later.
            clear(&shadow);
            copy(&folder, &shadow);
        }
    }
    found.told(name, cycles);
    std::fs::remove_dir_all(folder).ok();
    std::fs::remove_dir_all(shadow).ok();
    found
}

fn is_there(address: &str, campaign: &str) -> bool {
    let answer =
        Connection::open(address).and_then(|mut connection| connection.send("GET", &format!("/v1/campaigns/{campaign}"), None, None));
    answer.is_ok_and(|answer| answer.status == 200)
}

fn clear(folder: &Path) {
    std::fs::remove_dir_all(folder).ok();
    std::fs::create_dir_all(folder).expect("a folder");
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name");
        if !name.to_string_lossy().ends_with("-shm") {
            std::fs::copy(&path, to.join(name)).expect("a copy");
        }
    }
}

#[test]
fn nothing_is_lost_when_it_is_killed() {
    let found = kill_loop("killed", cycles(20));
    assert!(found.outcomes > 100, "the clients hardly got to work: {found:?}");
    assert_eq!(found.faulty_cycles, 0, "{:#?}", found.first);
}

#[test]
fn nothing_is_lost_when_the_power_fails() {
    let found = power_loop("power", cycles(20), false, Trust::Answers);
    assert!(found.outcomes > 100, "the clients hardly got to work: {found:?}");
    assert_eq!(found.faulty_cycles, 0, "{:#?}", found.first);
}

/// A test of the test: a disk that never syncs must be noticed.
#[test]
fn a_program_that_does_not_sync_is_caught() {
    let found = power_loop("unsynced", 6, true, Trust::Answers);
    assert!(found.faulty_cycles >= 5, "{found:?}");
}

/// A test of the test: answers before the commit must be noticed.
#[test]
fn a_program_that_answers_before_it_writes_is_caught() {
    let found = power_loop("early", 12, false, Trust::Sending);
    assert!(found.faulty_cycles >= 3, "{found:?}");
}

/// A short script over a disk on which the `fail`-th call fails: what was promised until then.
fn script(folder: &Path, disk: &Disk) -> Promises {
    let (promises, is_over) = (Mutex::new(Promises::default()), AtomicBool::new(false));
    let Ok(mut service) = Service::start(folder, disk) else { return promises.into_inner().expect("nobody panicked") };
    if create(&service.address, "c").is_ok_and(|status| status == 201) {
        let client =
            Client { address: &service.address, campaign: "c", number: 1, trust: Trust::Answers, promises: &promises, is_over: &is_over };
        std::thread::scope(|scope| {
            scope.spawn(|| client.run());
            std::thread::sleep(Duration::from_millis(150));
            is_over.store(true, Ordering::Relaxed);
        });
    }
    if service.ended(Duration::from_millis(0)).is_none() {
        service.kill();
    }
    promises.into_inner().expect("nobody panicked")
}

#[test]
fn no_fault_of_the_disk_loses_what_was_acknowledged() {
    let (folder, shadow) = (folder("faults"), folder("faults-shadow"));
    // Early calls make the file; later ones are reports.
    let step = if cycles(0) > 0 { 1 } else { 9 };
    let (mut runs, mut outcomes, mut hit) = (0, 0, 0);
    for (place, error) in ["5", "28", "0"].into_iter().enumerate() {
        for fail in (1 + place..150).step_by(step) {
            clear(&folder);
            clear(&shadow);
            let disk = Disk::shim(&folder, &shadow).with("OUTLAY_SHIM_FAIL", &fail.to_string()).with("OUTLAY_SHIM_ERROR", error);
            let promises = script(&folder, &disk);
            power::cut(&folder, &shadow, None);
            let again = Service::start(&folder, &Disk::default()).unwrap_or_else(|said| panic!("call {fail}, error {error}: {said}"));
            if promises.asked.is_empty() && promises.kept.is_empty() {
                hit += 1;
            } else {
                let faults = check::faults(&again.address, "c", &promises);
                assert_eq!(faults, Vec::<String>::new(), "call {fail}, error {error}");
            }
            again.kill();
            runs += 1;
            outcomes += promises.kept.len();
        }
    }
    println!("faults: {runs} runs, {outcomes} outcomes acknowledged before the fault; {hit} did not get so far");
    assert!(outcomes > 50);
}

#[test]
fn a_full_disk_refuses_writes_serves_reads_and_recovers() {
    let (folder, shadow) = (folder("full"), folder("full-shadow"));
    let sign = folder.with_extension("is-full");
    std::fs::remove_file(&sign).ok();
    let disk = Disk::shim(&folder, &shadow).with("OUTLAY_SHIM_FULL", &sign.display().to_string());
    let mut service = Service::start(&folder, &disk).expect("a start");
    assert_eq!(create(&service.address, "c").expect("an answer"), 201);
    let mut connection = Connection::open(&service.address).expect("a connection");
    let ask = |connection: &mut Connection| connection.send("POST", "/v1/campaigns/c/rounds", None, Some(&json!({}))).expect("an answer");
    assert_eq!(ask(&mut connection).status, 201);
    std::fs::write(&sign, "").expect("a sign");
    let refused = ask(&mut connection);
    assert!(matches!(refused.status, 503 | 507), "{refused:?}");
    assert!(refused.body["detail"].as_str().is_some_and(|detail| detail.contains("disk is full")), "{refused:?}");
    assert_eq!(connection.send("GET", "/v1/campaigns/c", None, None).expect("an answer").status, 200);
    std::fs::remove_file(&sign).expect("the sign");
    assert_eq!(service.ended(Duration::from_millis(50)), None, "a full disk passes");
    let again = ask(&mut connection);
    assert_eq!((again.status, &again.body["rounds"]), (201, &json!([3])), "{again:?}");
    assert!(service.stop().success());
}
