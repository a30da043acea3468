//! The service is killed, loses power, meets disk errors or a clock that jumps, alone or as one of
//! several replicas. No acknowledged outcome is lost, counted twice or invented.
//!
//! `OUTLAY_CRASH_CYCLES` is the number of cycles of each loop. `tests/crash/long` runs the long
//! form of all of them, and `tests/crash/soak` watches the memory of one undisturbed process.

#![allow(unreachable_pub, reason = "a test of several files")]

mod check;
mod clients;
mod clock;
mod cluster;
mod compaction;
mod disk;
mod found;
mod http;
mod power;
mod replicas;
mod service;
mod soak;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use check::{Fault, Kind};
use clients::{Client, Promises, Trust};
use found::Found;
use http::Connection;
use outlay::random::{Draws, Purpose, RoundDraws};
use serde_json::json;
use service::{Disk, Service};

const CLIENTS: u64 = 8;

/// Waits for a random time.
fn pause(draws: &RoundDraws) {
    std::thread::sleep(Duration::from_secs_f64(0.03 + 0.2 * draws.uniform(0)));
}

/// Number of cycles of a loop; `few` unless `OUTLAY_CRASH_CYCLES` is set.
fn cycles(few: u64) -> u64 {
    std::env::var("OUTLAY_CRASH_CYCLES").ok().and_then(|cycles| cycles.parse().ok()).unwrap_or(few)
}

/// Creates an empty folder on the disk of the repository.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("crash-{name}"));
    std::fs::remove_dir_all(&folder).ok();
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Empties the folders every 50 cycles. The service reads its folder at each start, so thousands of
/// cycles over one folder would mostly be spent reading.
fn clear_now_and_then(folders: &[&Path], cycle: u64) {
    if cycle.is_multiple_of(50) {
        folders.iter().for_each(|folder| clear(folder));
    }
}

fn create(address: &str, campaign: &str) -> std::io::Result<u16> {
    let body = json!({ "problem": clients::problem() });
    Ok(Connection::open(address)?
        .send("PUT", &format!("/v1/campaigns/{campaign}"), None, Some(&body))?
        .status)
}

/// Runs clients, then `meanwhile`, then kills the service; returns what was acknowledged.
fn work(
    service: Service,
    campaign: &str,
    cycle: u64,
    trust: Trust,
    meanwhile: impl FnOnce(&RoundDraws),
) -> Promises {
    assert_eq!(create(&service.address, campaign).expect("an answer"), 201);
    let (promises, is_over) = (Mutex::new(Promises::default()), AtomicBool::new(false));
    let address = service.address.clone();
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (address, promises, is_over) = (&address, &promises, &is_over);
            let client =
                Client { campaign, number: cycle * CLIENTS + number, trust, promises, is_over };
            // A client ends when its connection breaks.
            scope.spawn(move || {
                Connection::open(address).and_then(|mut line| client.run(&mut line))
            });
        }
        meanwhile(&Draws::new(cycle, Purpose::Delay).round(1));
        service.kill();
        is_over.store(true, Ordering::Relaxed);
    });
    promises.into_inner().expect("no thread panicked")
}

fn kill_loop(name: &str, cycles: u64) -> Found {
    let folder = folder(name);
    let mut found = Found::new(name, cycles);
    for cycle in 0..cycles {
        clear_now_and_then(&[&folder], cycle);
        let campaign = format!("c{cycle}");
        let service = Service::start(&folder, &Disk::default()).expect("a start");
        let promises = work(service, &campaign, cycle, Trust::Answers, pause);
        let again = Service::start(&folder, &Disk::default()).expect("a start after a kill");
        let faults = check::faults(&again.address, &campaign, &promises);
        again.kill();
        found.add(1, &promises, faults);
    }
    std::fs::remove_dir_all(folder).ok();
    found
}

/// The faults in a folder left by a power cut.
fn faults_after(folder: &Path, campaign: &str, promises: &Promises) -> Vec<Fault> {
    let again = match Service::start(folder, &Disk::default()) {
        Ok(again) => again,
        Err(said) => return vec![(Kind::Lost, format!("it does not start: {said}"))],
    };
    let faults = if is_there(&again.address, campaign) {
        check::faults(&again.address, campaign, promises)
    } else {
        vec![(Kind::Lost, "the campaign is lost".to_owned())]
    };
    again.kill();
    faults
}

fn power_loop(name: &str, cycles: u64, lies: bool, trust: Trust) -> Found {
    let (folder, shadow) = (folder(name), folder(&format!("{name}-shadow")));
    let disk = Disk::shim(&folder, &shadow);
    let disk = if lies { disk.with("OUTLAY_SHIM_LIE", "1") } else { disk };
    let mut found = Found::new(name, cycles);
    for cycle in 0..cycles {
        clear_now_and_then(&[&folder, &shadow], cycle);
        let campaign = format!("c{cycle}");
        let service = Service::start(&folder, &disk).expect("a start");
        let promises = work(service, &campaign, cycle, trust, pause);
        let draws = Draws::new(cycle, Purpose::Availability).round(1);
        power::cut(&folder, &shadow, (cycle % 2 == 1).then_some(&draws));
        let faults = faults_after(&folder, &campaign, &promises);
        found.add(1, &promises, faults);
        if lies {
            // The store may be damaged: start over.
            clear(&folder);
            clear(&shadow);
        } else {
            all_synced(&folder, &shadow);
        }
    }
    std::fs::remove_dir_all(folder).ok();
    std::fs::remove_dir_all(shadow).ok();
    found
}

fn is_there(address: &str, campaign: &str) -> bool {
    let answer = Connection::open(address).and_then(|mut connection| {
        connection.send("GET", &format!("/v1/campaigns/{campaign}"), None, None)
    });
    answer.is_ok_and(|answer| answer.status == 200)
}

fn clear(folder: &Path) {
    std::fs::remove_dir_all(folder).ok();
    std::fs::create_dir_all(folder).expect("a folder");
}

/// Copies the folder: data written without the shim counts as synced.
fn all_synced(from: &Path, to: &Path) {
    clear(to);
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
    found.report("");
    assert!(found.amendments > 0, "the problem was never changed: {found:?}");
    found.assert_no_faults();
}

#[test]
fn nothing_is_lost_when_the_power_fails() {
    let found = power_loop("power", cycles(20), false, Trust::Answers);
    found.report("");
    assert!(found.amendments > 0, "the problem was never changed: {found:?}");
    found.assert_no_faults();
}

/// Checks the test itself: a disk that never syncs must be detected.
#[test]
fn a_program_that_does_not_sync_is_caught() {
    let found = power_loop("unsynced", 6, true, Trust::Answers);
    assert!(found.faulty_cycles >= 5, "{found:?}");
}

/// Checks the test itself: answers before the commit must be detected.
#[test]
fn a_program_that_answers_before_it_writes_is_caught() {
    let found = power_loop("early", 12, false, Trust::Sending);
    assert!(found.faulty_cycles >= 3, "{found:?}");
}
