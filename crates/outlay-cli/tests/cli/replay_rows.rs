//! `outlay replay`: counts, censored rows, and plans from the first part of the rows.

use std::path::PathBuf;
use std::process::Output;

use serde_json::Value;

use super::{run, text};

const COUNTS: &str = "\
budget = 10.0
reward_max = 5.0
[[task]]
name = 'a'
curve = { family = 'exponential', scale = 4.0 }
volume = 30.0
max = 8.0
[[task]]
name = 'b'
curve = { family = 'exponential', scale = 4.0 }
volume = 30.0
";

fn file(name: &str, content: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("replay-rows");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

fn replay(problem: &str, rows: &str, arguments: &str) -> Output {
    let words: Vec<&str> =
        ["replay", problem, rows].into_iter().chain(arguments.split_whitespace()).collect();
    run(&words, "")
}

#[track_caller]
fn json(problem: &str, rows: &str, arguments: &str) -> Value {
    let output = replay(problem, rows, &format!("{arguments} --format json"));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[track_caller]
fn refuses(problem: &str, rows: &str, arguments: &str, message: &str) {
    let output = replay(problem, rows, arguments);
    assert_eq!(text(&output.stderr), format!("error: {message}\n"));
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""));
}

/// Two months of two channels. Channel b earns more per completion, and from day 40 on less.
fn log() -> String {
    let mut rows = "date,channel,spend,orders,revenue\n".to_owned();
    for day in 0..59 {
        let date = if day < 31 {
            format!("2026-01-{:02}", day + 1)
        } else {
            format!("2026-02-{:02}", day - 30)
        };
        let spend = 1.0 + f64::from(day * 7 % 16) / 2.0;
        for (channel, mean) in [("a", 2.0), ("b", if day < 40 { 4.0 } else { 1.0 })] {
            let spend = if channel == "a" { spend } else { 10.0 - spend };
            let orders = (30.0 * (1.0 - (-spend / 4.0_f64).exp())).round();
            rows.push_str(&format!("{date},{channel},{spend},{orders},{}\n", mean * orders));
        }
    }
    rows
}

const COLUMNS: &str = "--task channel --count orders --revenue revenue";

#[test]
fn counts_are_replayed() {
    let (problem, rows) = (file("counts.toml", COUNTS), file("log.csv", &log()));
    let found = json(&problem, &rows, &format!("{COLUMNS} --replications 3 --rounds 100"));
    assert_eq!(found["rows"], serde_json::json!([59, 59]));
    let gain = |name: &str| found["splits"][name]["gain"].as_f64().unwrap();
    assert!(gain("best") >= gain("model") && gain("model") > gain("even"));
    // The curves are right up to rounding, and the drift of the rewards is found.
    assert!(found["assumptions"][0]["fit"]["distance"].as_f64().unwrap() < 0.05, "{found}");
    assert!(found["assumptions"][1]["reward_drift"]["p_value"].as_f64().unwrap() < 1e-3);
    assert!(found.get("holdout").is_none());
    let page = file("counts.html", "");
    let output = replay(&problem, &rows, &format!("{COLUMNS} --replications 2 --report {page}"));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(std::fs::read_to_string(page).unwrap().contains("completions per round"));
}

#[test]
fn the_first_part_is_fitted_and_the_second_judges() {
    let (problem, rows) = (file("split.toml", COUNTS), file("split.csv", &log()));
    let columns = format!("{COLUMNS} --date date --replications 3");
    let found = json(&problem, &rows, &format!("{columns} --split-at 2026-02-10"));
    let holdout = &found["holdout"];
    assert_eq!(
        (holdout["first_rows"].as_u64(), holdout["second_rows"].as_u64()),
        (Some(80), Some(38))
    );
    assert_eq!(found["rows"], serde_json::json!([19, 19]));
    // Before the split b earned twice as much as a, so the plan prefers b; afterwards it is wrong.
    let spend = |task: usize| holdout["plan"]["spend"][task].as_f64().unwrap();
    assert!(spend(1) > spend(0) && spend(0) + spend(1) <= 10.0 + 1e-9);
    let gain = holdout["plan"]["gain"].as_f64().unwrap();
    assert!(holdout["predicted"].as_f64().unwrap() > 1.5 * gain, "{holdout}");
    assert!(found["splits"]["best"]["gain"].as_f64().unwrap() >= gain);
    assert!(holdout["current"]["gain"].as_f64().unwrap() > 0.0);
    // 59 dates: the first 70 % are the first 42.
    let share = json(&problem, &rows, &format!("{columns} --split-at 0.7"));
    assert_eq!(share["holdout"]["first_rows"].as_u64(), Some(84));
    // Without dates, 70 % of the rows of each task.
    let share = json(&problem, &rows, &format!("{COLUMNS} --replications 2 --split-at 0.7"));
    assert_eq!(share["holdout"]["first_rows"].as_u64(), Some(84));

    let table = replay(&problem, &rows, &format!("{columns} --split-at 2026-02-10"));
    let table = text(&table.stdout);
    for words in ["plan from the first part", "mean spends of the first part", "from 2026-02-10 on"]
    {
        assert!(table.contains(words), "{table}");
    }
    let csv = replay(&problem, &rows, &format!("{columns} --split-at 0.7 --format csv"));
    assert!(text(&csv.stdout).lines().next().unwrap().ends_with("plan_gain,current_gain"));
}

#[test]
fn censored_rows_are_replayed() {
    let problem =
        "budget = 6.0\n[[task]]\nname = 'job'\ncurve = { family = 'saturating', full_at = 8.0 }\n";
    let problem = file("censored.toml", problem);
    let rows = file(
        "censored.csv",
        "task,hours,done,reward\njob,2,1,0.4\njob,3,0,\njob,6,1,0.8\njob,7,0,\n",
    );
    let columns = "--threshold hours --success done --replications 2";
    let found = json(&problem, &rows, columns);
    assert!((found["splits"]["best"]["gain"].as_f64().unwrap() - 0.3).abs() < 1e-9, "{found}");
    // One of the four rows was stopped below a spend of 6.
    let outside = found["learners"][0]["outside"].as_f64().unwrap();
    assert!((outside - 0.25).abs() < 0.05, "{outside}");
    let table = replay(&problem, &rows, columns);
    assert!(text(&table.stdout).contains("2 of 4 rows were stopped without success."));
}

#[test]
fn bad_rows_and_splits_are_refused() {
    let problem = file("bad.toml", COUNTS);
    let rows = file("bad.csv", "task,spend,n,sum\na,1,2,11\nb,1,0,3\nb,1,1.5,1\n");
    refuses(
        &problem,
        &rows,
        "--count n --revenue sum",
        &format!(
            "{rows} has 3 errors\n  line 2: revenue: 11 is above 2 times reward_max = 5 of the \
             problem; increase reward_max, or set reward_over_max = \"clip\"\n  line 3: revenue: 3, but count is 0; a row without \
             completions has no revenue\n  line 4: count: must be a whole number of at least 0, not \"1.5\""
        ),
    );
    let rows = file("good.csv", "task,spend,n,sum\na,1,2,3\na,2,3,4\nb,1,1,1\nb,2,2,2\n");
    let columns = "--count n --revenue sum";
    refuses(
        &problem,
        &rows,
        &format!("{columns} --split-at 2026-01-01"),
        "--split-at 2026-01-01: name the column with the dates by --date",
    );
    let dated = file("dated.csv", "task,day,spend,n,sum\na,2026-01-01,1,2,3\nb,2026-01-02,1,1,1\n");
    refuses(
        &problem,
        &dated,
        &format!("{columns} --date day --split-at 2026-01-02"),
        &format!(
            "{dated} has 1 error\n  --split-at 2026-01-02 leaves no rows in the first part for b: \
             every task needs rows in both parts"
        ),
    );
    let output = replay(&problem, &rows, &format!("{columns} --split-at 1.5"));
    assert!(text(&output.stderr).contains("a share must be above 0 and below 1, such as 0.7"));
    let single = file("single.csv", "task,threshold,reward\na,1,1\nb,1,1\n");
    refuses(
        &problem,
        &single,
        "",
        &format!(
            "{single} has 1 error\n  task a: it may complete more than once in a round, but its \
             rows have single outcomes"
        ),
    );
}

/// Two weeks of two channels whose traffic differs by day: the rows, with this line end.
fn seasonal_log(end: &str) -> String {
    let mut rows = format!("task,spend,orders,revenue,traffic,volume{end}");
    for day in 0..56 {
        let traffic = [1.0, 2.0, 0.5][day % 3];
        for (task, value) in [("a", 2), ("b", 3)] {
            let spend = traffic * (1 + day % 4) as f64;
            let volume = 30.0 * traffic;
            let orders = (volume * (1.0 - (-spend / traffic / 4.0_f64).exp())).round();
            let revenue = f64::from(value) * orders;
            rows += &format!("{task},{spend},{orders},{revenue},{traffic},{volume}{end}");
        }
    }
    rows
}

const SEASONAL: &str =
    "--count orders --revenue revenue --scale traffic --volume volume --learner kl-ucb-plus";

#[test]
fn rounds_have_the_conditions_of_their_rows() {
    let problem = file("seasonal.toml", COUNTS);
    let rows = file("seasonal.csv", &seasonal_log("\n"));
    let found = json(&problem, &rows, &format!("{SEASONAL} --rounds 60 --replications 3"));
    let ignored = json(
        &problem,
        &rows,
        "--count orders --revenue revenue --learner kl-ucb-plus --rounds 60 --replications 3",
    );
    let distance = |found: &Value| found["assumptions"][0]["fit"]["distance"].as_f64().unwrap();
    assert!(distance(&found) < 0.02 && distance(&ignored) > 0.1, "{found} {ignored}");
    assert!(found.get("lost_by_chance").is_none());
    let output = replay(&problem, &rows, &format!("{SEASONAL} --order recorded"));
    let remark =
        "scale and volume of each round are those of a row: learners and fixed splits know them";
    assert!(text(&output.stderr).contains(remark), "{}", text(&output.stderr));
    // The same numbers with Windows line ends.
    let windows = file("seasonal-windows.csv", &seasonal_log("\r\n"));
    let again = json(&problem, &windows, &format!("{SEASONAL} --rounds 60 --replications 3"));
    assert_eq!(found["splits"], again["splits"]);
}

/// A profile of the problem is the default, row by row.
#[test]
fn profiles_are_the_conditions_without_columns() {
    let rows = file("profile.csv", &seasonal_log("\n"));
    let list = "[1.0, 2.0, 0.5]";
    let volumes = "[30.0, 60.0, 15.0]";
    let environment = format!(
        "[environment]\nscale = {{ a = {list}, b = {list} }}\nvolume = {{ a = {volumes}, b = {volumes} }}\n"
    );
    let profile = file("profile.toml", &format!("{COUNTS}{environment}"));
    let plain = file("seasonal-plain.toml", COUNTS);
    let flags =
        "--count orders --revenue revenue --learner kl-ucb-plus --rounds 60 --replications 3";
    let found = json(&profile, &rows, flags);
    let columns = json(&plain, &rows, &format!("{flags} --scale traffic --volume volume"));
    assert_eq!((&found["splits"], &found["learners"]), (&columns["splits"], &columns["learners"]));
    let output = replay(&profile, &rows, &format!("{flags} --split-at 0.5"));
    assert!(
        text(&output.stderr).contains("is ignored with --split-at"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn impossible_conditions_name_their_lines() {
    let problem = file("conditions.toml", COUNTS);
    for end in ["\n", "\r\n"] {
        let lines = [
            "task,spend,orders,revenue,traffic,volume",
            "a,1,2,3,0,30",
            "a,1,2,3,1,0",
            "b,1,2,3,x,30",
            "b,1,2,3,1,30",
        ];
        let rows = file("conditions.csv", &(lines.join(end) + end));
        let output = replay(&problem, &rows, SEASONAL);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        for expected in [
            "line 2: scale of task a: must be ",
            "not 0; leave out a task that has no traffic",
            "line 3: volume of task a: must be ",
            "line 4: scale: must be a number, not \"x\"",
        ] {
            assert!(error.contains(expected), "{expected}: {error}");
        }
    }
    let rows = file("conditions-missing.csv", "task,spend,orders,revenue\na,1,2,3\nb,1,2,3\n");
    let error = replay(&problem, &rows, SEASONAL);
    assert!(
        text(&error.stderr).contains("line 1: no column traffic (given by --scale)"),
        "{}",
        text(&error.stderr)
    );
    let single = file("conditions-single.toml", &COUNTS.replace("volume = 30.0\n", ""));
    let rows =
        file("conditions-thresholds.csv", "task,threshold,reward,traffic\na,1,2,1\nb,1,2,-1\n");
    let error = replay(&single, &rows, "--scale traffic");
    assert!(
        text(&error.stderr).contains("line 3: scale: must be finite and not negative, not \"-1\""),
        "{}",
        text(&error.stderr)
    );
}
