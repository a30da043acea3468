//! A store that is killed, and one whose machine loses power, in the middle of its work: nothing acknowledged is lost, nothing is counted
//! twice, nothing is there that nobody sent. What is compared is which rounds, outcomes and corrections are there, not how many.
//!
//! A kill alone proves little: the system keeps what the program has written and not synced. For the loss of power a library of our own
//! (`shim.c`) keeps a shadow of the files that holds only what was synced; of what was not, any sectors may be there too.
//!
//! `CRASH_CYCLES=2000` makes it long. The tests of the tests plant a bug and want it found.

#![cfg(target_os = "linux")]

mod client;
mod cut;
mod ledger;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use outlay_server::store::{SqliteOptions, SqliteStore};

use cut::Disk;
use ledger::Ledger;

fn cycles() -> u64 {
    std::env::var("CRASH_CYCLES").ok().and_then(|cycles| cycles.parse().ok()).unwrap_or(12)
}

/// A store that is served anew from time to time: checking it takes as long as it has become.
const CYCLES_OF_A_STORE: u64 = 40;

pub(crate) fn open(folder: &Path) -> SqliteStore {
    SqliteStore::open(folder, &SqliteOptions { any_file_system: true, ..SqliteOptions::default() }).unwrap()
}

/// The program that is killed: this one, again.
#[test]
#[ignore = "started by the others"]
fn the_program() {
    if let Ok(folder) = std::env::var("CRASH_FOLDER") {
        client::serve(Path::new(&folder));
    }
}

/// Lets clients work on the store for a while and kills the program; what it had acknowledged by then.
fn work_and_kill(folder: &Path, seed: u64, settings: &[(&str, String)]) -> Vec<String> {
    let mut program = Command::new(std::env::current_exe().unwrap())
        .args(["the_program", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env("CRASH_FOLDER", folder)
        .env("CRASH_SEED", seed.to_string())
        .envs(settings.iter().map(|(name, value)| (name, value)))
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let out = program.stdout.take().unwrap();
    let reader =
        std::thread::spawn(move || std::io::BufRead::lines(std::io::BufReader::new(out)).map_while(Result::ok).collect::<Vec<_>>());
    std::thread::sleep(Duration::from_millis(150 + client::mixed(seed) % 350));
    program.kill().unwrap();
    program.wait().unwrap();
    reader.join().unwrap()
}

/// Cycles until the first violation, or all of them.
fn cycle(count: u64, settings: &[(&str, String)], power: Option<&Path>) -> Result<u64, String> {
    let mut acknowledged = 0;
    let mut seed = 0;
    while seed < count {
        let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let disk = Disk::new(place.path(), power);
        let mut ledger = Ledger::default();
        for _ in 0..CYCLES_OF_A_STORE.min(count - seed) {
            seed += 1;
            let settings: Vec<_> = settings.iter().cloned().chain(disk.settings()).collect();
            let lines = work_and_kill(&disk.folder(), seed, &settings);
            disk.cut(seed);
            ledger.take(&lines)?;
            ledger.check(&disk.folder())?;
            disk.settle();
        }
        acknowledged += ledger.len();
    }
    Ok(acknowledged)
}

fn shim() -> PathBuf {
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("power-loss-shim.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/crash/shim.c");
    // Tests run side by side: each has its own until it is whole.
    let partial = library.with_extension(format!("{:?}.so", std::thread::current().id()));
    let made = Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).args([&partial, &source]).arg("-ldl").status().unwrap();
    assert!(made.success(), "cc is needed for this test");
    std::fs::rename(&partial, &library).unwrap();
    library
}

#[test]
fn nothing_is_lost_when_it_is_killed() {
    let acknowledged = cycle(cycles(), &[], None).unwrap();
    assert!(acknowledged > 20 * cycles(), "only {acknowledged} acknowledged: the test tests little");
}

#[test]
fn nothing_is_lost_when_power_is() {
    let acknowledged = cycle(cycles(), &[], Some(&shim())).unwrap();
    assert!(acknowledged > 10 * cycles(), "only {acknowledged} acknowledged: the test tests little");
}

#[test]
fn an_answer_before_the_commit_is_found() {
    let planted = [("CRASH_PLANT", "answer-before-commit".to_owned())];
    let found = cycle(20, &planted, Some(&shim())).unwrap_err();
    assert!(found.contains("lost"), "{found}");
}

#[test]
fn a_commit_without_a_sync_is_found() {
    let planted = [("OUTLAY_NO_SYNC", "1".to_owned())];
    let found = cycle(20, &planted, Some(&shim())).unwrap_err();
    assert!(found.contains("lost"), "{found}");
}
