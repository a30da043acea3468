//! A call to the disk fails, or the disk is full.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::json;

use super::check::{Fault, Kind};
use super::clients::{Client, Promises, Trust};
use super::found::Found;
use super::http::Connection;
use super::service::{Disk, Service};
use super::{
    all_synced, clear, clear_now_and_then, create, cycles, faults_after, folder, power, work,
};

/// Number of times the script asks for rounds.
const STEPS: u64 = 12;

/// Runs a short, fixed script on a disk on which one call fails, and returns what was acknowledged.
/// The script ends by stopping the service, so that the calls made on shutdown are covered too.
fn script(folder: &Path, disk: &Disk) -> Promises {
    let (promises, is_over) = (Mutex::new(Promises::default()), AtomicBool::new(false));
    if let Ok(service) = Service::start(folder, disk) {
        if create(&service.address, "c").is_ok_and(|status| status == 201) {
            let client = Client {
                campaign: "c",
                number: 1,
                trust: Trust::Answers,
                promises: &promises,
                is_over: &is_over,
            };
            // It may break off: the service exits if its disk fails.
            Connection::open(&service.address)
                .and_then(|mut line| client.run_for(&mut line, STEPS))
                .ok();
        }
        service.stop();
    }
    promises.into_inner().expect("no thread panicked")
}

/// Number of calls that the script makes if none fails.
fn calls(folder: &Path, shadow: &Path) -> usize {
    let count = folder.with_extension("count");
    let promises = script(
        folder,
        &Disk::shim(folder, shadow).with("OUTLAY_SHIM_COUNT", &count.display().to_string()),
    );
    assert_eq!(promises.asked.len() as u64, STEPS);
    std::fs::read_to_string(count).expect("a count").trim().parse().expect("a number")
}

#[test]
fn no_fault_of_the_disk_loses_what_was_acknowledged() {
    let (folder, shadow) = (folder("faults"), folder("faults-shadow"));
    let calls = calls(&folder, &shadow);
    // EIO, ENOSPC and a short write.
    let errors = ["5", "28", "0"];
    // A short run takes a sample of the calls, a different one for each error.
    let step = calls.div_ceil(cycles(17) as usize);
    let met = |place: usize| (1 + place * step / errors.len()..=calls).step_by(step);
    let runs: Vec<_> = errors
        .iter()
        .enumerate()
        .flat_map(|(place, error)| met(place).map(move |call| (call, *error)))
        .collect();
    let mut found = Found::new("faults", runs.len() as u64);
    for (call, error) in runs {
        clear(&folder);
        clear(&shadow);
        let disk = Disk::shim(&folder, &shadow)
            .with("OUTLAY_SHIM_FAIL", &call.to_string())
            .with("OUTLAY_SHIM_ERROR", error);
        let promises = script(&folder, &disk);
        power::cut(&folder, &shadow, None);
        // After an early failure nothing was acknowledged; the service must still start.
        let is_early = promises.asked.is_empty() && promises.kept.is_empty();
        let faults = if is_early { starts(&folder) } else { faults_after(&folder, "c", &promises) };
        found.add(
            1,
            &promises,
            faults
                .into_iter()
                .map(|(kind, what)| (kind, format!("call {call}, error {error}: {what}")))
                .collect(),
        );
    }
    let which = if step == 1 { "each" } else { "some" };
    found.report(&format!("{which} of {calls} calls with {} errors", errors.len()));
    found.assert_no_faults();
}

fn starts(folder: &Path) -> Vec<Fault> {
    match Service::start(folder, &Disk::default()) {
        Ok(_) => Vec::new(),
        Err(said) => vec![(Kind::Lost, format!("it does not start: {said}"))],
    }
}

/// The disk is full for a moment while clients work; then the power fails.
#[test]
fn nothing_is_lost_when_the_disk_fills_up() {
    let (folder, shadow, cycles) = (folder("fills"), folder("fills-shadow"), cycles(4));
    let sign = folder.with_extension("is-full");
    std::fs::remove_file(&sign).ok();
    let disk = Disk::shim(&folder, &shadow).with("OUTLAY_SHIM_FULL", &sign.display().to_string());
    let mut found = Found::new("full disk", cycles);
    for cycle in 0..cycles {
        clear_now_and_then(&[&folder, &shadow], cycle);
        let campaign = format!("c{cycle}");
        let service = Service::start(&folder, &disk).expect("a start");
        let promises = work(service, &campaign, cycle, Trust::Answers, |draws| {
            let pause = |place| {
                std::thread::sleep(Duration::from_secs_f64(0.02 + 0.08 * draws.uniform(place)))
            };
            pause(0);
            std::fs::write(&sign, "").expect("the file is created");
            pause(1);
            std::fs::remove_file(&sign).expect("the file is removed");
            pause(2);
        });
        power::cut(&folder, &shadow, None);
        found.add(1, &promises, faults_after(&folder, &campaign, &promises));
        all_synced(&folder, &shadow);
    }
    found.report("");
    found.assert_no_faults();
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
    let ask = |connection: &mut Connection| {
        connection
            .send("POST", "/v1/campaigns/c/rounds", None, Some(&json!({})))
            .expect("an answer")
    };
    assert_eq!(ask(&mut connection).status, 201);
    std::fs::write(&sign, "").expect("the file is created");
    let refused = ask(&mut connection);
    assert!(matches!(refused.status, 503 | 507), "{refused:?}");
    assert!(
        refused.body["detail"].as_str().is_some_and(|detail| detail.contains("disk is full")),
        "{refused:?}"
    );
    assert_eq!(
        connection.send("GET", "/v1/campaigns/c", None, None).expect("an answer").status,
        200
    );
    std::fs::remove_file(&sign).expect("the file is removed");
    assert_eq!(service.ended(Duration::from_millis(50)), None, "the service survives a full disk");
    let again = ask(&mut connection);
    assert_eq!((again.status, &again.body["rounds"]), (201, &json!([3])), "{again:?}");
    assert!(service.stop().success());
}
