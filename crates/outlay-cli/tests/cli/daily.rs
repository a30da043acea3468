//! The daily loop: what is on file is whole, what the library would do is done, what contradicts is
//! refused.

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

/// A file in a folder of this test's own, which is not there yet.
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

/// What comes back in the world of these tests, from the round and the task alone.
fn comes_back(round: u64, task: usize, sees_all: bool) -> Entry {
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
fn a_loop_through_the_command_line_gives_the_librarys_splits_bit_for_bit() {
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
                (0..6).map(|task| comes_back(round, task, feedback == Feedback::Full)).collect();
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

/// A state long enough that writing it takes a while.
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
                .report(&(0..20).map(|task| comes_back(round, task, false)).collect::<Vec<_>>())
                .unwrap();
        }
    }
    ledger
}

/// Killed at any moment, `tell` has told everything or nothing, and the next one works.
#[test]
fn two_hundred_kills_leave_no_broken_state() {
    const KILLS: u32 = 200;
    /// The last kills come after so many times what a `tell` usually takes: most are done then,
    /// also on a machine that has become slower.
    const LONGEST: f64 = 3.0;
    let state = fresh("kills");
    let mut ledger = long_ledger();
    std::fs::write(&state, ledger.to_json()).unwrap();
    let outcomes = state.with_file_name("outcomes.csv");
    let tell = |outcomes: &Path| {
        let mut command = outlay(&["tell", state.to_str().unwrap(), outcomes.to_str().unwrap()]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    // How long an undisturbed one takes, on this machine at this moment.
    std::fs::write(&outcomes, written(ledger.problem(), &[comes_back(101, 0, false)])).unwrap();
    let since = Instant::now();
    assert!(tell(&outcomes).wait().unwrap().success());
    let usual = since.elapsed();
    ledger.report(&[comes_back(101, 0, false)]).unwrap();
    let (mut untouched, mut told) = (0, 0);
    for kill in 0..KILLS {
        let entries: Vec<Entry> =
            (0..20).map(|task| comes_back(102 + u64::from(kill), task, false)).collect();
        std::fs::write(&outcomes, written(ledger.problem(), &entries)).unwrap();
        let before = ledger.to_json();
        let mut child = tell(&outcomes);
        std::thread::sleep(
            usual.mul_f64(LONGEST * f64::from(kill) / f64::from(KILLS)).min(Duration::from_secs(1)),
        );
        // SIGKILL; a process that is done already does not mind.
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
            "kill {kill} left a state that is neither before nor after"
        );
        told += 1;
    }
    assert!(
        untouched >= 10 && told >= 10,
        "the kills came too early or too late to say anything: {untouched} before, {told} after"
    );
    // Nobody holds the lock.
    done(&command("next STATE", &state, ""));
}

#[test]
fn processes_that_meet_do_not_hand_out_the_same_round() {
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
fn what_cannot_be_told_is_refused_with_its_lines_and_nothing_is_written() {
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
             line 2: round 1, task search: completed with reward 0.25 now, but completed with reward 0.5 before\n  \
             line 4: round 1, task social: failed now, but completed with reward 0.5 before\n  \
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
fn states_that_are_missing_taken_or_damaged_are_told_apart() {
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
        "nothing is left beside a file that never was"
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
fn the_page_of_a_status_has_what_the_learner_knows_and_changes_nothing() {
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

/// The copy in the state is the problem, whatever its curves and wherever they were read from.
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
