//! The machine's clock jumps, a year back or days forward, while the service is running or down.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::clients::Trust;
use super::found::Found;
use super::http::{Answer, Connection};
use super::service::{Disk, Service};
use super::{check, clear_now_and_then, create, cycles, folder, work};

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// The offset of the service's clock, in a file that the shim reads.
struct Clock(PathBuf);

impl Clock {
    fn new(folder: &Path) -> Self {
        let clock = Self(folder.with_extension("clock"));
        fs::write(&clock.0, 0_i64.to_ne_bytes()).expect("a file");
        clock
    }

    /// Sets the offset in seconds, for running services and for ones started later.
    fn set(&self, off: i64) {
        // Overwrite in place: the service has the file mapped into memory.
        let file = fs::OpenOptions::new().write(true).open(&self.0).expect("a file");
        std::os::unix::fs::FileExt::write_all_at(&file, &off.to_ne_bytes(), 0)
            .expect("eight bytes");
    }
}

#[test]
fn nothing_is_lost_when_the_clock_jumps() {
    let folder = folder("clock");
    let (clock, cycles) = (Clock::new(&folder), cycles(6));
    let disk = Disk::clock(&clock.0);
    let mut found = Found::new("clock", cycles);
    for cycle in 0..cycles {
        clear_now_and_then(&[&folder], cycle);
        let campaign = format!("c{cycle}");
        let service = Service::start(&folder, &disk).expect("a start");
        let mut promises = work(service, &campaign, cycle, Trust::Answers, |draws| {
            for (jump, off) in [-YEAR, DAY, 0, 2 * DAY, -YEAR, 30 * DAY].into_iter().enumerate() {
                std::thread::sleep(Duration::from_secs_f64(0.02 + 0.06 * draws.uniform(jump)));
                clock.set(off);
            }
        });
        // A key is valid for a day of the service's clock; the other test covers keys.
        promises.keys.clear();
        // It restarts at a different time from the one at which it was killed.
        clock.set([-YEAR, 0, YEAR][cycle as usize % 3]);
        let again = Service::start(&folder, &disk).expect("a start at another time");
        let faults = check::faults(&again.address, &campaign, &promises);
        again.kill();
        found.add(1, &promises, faults);
    }
    found.report("6 jumps and a restart at another time in each");
    fs::remove_dir_all(folder).ok();
    found.assert_no_faults();
}

fn ask(line: &mut Connection, key: Option<&str>) -> Answer {
    let answer =
        line.send("POST", "/v1/campaigns/c/rounds", key, Some(&json!({}))).expect("an answer");
    assert_eq!(answer.status, 201, "{answer:?}");
    answer
}

fn tell(line: &mut Connection, round: u64) -> Value {
    let results = json!({ "results": [{ "task": "video", "completed": true, "reward": 0.5 }] });
    let answer = line
        .send("PUT", &format!("/v1/campaigns/c/rounds/{round}/feedback"), None, Some(&results))
        .expect("an answer");
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}

/// The number and status of each round.
fn standing(line: &mut Connection) -> Vec<(u64, String)> {
    let list = line.send("GET", "/v1/campaigns/c/rounds", None, None).expect("an answer").body;
    let one = |round: &Value| {
        (
            round["round"].as_u64().expect("a number"),
            round["status"].as_str().expect("a word").to_owned(),
        )
    };
    list["rounds"].as_array().expect("rounds").iter().map(one).collect()
}

fn all(words: [&str; 3]) -> Vec<(u64, String)> {
    (1..).zip(words.map(str::to_owned)).collect()
}

#[test]
fn rounds_keep_their_order_and_expire_by_the_clock_of_the_moment() {
    let folder = folder("clock-order");
    let clock = Clock::new(&folder);
    let disk = Disk::clock(&clock.0);
    let service = Service::start(&folder, &disk).expect("a start");
    assert_eq!(create(&service.address, "c").expect("an answer"), 201);
    let mut line = Connection::open(&service.address).expect("a connection");
    let first = ask(&mut line, Some("first"));
    clock.set(-YEAR);
    let second = ask(&mut line, Some("second"));
    let year = |answer: &Answer| {
        answer.body["expires_at"].as_str().expect("a time")[..4].parse::<i64>().expect("a year")
    };
    assert_eq!(year(&first) - year(&second), 1, "the clock did not jump: {first:?} {second:?}");
    assert_eq!(
        ask(&mut line, Some("first")).body,
        first.body,
        "a key stays valid when the clock goes back"
    );
    // Killed a year ago, started an hour before the first round expires.
    service.kill();
    clock.set(23 * HOUR);
    let service = Service::start(&folder, &disk).expect("a start at another time");
    let mut line = Connection::open(&service.address).expect("a connection");
    assert_eq!(ask(&mut line, Some("first")).body, first.body, "a key is valid for a day");
    assert_eq!(ask(&mut line, None).body["rounds"], json!([3]), "numbers continue at any time");
    assert_eq!(standing(&mut line), all(["open", "expired", "open"]));
    assert_eq!(
        tell(&mut line, 2),
        json!({ "accepted": 1, "duplicate": 0, "late": 1 }),
        "late counts"
    );
    clock.set(25 * HOUR);
    assert_eq!(standing(&mut line), all(["expired", "expired", "open"]));
    assert_eq!(tell(&mut line, 1), json!({ "accepted": 1, "duplicate": 0, "late": 1 }));
    assert_eq!(
        tell(&mut line, 1),
        json!({ "accepted": 0, "duplicate": 1, "late": 0 }),
        "a repeated report counts once"
    );
    // Expiry is computed when read, so a clock that was wrong for a while does no damage.
    clock.set(0);
    assert_eq!(standing(&mut line), all(["open", "expired", "open"]));
    clock.set(25 * HOUR);
    assert_eq!(
        ask(&mut line, Some("first")).body["rounds"],
        json!([4]),
        "after a day the key is new again"
    );
    let state = line.send("GET", "/v1/campaigns/c", None, None).expect("an answer").body;
    assert_eq!(
        (&state["stats_version"], &state["late"], &state["tasks"][2]["completions"]),
        (&json!(2), &json!(2), &json!(2))
    );
    assert!(service.stop().success());
    fs::remove_dir_all(folder).ok();
}
