//! `outlay fit`: its files, its errors, and its remarks on logs with little data.

use std::path::PathBuf;

use super::{run, text};

const LOG: &str = "examples/data/ads_log.csv";
const COLUMNS: [&str; 10] = [
    "--task",
    "channel",
    "--spend",
    "spend",
    "--trials",
    "hours",
    "--success",
    "wins",
    "--reward",
    "order",
];

/// An empty folder for one test.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("fit").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn fit(more: &[&str]) -> std::process::Output {
    let arguments: Vec<&str> =
        ["fit", LOG].into_iter().chain(COLUMNS).chain(more.iter().copied()).collect();
    run(&arguments, "")
}

/// Fits a log on standard input.
fn fit_text(log: &str, more: &[&str]) -> std::process::Output {
    let arguments: Vec<&str> = ["fit", "-"].into_iter().chain(more.iter().copied()).collect();
    run(&arguments, log)
}

const PLAIN: [&str; 4] = ["--spend", "spend", "--success", "won"];

#[track_caller]
fn refuses(log: &str, more: &[&str], message: &str) {
    let output = fit_text(log, more);
    assert_eq!(text(&output.stderr), message);
    assert_eq!(text(&output.stdout), "");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn the_problem_file_can_be_solved_and_is_not_overwritten_unasked() {
    let folder = folder("problem");
    let path = folder.join("problem.toml");
    let path = path.to_str().unwrap();
    assert_eq!(fit(&["-o", path]).status.code(), Some(0));
    let written = std::fs::read_to_string(path).unwrap();
    assert!(
        written.starts_with("# Fitted by outlay fit from examples/data/ads_log.csv."),
        "{written}"
    );
    assert!(
        written.contains("# hill, 460 trials\n# warning: extrapolates from 22.5 on\n[[task]]\nname = \"social\"\nvalue = 6.7"),
        "{written}"
    );
    assert_eq!(run(&["allocate", path], "").status.code(), Some(0));

    let again = fit(&["-o", path]);
    assert_eq!(
        text(&again.stderr),
        format!("error: {path} already exists: --overwrite replaces it\n")
    );
    assert_eq!((again.status.code(), text(&again.stdout)), (Some(2), ""));
    assert_eq!(fit(&["-o", path, "--overwrite"]).status.code(), Some(0));
    assert_eq!(std::fs::read_to_string(path).unwrap(), written);

    let json = folder.join("problem.json");
    assert_eq!(fit(&["-o", json.to_str().unwrap()]).status.code(), Some(0));
    assert_eq!(run(&["check", json.to_str().unwrap()], "").status.code(), Some(0));
}

#[test]
fn threads_and_the_order_of_rows_change_nothing() {
    let one = fit(&["--threads", "1", "--format", "json"]);
    let four = fit(&["--threads", "4", "--format", "json"]);
    assert_eq!(text(&one.stdout), text(&four.stdout));

    let log = std::fs::read_to_string(super::root().join(LOG)).unwrap();
    let (header, rows) = log.split_once('\n').unwrap();
    let mut rows: Vec<&str> = rows.lines().collect();
    // The last task stays last: tasks are listed in the order of their first rows.
    rows.sort_by_key(|row| row.split(',').nth(1).map(str::to_owned));
    let sorted = format!("{header}\n{}\n", rows.join("\n"));
    let columns: Vec<&str> = COLUMNS[..8].iter().copied().chain(["--format", "csv"]).collect();
    assert_eq!(text(&fit_text(&sorted, &columns).stdout), text(&fit_text(&log, &columns).stdout));
}

#[test]
fn rows_for_spreadsheets_have_all_digits() {
    let output = fit(&["--format", "csv"]);
    let result = text(&output.stdout);
    let header = "task,trials,successes,family,parameters,low95,high95,log_loss,constant_log_loss,calibration,covers_from,covers_to,value,\
                  value_error,warnings\n";
    assert!(result.starts_with(header), "{result}");
    assert!(result.contains("\nvideo,490.0,202.0,exponential,scale=25.8256115"), "{result}");
}

#[test]
fn the_page_is_complete_and_names_the_limits_of_the_data() {
    let path = folder("page").join("fit.html");
    assert_eq!(
        fit(&["--report", path.to_str().unwrap(), "--bootstrap", "20"]).status.code(),
        Some(0)
    );
    let page = std::fs::read_to_string(&path).unwrap();
    assert!(
        page.contains("unknown curves cannot be learned safely") && page.ends_with("</html>\n")
    );
    assert_eq!(page.matches("<svg").count(), 3);
    assert!(!page.contains("NaN"));
}

#[test]
fn tasks_with_little_data_are_reported_without_nan() {
    let log = "task,spend,won\nnever,5,0\nnever,9,0\nalways,4,1\nalways,8,1\nonce,3,1\nmixed,1,0\nmixed,9,1\n";
    let output = fit_text(
        log,
        &["--task", "task", "--spend", "spend", "--success", "won", "--format", "json"],
    );
    let result = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(
        result.contains("only failures in 2 trials: a guess that assumes half a success"),
        "{result}"
    );
    assert!(
        result.contains("only successes in 2 trials: a guess that assumes half a failure"),
        "{result}"
    );
    assert!(result.contains("only 2 trials"), "{result}");
    assert!(
        !result.contains("NaN") && !result.contains("\"value\": null,\n          \"low\""),
        "{result}"
    );

    let log = "task,spend,won,n\nsome,5,1,3\nnone,9,0,0\n";
    let output =
        fit_text(log, &["--task", "task", "--spend", "spend", "--success", "won", "--trials", "n"]);
    assert!(
        text(&output.stdout).contains("no data: omitted from the problem"),
        "{}",
        text(&output.stdout)
    );
    refuses(
        "spend,won,n\n5,0,0\n",
        &["--budget", "9", "--spend", "spend", "--success", "won", "--trials", "n"],
        "error: no task has any trials\n",
    );
}

#[test]
fn censored_rows_stay_below_one() {
    let log = "needed,done\n1,1\n2,1\n3,0\n4,1\n5,0\n";
    let output = fit_text(log, &["--threshold", "needed", "--success", "done"]);
    let result = text(&output.stdout);
    // 4/5 · 3/4 · 1/2 = 0.3 of the rows need more than 4.
    assert!(
        result.contains("stays at 0.7 from 5 on: the largest amounts are censored"),
        "{result}"
    );
    let output =
        fit_text("needed,done\n3,0\n5,0\n", &["--threshold", "needed", "--success", "done"]);
    assert!(text(&output.stdout).contains("only failures in 2 trials"), "{}", text(&output.stdout));
}

#[test]
fn malformed_logs_are_reported_with_their_lines() {
    refuses(
        "spend,won\n1,1\n-2,0\nx,1\n3,maybe\n4\n,1\n",
        &PLAIN,
        "error: standard input has 5 errors\n  \
         line 3: spend: must be finite and not negative, not \"-2\"\n  \
         line 4: spend: must be a number, not \"x\"\n  \
         line 5: won: must be 1 or 0 (or true, false), not \"maybe\"; if a word means success, give it with --true\n  \
         line 6: 1 field, but the header has 2\n  \
         line 7: spend: is empty; give a number\n",
    );
    refuses(
        "spend,won,n\n1,3,2\n1,1,1.5\n",
        &["--spend", "spend", "--success", "won", "--trials", "n"],
        "error: standard input has 2 errors\n  \
         line 2: won: 3 is more than n = 2\n  \
         line 3: n: must be a whole number of at least 0, not \"1.5\"\n",
    );
    refuses(
        "spend,won,worth\n1,1,\n1,0,\n",
        &["--spend", "spend", "--success", "won", "--reward", "worth"],
        "error: standard input has 1 error\n  line 2: worth: is empty; give a number\n",
    );
    refuses("spend,won\n", &PLAIN, "error: standard input has a header but no rows\n");
    refuses(
        "spent,won\n1,1\n",
        &PLAIN,
        "error: standard input has 1 error\n  line 1: no column spend (given by --spend); the file has spent, won; did you mean spent?\n",
    );
}

#[test]
fn flags_that_do_not_go_together() {
    let log = "spend,won\n1,1\n2,0\n";
    refuses(
        log,
        &["--threshold", "spend", "--family", "hill"],
        "error: --threshold gives an empirical curve; omit --family\n",
    );
    refuses(
        log,
        &["--spend", "spend", "--success", "won", "--family", "empirical"],
        "error: --family empirical requires --threshold, the column with the spend that success required\n",
    );
    refuses(
        "spend,won,worth\n1,1,5\n2,0,\n",
        &["--spend", "spend", "--success", "won", "--reward", "worth", "--reward-max", "4"],
        "error: --reward-max 4 is less than the largest reward in the log, 5\n",
    );
    refuses(
        "spend,won\n0,1\n0,0\n",
        &PLAIN,
        "error: all spends in the log are zero: give the budget of one round with --budget\n",
    );
}

const COUNTS: [&str; 8] =
    ["--task", "channel", "--spend", "spend", "--count", "orders", "--revenue", "revenue"];

/// Two spends with mean counts of 6 and 9: the volume of an exponential curve is 12.
const COUNT_LOG: &str = "date,channel,spend,orders,revenue\n\
    2026-01-01,search,10,5,50\n\
    2026-01-02,search,20,8,88\n\
    2026-01-03,search,10,7,77\n\
    2026-01-04,search,20,10,85\n";

#[test]
fn counts_are_written_as_volume_value_and_summary_of_the_log() {
    let folder = folder("counts");
    let path = folder.join("problem.toml");
    let path = path.to_str().unwrap();
    let more = ["--family", "exponential", "-o", path, "--format", "json"];
    let output = fit_text(COUNT_LOG, &[&COUNTS[..], &more].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let record: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let task = &record["tasks"][0];
    assert_eq!((&task["rows"], &task["completions"]), (&4.0.into(), &30.0.into()));
    assert_eq!((&task["value"], &task["dispersion"]), (&10.0.into(), &1.0.into()));
    assert!((task["volume"].as_f64().unwrap() - 12.0).abs() < 1e-6, "{task}");
    // The default budget is the mean spend.
    assert_eq!(record["budget"], 15.0);
    assert!(
        text(&output.stderr).starts_with("reward_max 11: the largest revenue / count of a row")
    );
    let written = std::fs::read_to_string(path).unwrap();
    for line in [
        "current = 15.0",
        "covers = [10.0, 20.0]",
        "[task.seen]\ncompletions = 30\nreward = 300.0",
        "[environment.completions]\nlaw = \"poisson\"",
        "# exponential, 4 rows",
    ] {
        assert!(written.contains(line), "{line}: {written}");
    }
    let allocated = run(&["allocate", path, "--budget", "30", "--format", "json"], "");
    assert!(text(&allocated.stdout).contains("\"extrapolates\": true"));
    let table = run(&["allocate", path, "--budget", "30"], "");
    assert!(
        text(&table.stdout).contains("--within-data avoids them): search (10 to 20)"),
        "{}",
        text(&table.stdout)
    );
    let within = ["allocate", path, "--budget", "30", "--within-data", "--format", "json"];
    let within = run(&within, "");
    let record: serde_json::Value = serde_json::from_slice(&within.stdout).unwrap();
    let task = &record["tasks"][0];
    assert_eq!((&task["spend"], &task["extrapolates"]), (&20.0.into(), &false.into()));
}

#[test]
fn rows_are_selected_by_date() {
    let fitted = |more: &[&str]| {
        let more = [&COUNTS[..], &["--format", "csv", "--date", "date"], more].concat();
        let output = fit_text(COUNT_LOG, &more);
        let rows = text(&output.stdout).lines().nth(1).map(str::to_owned);
        rows.map_or_else(|| text(&output.stderr).to_owned(), |row| row[..15].to_owned())
    };
    assert_eq!(fitted(&[]), "search,4.0,30.0");
    assert_eq!(fitted(&["--since", "2026-01-02"]), "search,3.0,25.0");
    assert_eq!(fitted(&["--until", "2026-01-03"]), "search,3.0,20.0");
    assert_eq!(
        fitted(&["--since", "2027-01-01"]),
        "error: standard input: all 4 rows are outside the dates of --since and --until\n"
    );
}

#[test]
fn bad_counts_are_refused_with_their_lines() {
    refuses(
        "channel,spend,orders,revenue\r\nsearch,10,1.5,9\r\nsearch,10,0,9\r\nsearch,10,0,0\r\n\
         search,10,-2,0\r\nsearch,10,3,x\r\n",
        &COUNTS,
        "error: standard input has 4 errors\n  \
         line 2: orders: must be a whole number of at least 0, not \"1.5\"\n  \
         line 3: revenue: 9, but orders is 0; a row without completions has no revenue\n  \
         line 5: orders: must be a whole number of at least 0, not \"-2\"\n  \
         line 6: revenue: must be a number, not \"x\"\n",
    );
    refuses(
        "channel,spend,orders,revenue,date\nsearch,10,1,9,18.11.2026\n",
        &[&COUNTS[..], &["--date", "date"]].concat(),
        "error: standard input has 1 error\n  \
         line 2: date: must be a date such as 2026-11-18, not \"18.11.2026\"\n",
    );
    refuses(
        "channel,spend,orders,revenue\nsearch,10,1,9\n",
        &[&COUNTS[..], &["--family", "threshold"]].concat(),
        "error: --family threshold cannot be fitted to counts; monotone fits curves with steep \
         parts\n",
    );
    refuses(
        "day,a_spend,orders\n1,10,3\n",
        &["--wide", "--spend", "{task}_spend", "--count", "orders"],
        "error: --count orders: it is one outcome for all tasks, but --wide needs one column per \
         task, such as {task}_won. To divide a common outcome among channels is a marketing-mix \
         problem, which fit does not solve: fit the log with Robyn, pymc-marketing or Meridian \
         and import the curves (docs/how-to/interop.md)\n",
    );
}

#[test]
fn wide_logs_have_counts_too() {
    let log = "day,a spend,a orders,b spend,b orders\n1,10,5,4,1\n2,20,8,,\n3,10,7,8,3\n";
    let columns = ["--wide", "--spend", "{task} spend", "--count", "{task} orders"];
    let output = fit_text(log, &[&columns[..], &["--format", "csv"]].concat());
    let rows: Vec<String> =
        text(&output.stdout).lines().skip(1).map(|line| line[..10].to_owned()).collect();
    assert_eq!(rows, ["a,3.0,20.0", "b,2.0,4.0,"], "{}", text(&output.stderr));
}
