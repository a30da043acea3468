//! `reward_over_max = "clip"`: what `tell`, `status`, `replay`, `simulate` and `check` say about it.

use std::path::Path;

use serde_json::Value;

use super::daily::{command, done, fresh, refused};
use super::{run, text};

const CHANNELS: &str = r#"
budget = 100.0
reward_max = 2.0
reward_over_max = "clip"
[[task]]
name = "search"
curve = { family = "exponential", scale = 30.0 }
[[task]]
name = "audio"
curve = { family = "exponential", scale = 50.0 }
"#;

fn write(state: &Path, name: &str, text: &str) -> String {
    let path = state.with_file_name(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn the_daily_loop_counts_clipped_rewards() {
    let state = fresh("clipped");
    let file = write(&state, "channels.toml", CHANNELS);
    done(&command(&format!("new STATE --problem {file}"), &state, ""));
    done(&command("next STATE", &state, ""));
    let rows = "round,task,completed,reward\n1,search,1,2.5\n1,audio,1,1.5\n";
    assert_eq!(
        done(&command("tell STATE -", &state, rows)),
        "2 outcomes recorded · 1 reward clipped to reward_max · 0 rounds open\n"
    );
    let again = done(&command("tell STATE - --format json", &state, rows));
    let again: Value = serde_json::from_str(&again).unwrap();
    assert_eq!((&again["repeated"], &again["clipped"]), (&2.into(), &0.into()));
    // The record has the reported reward, so another one is a contradiction, line ends or not.
    let error =
        refused(&command("tell STATE -", &state, &rows.replace("2.5", "3").replace('\n', "\r\n")));
    assert!(error.contains("line 2: round 1, task search: completed with reward 3 now, but completed with reward 2.5 before"), "{error}");
    let shown = done(&command("status STATE", &state, ""));
    let line = "1 reward above reward_max, clipped to 2 per completion: search (1)\n";
    assert!(shown.contains(line), "{shown}");
    assert!(shown.contains("gained 3.500 for 100"), "{shown}");
    let status: Value =
        serde_json::from_str(&done(&command("status STATE --format json", &state, ""))).unwrap();
    assert_eq!((&status["clipped"], &status["tasks"][0]["clipped"]), (&1.into(), &1.into()));
    assert_eq!((&status["gain"], &status["tasks"][0]["mean"]), (&3.5.into(), &2.0.into()));
    // Without the key the same report is refused.
    let strict = write(&state, "strict.toml", &CHANNELS.replace("\"clip\"", "\"refuse\""));
    let amended = done(&command(&format!("amend STATE {strict}"), &state, ""));
    assert!(amended.contains("reward_over_max"), "{amended}");
    done(&command("next STATE", &state, ""));
    let late = "round,task,completed,reward\r\n2,search,1,2\r\n2,audio,1,2.5\r\n";
    let error = refused(&command("tell STATE -", &state, late));
    assert!(
        error.contains("line 3: reward of audio: must be between 0 and reward_max 2, not 2.5"),
        "{error}"
    );
}

#[test]
fn replays_say_how_many_rewards_are_clipped() {
    let state = fresh("clipped-replay");
    let file = write(&state, "channels.toml", CHANNELS);
    let mut rows = "task,threshold,reward\n".to_owned();
    for row in 0..40 {
        let reward = if row % 8 == 0 { 9.0 } else { 1.0 };
        rows += &format!("search,{},{reward}\naudio,{},{reward}\n", row + 1, 2 * row + 1);
    }
    let log = write(&state, "log.csv", &rows);
    let replay = |problem: &str, more: &[&str]| {
        let words = ["replay", problem, &log, "--rounds", "20", "--replications", "2"];
        run(&[&words, more].concat(), "")
    };
    let output = replay(&file, &["--format", "json"]);
    let found: Value = serde_json::from_str(&done(&output)).unwrap();
    assert_eq!(found["clipped"], 10);
    let remark = "10 rows with a reward above reward_max, clipped to 2 per completion";
    assert!(text(&output.stderr).contains(remark), "{}", text(&output.stderr));
    // Those of the first part, which are not replayed, count too.
    let output = replay(&file, &["--split-at", "0.5"]);
    done(&output);
    assert!(text(&output.stderr).contains(remark), "{}", text(&output.stderr));
    let strict = write(&state, "strict.toml", &CHANNELS.replace("\"clip\"", "\"refuse\""));
    let error = refused(&replay(&strict, &[]));
    let line = "line 2: reward: 9 is above reward_max = 2 of the problem; increase reward_max, or \
                set reward_over_max = \"clip\"";
    assert!(error.contains(line), "{error}");
}

#[test]
fn recorded_rewards_of_problems_are_clipped_with_a_remark() {
    let state = fresh("clipped-samples");
    write(&state, "rewards.csv", "reward\n0.5\n9\n2.5\n");
    let reward = "reward = { law = \"empirical\", file = \"rewards.csv\", column = \"reward\" }\n";
    let text_of = CHANNELS.replace(
        "[[task]]\nname = \"audio\"",
        &format!("{reward}[[task]]\nname = \"audio\"\nvalue = 1"),
    );
    let file = write(&state, "channels.toml", &text_of);
    let remark = "2 recorded rewards above reward_max 2 counted as 2";
    let check = done(&run(&["check", &file], ""));
    assert!(check.contains(remark), "{check}");
    let words = ["simulate", &file, "--horizon", "10", "--replications", "2", "--format", "csv"];
    let output = run(&words, "");
    done(&output);
    assert!(text(&output.stderr).contains(remark), "{}", text(&output.stderr));
}
