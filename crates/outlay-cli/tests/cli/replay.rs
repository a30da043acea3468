//! `outlay replay`: rows of both kinds, columns by name, every error with its line, the same result
//! for any number of threads.

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use super::{run, text};

const PROBLEM: &str = "examples/repairs.toml";
const ROWS: &str = "examples/data/repairs.csv";

/// A file for one test.
fn file(name: &str, content: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("replay");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

fn replay(rows: &str, arguments: &str) -> Output {
    let words: Vec<&str> =
        ["replay", PROBLEM, rows].into_iter().chain(arguments.split_whitespace()).collect();
    run(&words, "")
}

#[track_caller]
fn json(rows: &str, arguments: &str) -> Value {
    let output = replay(rows, &format!("{arguments} --format json"));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Checks that rows are refused with this message, which follows the file's name.
#[track_caller]
fn refuses(name: &str, rows: &str, arguments: &str, message: &str) {
    let path = file(name, rows);
    let output = replay(path.to_str().unwrap(), arguments);
    assert_eq!(text(&output.stderr), format!("error: {}{message}\n", path.display()));
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""));
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let one = replay(ROWS, "--rounds 200 --replications 5 --threads 1 --format json");
    let three = replay(ROWS, "--rounds 200 --replications 5 --threads 3 --format json");
    assert_eq!(one.status.code(), Some(0));
    assert_eq!(text(&one.stdout), text(&three.stdout));
}

#[test]
fn columns_may_be_named_and_joined() {
    let rows = "kind,size,hours,saved\nengine,,1,20\nwiring,,2,30\nbody,work,3,40\n";
    let problem = std::fs::read_to_string(super::root().join(PROBLEM)).unwrap();
    // Empty parts are omitted.
    let problem = problem.replace("bodywork", "body work");
    let (problem, rows) = (file("joined.toml", &problem), file("joined.csv", rows));
    let columns = [
        "--task",
        "kind,size",
        "--threshold",
        "hours",
        "--reward",
        "saved",
        "--format",
        "json",
        "--rounds",
        "3",
    ];
    let words = ["replay", problem.to_str().unwrap(), rows.to_str().unwrap()];
    let output = run(&words.into_iter().chain(columns).collect::<Vec<_>>(), "");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["rows"], serde_json::json!([1, 1, 1]));
    // The whole budget of six hours goes to thresholds of 1, 2 and 3.
    assert!((found["splits"]["best"]["gain"].as_f64().unwrap() - 90.0).abs() < 1e-6);
}

#[test]
fn columns_distinguish_trials_from_thresholds() {
    let tried = json("examples/data/repairs_tried.csv", "--rounds 20 --replications 2");
    assert!(tried.get("lost_by_chance").is_none());
    assert!(tried["learners"][0]["outside"].as_f64().unwrap() >= 0.0);
    let needed = json(ROWS, "--rounds 20 --replications 2");
    assert!(needed["lost_by_chance"]["p_value"].as_f64().unwrap() <= 0.05);
    let output = replay("examples/data/repairs_tried.csv", "--learner full");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr)
            .contains("learner full needs the rewards that failures would have had"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn errors_of_rows_are_reported_with_their_lines() {
    let header = "task,threshold,reward";
    refuses(
        "wrong.csv",
        &format!(
            "{header}\nengine,1,20\nengine,-1,20\nwiring,x,1\nbodywork,1,101\nwiring,1,1,1\nengine,2,\n"
        ),
        "",
        " has 5 errors\n  line 3: threshold: must be finite and not negative, not \"-1\"\n  line 4: threshold: must be a number, not \"x\"\n  \
         line 5: reward: 101 is above reward_max = 100 of the problem; increase reward_max, or set reward_over_max = \"clip\"\n  line 6: 4 fields, but the header has 3\n  \
         line 7: reward: is empty; give a number",
    );
    refuses(
        "missing.csv",
        &format!("{header}\nengine,1,20\nwirings,1,20\n"),
        "",
        " has 1 error\n  no row for wiring, bodywork: every task of the problem needs at least one; is wiring called wirings in the file?",
    );
    refuses(
        "empty.csv",
        &format!("{header}\n"),
        "",
        " has 1 error\n  no row for engine, wiring, bodywork: every task of the problem needs at least one",
    );
    let meant = "recorded rows have the columns task, threshold and reward, or task, spend, success and reward; \
                 --task, --threshold, --spend, --success and --reward name others";
    refuses(
        "columns.csv",
        "task,hours,reward\n",
        "",
        &format!(
            " has 1 error\n  line 1: no column threshold ({meant}); the file has task, hours, reward"
        ),
    );
    refuses(
        "success.csv",
        "task,spend,sucess,reward\n",
        "",
        &format!(
            " has 1 error\n  line 1: no column success ({meant}); the file has task, spend, sucess, reward; did you mean sucess?"
        ),
    );
    refuses(
        "tries.csv",
        "task,spend,success,reward\nengine,1,1,\nwiring,1,maybe,3\nbodywork,1,0,\n",
        "",
        " has 2 errors\n  line 2: reward: is empty; give a number\n  line 3: success: must be 1 or 0 (or true, false), not \"maybe\"; if a word means success, give it with --true",
    );
}

#[test]
fn rows_of_other_tasks_are_ignored_and_reported() {
    let rows = std::fs::read_to_string(super::root().join(ROWS)).unwrap();
    let path = file("more.csv", &format!("{rows}painting,3,30\nglass,1,5\nglass,1,5\n"));
    let output = replay(path.to_str().unwrap(), "--rounds 5 --replications 1 --format csv");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        text(&output.stderr),
        "3 rows are ignored, because the problem does not have the tasks: glass, painting\n"
    );
    assert_eq!(
        text(&output.stdout),
        text(&replay(ROWS, "--rounds 5 --replications 1 --format csv").stdout)
    );
}

#[test]
fn rows_and_problem_cannot_both_come_from_standard_input() {
    let output = run(&["replay", "-", "-"], "");
    assert_eq!(
        text(&output.stderr),
        "error: only one of problem and rows can come from standard input\n"
    );
    let rows = std::fs::read_to_string(super::root().join(ROWS)).unwrap();
    let output = run(&["replay", PROBLEM, "-", "--rounds", "5", "--replications", "1"], &rows);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("standard input · 180 rows of 3 tasks"));
}

#[test]
fn a_report_is_one_page_and_the_same_every_time() {
    for rows in [ROWS, "examples/data/repairs_tried.csv"] {
        let path = file("page.html", "");
        let arguments = format!("--rounds 50 --replications 3 --report {}", path.display());
        let output = replay(rows, &arguments);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert_eq!(text(&output.stderr), format!("report: {}\n", path.display()));
        let page = std::fs::read_to_string(&path).unwrap();
        assert!(
            page.starts_with("<!DOCTYPE html>")
                && page.contains("Where the budget goes")
                && !page.contains("NaN")
        );
        replay(rows, &format!("{arguments} --threads 1"));
        assert_eq!(page, std::fs::read_to_string(&path).unwrap());
    }
}

#[test]
fn recorded_order_plays_each_row_once() {
    let found = json(ROWS, "--order recorded --learner uniform");
    assert_eq!((&found["rounds"], &found["replications"]), (&Value::from(60), &Value::from(1)));
    let (gain, even) = (
        found["learners"][0]["gain"]["mean"].as_f64().unwrap(),
        found["splits"]["even"]["gain"].as_f64().unwrap(),
    );
    assert!((gain - even).abs() < 1e-6, "{gain} and {even}");
}
