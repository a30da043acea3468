//! `outlay amend`: it shows the changes, keeps what was learned, and changes nothing after an
//! error.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use outlay::ledger::Ledger;
use serde_json::{Value, json};

use super::daily::{command, done, fresh, refused};
use super::outlay;

const CHANNELS: &str = r#"
budget = 100.0
reward_max = 2.0
[[task]]
name = "search"
curve = { family = "exponential", scale = 30.0 }
[[task]]
name = "audio"
curve = { family = "exponential", scale = 50.0 }
min = 10.0
"#;

fn write(state: &Path, name: &str, text: &str) -> String {
    let path = state.with_file_name(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A state with one round, whose outcome of "search" is reported.
fn started(name: &str) -> (std::path::PathBuf, String) {
    let state = fresh(name);
    let file = write(&state, "channels.toml", CHANNELS);
    done(&command(&format!("new STATE --problem {file}"), &state, ""));
    done(&command("next STATE --key monday", &state, ""));
    done(&command("tell STATE -", &state, "round,task,completed,reward\n1,search,1,0.5\n"));
    (state, file)
}

fn status(state: &Path) -> Value {
    serde_json::from_str(&done(&command("status STATE --format json", state, ""))).unwrap()
}

#[test]
fn a_task_is_added_retired_and_returns() {
    let (state, file) = started("amend");
    let other =
        CHANNELS.replace("name = \"audio\"", "name = \"podcast\"").replace("100.0", "120.0");
    let other = write(&state, "other.toml", &other);
    let kept = std::fs::read(&state).unwrap();
    let shown = done(&command(&format!("amend STATE {other} --dry-run"), &state, ""));
    assert!(shown.ends_with("is unchanged\n"), "{shown}");
    assert_eq!(std::fs::read(&state).unwrap(), kept);
    let text = done(&command(&format!("amend STATE {other}"), &state, ""));
    assert_eq!(
        text,
        "task       change   before  after\n\
         ─────────────────────────────────\n\
         podcast    added\n\
         audio      retired\n\
         (problem)  budget   100     120\n\n\
         from round 2 on kl-ucb-plus plans 2 tasks with 120 per round\n\
         1 open round keeps its tasks, spends and curves\n"
    );
    // The key of the first round still returns it, and its outcomes can be reported.
    let again = done(&command("next STATE --key monday --format json", &state, ""));
    assert_eq!(serde_json::from_str::<Value>(&again).unwrap()["round"], 1);
    done(&command("tell STATE -", &state, "round,task,completed,reward\n1,audio,1,1.5\n"));
    let next = done(&command("next STATE --format csv", &state, ""));
    assert!(next.contains("podcast") && !next.contains("audio"), "{next}");
    let now = status(&state);
    assert_eq!(now["amendments"][0]["after"], 1);
    assert_eq!(now["amendments"][0]["retired"], json!(["audio"]));
    let audio = &now["tasks"][1];
    assert_eq!(
        (&audio["retired"], &audio["mean"], &audio["next"]),
        (&json!(true), &json!(1.5), &Value::Null)
    );
    let table = done(&command("status STATE", &state, ""));
    assert!(table.contains("audio (retired)") && table.contains("amended after round 1\n"));
    let page = state.with_file_name("page.html");
    done(&command(&format!("status STATE --report {}", page.display()), &state, ""));
    assert!(std::fs::read_to_string(page).unwrap().contains(">retired<"));

    let back = done(&command(&format!("amend STATE {file} --format csv"), &state, ""));
    assert_eq!(
        back,
        "task,change,old,new\npodcast,retired,,\naudio,returned,,\n,budget,120.0,100.0\n"
    );
    assert_eq!(status(&state)["tasks"][1]["mean"], 1.5);
    assert_eq!(done(&command("undo STATE", &state, "")), "1 amendment removed · 1 round open\n");
    assert_eq!(status(&state)["tasks"][1]["retired"], true);
    // A round was planned under the first amendment, so that amendment stays.
    assert_eq!(done(&command("undo STATE", &state, "")), "1 outcome removed · 2 rounds open\n");
}

#[test]
fn misuse_changes_nothing() {
    let (state, file) = started("amend-misuse");
    let kept = std::fs::read(&state).unwrap();
    let with = |name: &str, from: &str, to: &str| write(&state, name, &CHANNELS.replace(from, to));
    let smaller = with("smaller.toml", "reward_max = 2.0", "reward_max = 1.0");
    let poor = with("poor.toml", "min = 10.0", "min = 110.0");
    for (words, message) in [
        (
            "amend STATE --retire sarch".to_owned(),
            "--retire: no task is named sarch; did you mean search?",
        ),
        (
            "amend STATE --retire search --retire audio".to_owned(),
            "--retire: every task would be retired: at least one must stay",
        ),
        (
            format!("amend STATE {smaller}"),
            "smaller.toml: reward_max: cannot decrease from 2 to 1, because rewards up to 2 may be on record",
        ),
        (
            format!("amend STATE {poor}"),
            "budget: min adds up to 110, more than the budget 100: audio 110",
        ),
        ("amend STATE no.toml".to_owned(), "cannot read no.toml: no such file"),
        ("amend STATE".to_owned(), "<PROBLEM>"),
        (format!("amend no-state.json {file}"), "cannot read no-state.json: no such file"),
    ] {
        let said = refused(&command(&words, &state, ""));
        assert!(said.contains(message), "{words}: {said}");
    }
    assert_eq!(std::fs::read(&state).unwrap(), kept);
    let same = done(&command(&format!("amend STATE {file}"), &state, ""));
    assert!(same.ends_with(": nothing changes\n"), "{same}");
    assert_eq!(std::fs::read(&state).unwrap(), kept);

    let state = fresh("amend-grid");
    done(&command(&format!("new STATE --problem {file} --learner grid-ucb"), &state, ""));
    done(&command("next STATE", &state, ""));
    let said = refused(&command("amend STATE --retire audio", &state, ""));
    assert!(
        said.contains("learner `grid-ucb` cannot continue with another problem: its arms are"),
        "{said}"
    );
}

/// A spend that arrives late completes its outcome, and a different one is refused with a hint.
#[test]
fn a_late_spend_completes_its_outcome() {
    let (state, _) = started("late-spend");
    let rows = |spend: &str| format!("round,task,completed,reward,spend\n1,search,1,0.5,{spend}\n");
    assert_eq!(
        done(&command("tell STATE -", &state, &rows("40"))),
        "1 spend added to earlier outcomes · 1 round open\n"
    );
    assert!(status(&state)["tasks"][0]["delivered"].is_number());
    let said = refused(&command("tell STATE -", &state, &rows("41")));
    assert!(said.contains("at spend 41 now, but") && said.ends_with("; --revise replaces it\n"));
    done(&command("tell STATE - --revise", &state, &rows("41")));
    let twice = rows("42") + "1,search,1,0.5,43\n";
    let said = refused(&command("tell STATE - --revise", &state, &twice));
    assert!(!said.contains("--revise"), "{said}");
}

/// Killed at any moment, `amend` has changed the state completely or not at all.
#[test]
fn killed_amendments_leave_no_broken_state() {
    const KILLS: u32 = 60;
    let (state, file) = started("amend-kills");
    let retired = {
        let mut ledger = Ledger::from_json(&std::fs::read_to_string(&state).unwrap()).unwrap();
        // A long history, so that reading and writing take a while.
        (0..3000).for_each(|_| drop(ledger.next(None, &[]).unwrap()));
        std::fs::write(&state, ledger.to_json()).unwrap();
        ["--retire", "audio"]
    };
    let start = |words: &[&str]| {
        let words = [&["amend", state.to_str().unwrap()], words].concat();
        let mut command = outlay(&words);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let since = Instant::now();
    assert!(start(&retired).wait().unwrap().success());
    let usual = since.elapsed();
    let (mut untouched, mut amended) = (0, 0);
    for kill in 0..KILLS {
        let before = std::fs::read_to_string(&state).unwrap();
        let ledger = Ledger::from_json(&before).unwrap();
        let is_retired = ledger.problem().tasks()[1].is_retired();
        let mut child = if is_retired { start(&[&file]) } else { start(&retired) };
        let wait = usual.mul_f64(3.0 * f64::from(kill) / f64::from(KILLS));
        std::thread::sleep(wait.min(Duration::from_secs(1)));
        let _ = child.kill();
        child.wait().unwrap();
        let found = std::fs::read_to_string(&state).unwrap();
        if found == before {
            untouched += 1;
            continue;
        }
        let ledger = Ledger::from_json(&found).unwrap();
        assert_eq!(ledger.to_json(), found);
        assert_ne!(ledger.problem().tasks()[1].is_retired(), is_retired);
        amended += 1;
    }
    assert!(untouched >= 3 && amended >= 3, "{untouched} before, {amended} after");
    done(&command("next STATE", &state, ""));
}
