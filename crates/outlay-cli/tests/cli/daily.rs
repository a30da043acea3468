//! The daily loop: files are always complete, splits match the library, and contradictory reports
//! are refused.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use outlay::campaign::{Campaign, CampaignOptions};
use outlay::feedback::{Feedback, Outcome, Reward};
use outlay::learner::LearnerSpec;
use outlay::ledger::{Entry, Ledger, Settings};
use outlay::random::{Draws, Purpose};
use outlay::{Curve, Problem, ProblemSpec, TaskSpec};
use serde_json::Value;

use super::{outlay, root, run, text};

/// The path of a state in a new folder for one test.
pub(super) fn fresh(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("daily").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder.join("state.json")
}

#[track_caller]
pub(super) fn done(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout).to_owned()
}

#[track_caller]
pub(super) fn refused(output: &Output) -> String {
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""));
    text(&output.stderr).to_owned()
}

pub(super) fn command(words: &str, state: &Path, input: &str) -> Output {
    let state = state.to_str().unwrap();
    run(
        &words
            .split(' ')
            .map(|word| if word == "STATE" { state } else { word })
            .collect::<Vec<_>>(),
        input,
    )
}

/// The outcome of a task in a round, which depends on nothing else.
fn outcome_of(round: u64, task: usize, sees_all: bool) -> Entry {
    let completed = Draws::new(3, Purpose::Completion).round(round).uniform(task) < 0.6;
    let reward = 0.1 * (1 + (round + task as u64) % 9) as f64;
    let reward = (completed || sees_all).then_some(reward);
    Entry { round, task, completions: u64::from(completed), reward, spend: None }
}

/// Entries as the CSV file that `tell` reads.
fn written(problem: &Problem, entries: &[Entry]) -> String {
    let row = |entry: &Entry| {
        let reward = entry.reward.map(|reward| reward.to_string()).unwrap_or_default();
        format!(
            "{},{},{},{reward}\n",
            entry.round,
            problem.tasks()[entry.task].name(),
            entry.completions
        )
    };
    format!("round,task,completed,reward\n{}", entries.iter().map(row).collect::<String>())
}

#[test]
fn the_command_line_is_bit_identical_to_the_library() {
    let file = "examples/ad-channels/ad-channels.toml";
    let problem = Problem::from_toml(
        &std::fs::read_to_string(root().join(file)).unwrap(),
        &outlay::problem::NoFiles,
    )
    .unwrap();
    for name in ["kl-ucb-plus", "thompson", "full", "oful", "lattimore"] {
        let state = fresh(&format!("same-{name}"));
        done(&command(
            &format!("new STATE --problem {file} --learner {name} --seed 9"),
            &state,
            "",
        ));
        let learner: LearnerSpec = name.parse().unwrap();
        let feedback = learner.entry().feedback;
        let mut campaign = {
            let options = CampaignOptions {
                learner: learner.into(),
                seed: 9,
                always_cold: true,
                ..CampaignOptions::default()
            };
            Campaign::new(&problem, options).unwrap()
        };
        for round in 1..=15 {
            let budget = if round % 4 == 0 { 700.0 } else { 1000.0 };
            let answer: Value = serde_json::from_str(&done(&command(
                &format!("next STATE --budget {budget} --format json"),
                &state,
                "",
            )))
            .unwrap();
            let spends: Vec<f64> = answer["tasks"]
                .as_array()
                .unwrap()
                .iter()
                .map(|task| task["spend"].as_f64().unwrap())
                .collect();
            assert_eq!(
                (answer["round"].as_u64(), answer["budget"].as_f64()),
                (Some(round), Some(budget))
            );
            assert_eq!(
                spends,
                campaign.allocate(budget, None).unwrap().allocation.spend,
                "{name} in round {round}"
            );
            let entries: Vec<Entry> =
                (0..6).map(|task| outcome_of(round, task, feedback == Feedback::Full)).collect();
            done(&command("tell STATE -", &state, &written(&problem, &entries)));
            let outcome =
                |entry: &Entry| match (entry.completions > 0, entry.reward.map(Reward::from_share))
                {
                    (true, Some(reward)) => Outcome::Done(reward),
                    (false, Some(reward)) => Outcome::Forgone(reward),
                    _ => Outcome::Failed,
                };
            campaign
                .observe_round(round, &entries.iter().map(outcome).collect::<Vec<_>>())
                .unwrap();
        }
    }
}

/// A ledger so long that writing it takes a while.
fn long_ledger() -> Ledger {
    let task = |place: usize| {
        TaskSpec::new(
            format!("task {place}"),
            Curve::power(0.3 + 0.02 * place as f64, 10.0).unwrap(),
        )
    };
    let problem =
        ProblemSpec { budget: 10.0, tasks: (0..20).map(task).collect(), ..ProblemSpec::default() }
            .check()
            .unwrap();
    let mut ledger = Ledger::new(&problem, Settings::default()).unwrap();
    for round in 1..=400 {
        ledger.next(None, &[]).unwrap();
        if round <= 100 {
            ledger
                .report(&(0..20).map(|task| outcome_of(round, task, false)).collect::<Vec<_>>())
                .unwrap();
        }
    }
    ledger
}

/// A killed `tell` has recorded everything or nothing, and the next command works.
#[test]
fn two_hundred_kills_leave_no_broken_state() {
    const KILLS: u32 = 200;
    /// The longest wait before a kill, in units of the usual time of `tell`: most of them have
    /// ended by then, even if the machine has become slower.
    const LONGEST: f64 = 3.0;
    let state = fresh("kills");
    let mut ledger = long_ledger();
    std::fs::write(&state, ledger.to_json()).unwrap();
    let outcomes = state.with_file_name("outcomes.csv");
    let tell = |outcomes: &Path| {
        let mut command = outlay(&["tell", state.to_str().unwrap(), outcomes.to_str().unwrap()]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    // The time of an undisturbed `tell`.
    std::fs::write(&outcomes, written(ledger.problem(), &[outcome_of(101, 0, false)])).unwrap();
    let since = Instant::now();
    assert!(tell(&outcomes).wait().unwrap().success());
    let usual = since.elapsed();
    ledger.report(&[outcome_of(101, 0, false)]).unwrap();
    let (mut untouched, mut recorded) = (0, 0);
    for kill in 0..KILLS {
        let entries: Vec<Entry> =
            (0..20).map(|task| outcome_of(102 + u64::from(kill), task, false)).collect();
        std::fs::write(&outcomes, written(ledger.problem(), &entries)).unwrap();
        let before = ledger.to_json();
        let mut child = tell(&outcomes);
        std::thread::sleep(
            usual.mul_f64(LONGEST * f64::from(kill) / f64::from(KILLS)).min(Duration::from_secs(1)),
        );
        // SIGKILL; the process may already have ended.
        let _ = child.kill();
        child.wait().unwrap();
        let found = std::fs::read_to_string(&state).unwrap();
        if found == before {
            untouched += 1;
            continue;
        }
        ledger.report(&entries).unwrap();
        assert!(
            found == ledger.to_json(),
            "kill {kill} left a state that is neither the old nor the new one"
        );
        recorded += 1;
    }
    assert!(
        untouched >= 10 && recorded >= 10,
        "the kills came too early or too late: {untouched} before, {recorded} after"
    );
    // The lock is free.
    done(&command("next STATE", &state, ""));
}

#[test]
fn concurrent_processes_issue_different_rounds() {
    let state = fresh("meeting");
    done(&command("new STATE --problem examples/shop-ads.toml", &state, ""));
    let start = || {
        outlay(&["next", state.to_str().unwrap(), "--format", "json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let children: Vec<_> = (0..12).map(|_| start()).collect();
    let mut rounds: Vec<u64> = children
        .into_iter()
        .map(|child| serde_json::from_str::<Value>(&done(&child.wait_with_output().unwrap())).unwrap()["round"].as_u64().unwrap())
        .collect();
    rounds.sort_unstable();
    assert_eq!(rounds, (1..=12).collect::<Vec<u64>>());
}

#[test]
fn invalid_reports_are_refused_with_their_lines_and_nothing_is_written() {
    let state = fresh("refused");
    done(&command("new STATE --problem examples/ad-channels/ad-channels.toml", &state, ""));
    done(&command("next STATE --without audio", &state, ""));
    done(&command("tell STATE -", &state, "round,task,completed,reward\n1,search,1,0.5\n"));
    let before = std::fs::read(&state).unwrap();
    let tells = [
        (
            "round,task,completed,reward\n1,search,1,0.25\n1,social,TRUE,0.5\n1,social,0.0,\n2,video,0,\n1,serch,1,1\n1,audio,0,\n1,video,1,\n\
             x,video,1,1\n1,video,maybe,1\n1,video,1,7\n1,display\n1,display,,0.5\n",
            "error: standard input has 11 errors\n  \
             line 6: no task is named serch; did you mean search?\n  \
             line 9: round: must be a whole number of at least 1, not \"x\"\n  \
             line 10: completed: must be 1 or 0 (or true, false), not \"maybe\"; if a word means success, give it with --true\n  \
             line 12: 2 fields, but the header has 4\n  \
             line 13: reward is given, but completed is empty\n  \
             line 2: round 1, task search: completed with reward 0.25 now, but completed with reward 0.5 before; --revise replaces it\n  \
             line 4: round 1, task social: failed now, but completed with reward 0.5 before; --revise replaces it\n  \
             line 5: round 2 was never issued: rounds go from 1 to 1\n  \
             line 7: task audio was left out of round 1, so it has no outcome\n  \
             line 8: task video completed, but its reward is missing: give its reward, or 0\n  \
             line 11: reward of video: must be between 0 and reward_max 1, not 7\n",
        ),
        (
            "round,task,done\n",
            "error: standard input has 1 error\n  \
             line 1: no column completed (outcomes have the columns round, task, completed (or completions), reward and, if known, spend); the file has round, task, done\n",
        ),
    ];
    for (input, expected) in tells {
        assert_eq!(refused(&command("tell STATE -", &state, input)), expected);
        assert_eq!(std::fs::read(&state).unwrap(), before);
    }
}

#[test]
fn missing_existing_and_damaged_states_have_different_errors() {
    let state = fresh("states");
    let path = state.display().to_string();
    let missing = format!(
        "error: cannot read {path}: no such file; `outlay new {path} --problem FILE` creates a state\n"
    );
    for words in ["next STATE", "status STATE", "undo STATE", "tell STATE -"] {
        assert_eq!(refused(&command(words, &state, "round,task,completed\n")), missing);
    }
    assert_eq!(
        std::fs::read_dir(state.parent().unwrap()).unwrap().count(),
        0,
        "files were left beside a missing state"
    );
    done(&command("new STATE --problem power", &state, ""));
    let taken = format!(
        "error: {path} already exists: continue with `outlay next {path}`, or give another file\n"
    );
    assert_eq!(refused(&command("new STATE --problem power", &state, "")), taken);
    let whole = std::fs::read_to_string(&state).unwrap();
    std::fs::write(&state, &whole[..whole.len() / 2]).unwrap();
    assert!(
        refused(&command("next STATE", &state, ""))
            .starts_with(&format!("error: {path}: is not JSON: "))
    );
    let other = refused(&command(
        "new STATE --problem examples/m-set.toml --learner algorithm-1",
        &fresh("other"),
        "",
    ));
    assert!(other.contains("horizon"), "{other}");
}

#[test]
fn the_page_of_a_status_shows_the_learner_and_changes_nothing() {
    let state = fresh("page");
    done(&command("new STATE --problem examples/ad-channels/ad-channels.toml", &state, ""));
    let page = state.with_file_name("page.html");
    let report = |expected: &[&str]| {
        let plain = done(&command("status STATE", &state, ""));
        let before = std::fs::read(&state).unwrap();
        let output = command(&format!("status STATE --report {}", page.display()), &state, "");
        assert_eq!(done(&output), plain);
        assert_eq!(text(&output.stderr), format!("report: {}\n", page.display()));
        assert_eq!(std::fs::read(&state).unwrap(), before);
        let html = std::fs::read_to_string(&page).unwrap();
        expected.iter().for_each(|words| assert!(html.contains(words), "{words}"));
    };
    report(&["current", "next round"]);
    done(&command("next STATE", &state, ""));
    done(&command("tell STATE -", &state, "round,task,completed,reward\n1,search,1,0.25\n"));
    report(&["last round", "next round", "bonus", "expected completions", "0.2500"]);
    let own = command(&format!("status STATE --report {}", state.display()), &state, "");
    assert!(refused(&own).contains("is an input of this command"));
}

/// The copy of the problem in the state is complete, for all curves and file references.
#[test]
fn the_state_keeps_the_whole_problem() {
    let examples = [
        "ad-channels/ad-channels",
        "auctions/auctions",
        "llm-compute/llm-compute",
        "training-jobs",
        "many-tasks",
        "m-set",
        "repairs",
    ];
    for name in examples {
        let file = format!("examples/{name}.toml");
        let state = fresh(&format!("whole-{}", name.replace('/', "-")));
        done(&command(&format!("new STATE --problem {file}"), &state, ""));
        done(&command("next STATE", &state, ""));
        done(&command("status STATE", &state, ""));
        let kept: Value = serde_json::from_str(&std::fs::read_to_string(&state).unwrap()).unwrap();
        let copy = state.with_file_name("copy.json");
        std::fs::write(&copy, kept["problem"].to_string()).unwrap();
        let allocate = |problem: &str| done(&run(&["allocate", problem, "--format", "json"], ""));
        assert_eq!(allocate(copy.to_str().unwrap()), allocate(&file), "{name}");
    }
}

/// Equal outcomes in different formats give the same state.
#[test]
fn outcomes_in_json_are_those_in_csv() {
    let csv = "round,task,completed,reward,spend\n1,search,1,0.5,90.5\n1,social,0,,\n1,video,,,\n";
    let forms = [
        r#"[{"round": 1, "task": "search", "completed": true, "reward": 0.5, "spend": 90.5},
            {"round": 1, "task": "social", "completed": 0, "reward": null},
            {"round": 1, "task": "video", "completed": null}]"#,
        r#"{"round": 1, "results": [
            {"task": "search", "completions": 1, "reward": 0.5, "spend": 90.5},
            {"task": "social", "completed": false}, {"task": "video"}]}"#,
        "{\"round\":1,\"task\":\"search\",\"completed\":1,\"reward\":0.5,\"spend\":90.5}\n\
         {\"round\":1,\"task\":\"social\",\"completions\":0}\r\n{\"round\":1,\"task\":\"video\"}\n",
    ];
    let told = |name: &str, input: &str| {
        let state = fresh(name);
        done(&command("new STATE --problem examples/ad-channels/ad-channels.toml", &state, ""));
        done(&command("next STATE", &state, ""));
        let printed = done(&command("tell STATE -", &state, input));
        assert_eq!(printed, "2 outcomes recorded · 1 still empty · 1 round open\n", "{input}");
        std::fs::read_to_string(&state).unwrap()
    };
    let expected = told("forms-csv", csv);
    for (place, form) in forms.iter().enumerate() {
        assert_eq!(told(&format!("forms-{place}"), form), expected, "{form}");
    }
}

#[test]
fn invalid_json_outcomes_are_refused_with_their_places() {
    let state = fresh("refused-json");
    done(&command("new STATE --problem examples/ad-channels/ad-channels.toml", &state, ""));
    done(&command("next STATE", &state, ""));
    let before = std::fs::read(&state).unwrap();
    let tells = [
        (
            r#"[{"round": 1, "task": "search", "completed": 2}, 7,
                {"round": 1, "task": "serch", "completed": 1},
                {"task": "video", "completed": 1}, {"round": 1, "task": "video", "done": 1},
                {"round": 1, "task": "video", "completed": 1, "completions": 1},
                {"round": 1, "task": "video", "reward": 0.5},
                {"round": 1, "task": "social", "completed": 1, "reward": 7},
                {"round": 2, "task": "social", "completed": 0}]"#,
            "error: standard input has 9 errors\n  \
             outcome 1: completed: must be true, false, 1 or 0, not 2\n  \
             outcome 2: must be an object with round, task, completed or completions, reward and \
             spend, not 7\n  \
             outcome 3: no task is named serch; did you mean search?\n  \
             outcome 4: round is missing\n  \
             outcome 5: unknown field `done`, expected one of `round`, `task`, `completed`, \
             `completions`, `reward`, `spend`\n  \
             outcome 6: has both completed and completions: give one of them\n  \
             outcome 7: has a reward, but neither completed nor completions\n  \
             outcome 8: reward of social: must be between 0 and reward_max 1, not 7\n  \
             outcome 9: round 2 was never issued: rounds go from 1 to 1\n",
        ),
        (
            r#"{"round": 1, "results": [{"round": 2, "task": "video", "completed": 0}]}"#,
            "error: standard input has 1 error\n  \
             outcome 1: has round 2, but its list has round 1\n",
        ),
        (
            "[{\"round\": 1, \"task\": \"video\",\n \"completed\": ]",
            "error: standard input has 1 error\n  \
             is not JSON: expected value at line 2 column 15\n",
        ),
    ];
    for (input, expected) in tells {
        assert_eq!(refused(&command("tell STATE -", &state, input)), expected);
        assert_eq!(std::fs::read(&state).unwrap(), before);
    }
}

#[test]
fn a_round_can_be_repeated_shown_and_cancelled() {
    let state = fresh("keys");
    let json = |words: &str| -> Value {
        serde_json::from_str(&done(&command(&format!("{words} --format json"), &state, "")))
            .unwrap()
    };
    let created = json("new STATE --problem examples/ad-channels/ad-channels.toml");
    assert_eq!((&created["learner"], &created["tasks"]), (&"kl-ucb-plus".into(), &6.into()));
    let first = json("next STATE --key 2026-11-17 --round 0.01");
    let kept = std::fs::read(&state).unwrap();
    assert_eq!(json("next STATE --key 2026-11-17 --round 0.01"), first);
    assert_eq!(std::fs::read(&state).unwrap(), kept);
    assert_eq!(json("show STATE 1"), first);
    for task in first["tasks"].as_array().unwrap() {
        let cents = 100.0 * task["spend"].as_f64().unwrap();
        assert!((cents - cents.round()).abs() < 1e-6, "{task}");
    }
    let table = done(&command("next STATE --key 2026-11-17", &state, ""));
    assert_eq!(done(&command("show STATE 1", &state, "")), table);
    assert!(table.starts_with("round 1 · budget 1,000 · key 2026-11-17\n"), "{table}");
    let form = done(&command("show STATE 1 --format csv", &state, ""));
    assert!(form.starts_with("round,task,spend,completed,reward\n1,search,"), "{form}");
    assert_eq!(json("next STATE")["round"], 2);
    assert_eq!(json("cancel STATE 1"), serde_json::json!({"cancelled": 1, "open_rounds": 1}));
    assert_eq!(json("show STATE 1")["cancelled"], true);
    assert_eq!(json("status STATE")["cancelled"], serde_json::json!([1]));
    assert_eq!(json("next STATE --key 2026-11-17")["round"], 3);
    let second = "round,task,completed,reward\n2,search,1,0.5\n";
    done(&command("tell STATE -", &state, second));
    let kept = std::fs::read(&state).unwrap();
    for (words, input, message) in [
        ("cancel STATE 2", "", "round 2 has reported outcomes (1), so it cannot be cancelled"),
        ("cancel STATE 1", "", "round 1 is already cancelled"),
        ("cancel STATE 9", "", "round 9 was never issued: rounds go from 1 to 3"),
        ("show STATE 9", "", "round 9 was never issued: rounds go from 1 to 3"),
        (
            "next STATE --key 2026-11-17 --budget 7",
            "",
            "key 2026-11-17: round 3 was issued for it with another budget, other tasks, or other scales or volumes; use \
             another key, or cancel the round",
        ),
    ] {
        assert_eq!(refused(&command(words, &state, input)), format!("error: {message}\n"));
    }
    assert_eq!(std::fs::read(&state).unwrap(), kept);
    assert_eq!(json("undo STATE"), serde_json::json!({"removed": 1, "open_rounds": 2}));
}

#[test]
fn corrections_replace_outcomes() {
    let state = fresh("revise");
    done(&command("new STATE --problem examples/ad-channels/ad-channels.toml", &state, ""));
    done(&command("next STATE", &state, ""));
    let rows = |reward: &str| format!("round,task,completed,reward\n1,search,1,{reward}\n");
    done(&command("tell STATE -", &state, &rows("0.5")));
    refused(&command("tell STATE -", &state, &rows("0.75")));
    let more = rows("0.75") + "1,social,0,\n";
    assert_eq!(
        done(&command("tell STATE - --revise", &state, &more)),
        "1 outcome recorded · 1 outcome revised · 1 round open\n"
    );
    let kept = std::fs::read(&state).unwrap();
    assert_eq!(
        done(&command("tell STATE - --revise", &state, &more)),
        "nothing new · 2 already recorded · 1 round open\n"
    );
    assert_eq!(std::fs::read(&state).unwrap(), kept);
    let mean = || -> Value {
        let status = done(&command("status STATE --format json", &state, ""));
        serde_json::from_str::<Value>(&status).unwrap()["tasks"][0]["mean"].clone()
    };
    assert_eq!(mean(), 0.75);
    done(&command("undo STATE", &state, ""));
    assert_eq!(mean(), 0.5);
}

/// A state written before keys, cancelled rounds, counts and revisions existed.
#[test]
fn states_without_the_new_keys_load_and_stay_unchanged() {
    let state = fresh("old");
    done(&command("new STATE --problem examples/shop-ads.toml", &state, ""));
    done(&command("next STATE", &state, ""));
    let text = std::fs::read_to_string(&state).unwrap();
    for key in ["\"key\"", "cancelled", "revises", "completions", "volume", "amendments", "retired"]
    {
        assert!(!text.contains(key), "{key} is written only if it is used");
    }
}
