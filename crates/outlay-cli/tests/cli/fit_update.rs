//! `outlay fit --update`: the fitted keys of a problem file are replaced, and nothing else changes.

use std::path::PathBuf;

use outlay::Problem;
use outlay::problem::NoFiles;

use super::{run, text};

const FLAGS: [&str; 8] =
    ["--task", "channel", "--spend", "spend", "--count", "orders", "--revenue", "revenue"];

/// A file with comments, bounds and unusual formatting.
const BY_HAND: &str = r#"# The plan of the shop. Ask Ana before you change a bound.

budget   = 1_000          # per day
reward_max = 50.0
leftover = "spend"

[environment]
available = 0.9 # strikes

[[task]]
name = "radio" # not in the log
curve = { family = "exponential", scale = 300.0 }
value = 7.0

# hill, 12 rows
# warning: extrapolates from 22.5 on
# warning of Ana: brand terms only
[[task]]
name = "search"
max = 400.0             # contract until May
curve = { family = "hill", half_at = 1.0, steepness = 2.0 } # refitted monthly
value = 1e1
covers = [ 1.0, 2.0 ]

[[task]]
name   = "social"
at_least = 50
[task.curve]
family = "hill" # S-shaped, we think
half_at = 80.0
steepness = 2.0
"#;

/// 40 days of two channels. The counts are exact, so that the fitted curves are.
fn log() -> String {
    let mut rows = "channel,spend,orders,revenue\n".to_owned();
    for day in 0..40 {
        let spend = 20.0 + 10.0 * f64::from(day);
        for (channel, volume, scale) in [("search", 900.0, 150.0), ("video", 400.0, 90.0)] {
            let orders = (volume * (1.0 - f64::exp(-spend / scale))).round();
            rows.push_str(&format!("{channel},{spend},{orders},{}\n", 12.5 * orders));
        }
    }
    rows
}

/// A file of one test with this text.
fn file(name: &str, contents: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("fit-update");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, contents).unwrap();
    path
}

fn update(path: &std::path::Path, log: &str, more: &[&str]) -> std::process::Output {
    let path = path.to_str().unwrap();
    let arguments = ["fit", "-", "--update", path].into_iter().chain(FLAGS);
    run(&arguments.chain(more.iter().copied()).collect::<Vec<_>>(), log)
}

/// The lines of a text that another one does not have.
fn only_in<'a>(one: &'a str, other: &str) -> Vec<&'a str> {
    let others: Vec<&str> = other.lines().collect();
    one.lines().filter(|line| !others.contains(line)).collect()
}

#[test]
fn everything_that_is_not_fitted_stays() {
    let path = file("by-hand.toml", BY_HAND);
    let output = update(&path, &log(), &[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let after = std::fs::read_to_string(&path).unwrap();
    // Of the old lines, only the fitted ones and the comment of the earlier fit are gone.
    assert_eq!(
        only_in(BY_HAND, &after),
        [
            "# hill, 12 rows",
            "# warning: extrapolates from 22.5 on",
            "curve = { family = \"hill\", half_at = 1.0, steepness = 2.0 } # refitted monthly",
            "value = 1e1",
            "covers = [ 1.0, 2.0 ]",
        ],
        "{after}"
    );
    let problem = Problem::from_toml(&after, &NoFiles).unwrap();
    let before = Problem::from_toml(BY_HAND, &NoFiles).unwrap();
    let names: Vec<&str> = problem.tasks().iter().map(|task| task.name()).collect();
    assert_eq!(names, ["radio", "search", "social", "video"]);
    let [radio, search, social, video] = problem.tasks() else { panic!("{after}") };
    assert_eq!([radio, social], [&before.tasks()[0], &before.tasks()[2]]);
    assert_eq!((problem.budget(), search.bounds().max), (1000.0, 400.0));
    assert!((search.volume() - 900.0).abs() < 1.0 && (video.volume() - 400.0).abs() < 1.0);
    assert_eq!((search.value(), search.covers()), (Some(12.5), Some([20.0, 410.0])));
    assert!(search.seen().is_some_and(|seen| seen.reward == 12.5 * seen.completions as f64));
    assert!(after.contains("} # refitted monthly\n"), "{after}");
    assert!(after.contains("# exponential, 40 rows\n"), "{after}");
    assert!(after.contains("# warning of Ana: brand terms only\n[[task]]\n"), "{after}");
    let remarks = text(&output.stderr);
    for remark in [
        "1 task updated",
        "added, because the file did not have them: video",
        "unchanged, because the log has no rows for them: radio, social",
    ] {
        assert!(remarks.contains(remark), "{remarks}");
    }

    // A second update with the same log changes nothing.
    assert_eq!(update(&path, &log(), &[]).status.code(), Some(0));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), after);
}

#[test]
fn a_dry_run_writes_nothing() {
    let path = file("dry-run.toml", BY_HAND);
    let output = update(&path, &log(), &["--dry-run"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).ends_with("--dry-run: nothing was written\n"));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), BY_HAND);
}

#[test]
fn a_stub_with_bounds_only_is_completed() {
    let path = file("stub.toml", "budget = 500\n[[task]]\nname = 'video'\nmax = 100\n");
    let output = update(&path, &log(), &["--reward-max", "60"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let problem = Problem::from_toml(&std::fs::read_to_string(&path).unwrap(), &NoFiles).unwrap();
    assert_eq!((problem.budget(), problem.reward_max()), (500.0, 60.0));
    assert_eq!(problem.tasks()[0].bounds().max, 100.0);
}

#[test]
fn tasks_may_be_inline_tables_and_lines_may_end_in_crlf() {
    let lines = [
        "budget = 500.0",
        "reward_max = 20.0",
        "task = [",
        "  # our best",
        "  { name = \"video\", min = 5.0, curve = { family = \"threshold\", at = 3.0 } },",
        "]",
        "",
    ];
    let path = file("inline.toml", &lines.join("\r\n"));
    assert_eq!(update(&path, &log(), &[]).status.code(), Some(0));
    let after = std::fs::read_to_string(&path).unwrap();
    assert!(after.contains("  # our best\r\n  { name = \"video\", min = 5.0, curve = "), "{after}");
    assert_eq!(after.matches('\n').count(), after.matches("\r\n").count());
    let problem = Problem::from_toml(&after, &NoFiles).unwrap();
    assert_eq!(problem.tasks().len(), 2);
    assert!((problem.tasks()[0].volume() - 400.0).abs() < 1.0);
}

#[test]
fn a_log_without_counts_keeps_the_keys_of_counts() {
    let path = file("success.toml", BY_HAND);
    let path = path.to_str().unwrap();
    let log = "channel,spend,won\nsearch,1,0\nsearch,2,1\nsearch,3,1\nsearch,1,1\nsearch,2,0\n";
    let flags = ["--task", "channel", "--spend", "spend", "--success", "won"];
    let arguments: Vec<&str> = ["fit", "-", "--update", path].into_iter().chain(flags).collect();
    let output = run(&arguments, log);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let remarks = text(&output.stderr);
    assert!(
        remarks.contains("covers kept, because this log does not give it: search"),
        "{remarks}"
    );
    let after = std::fs::read_to_string(path).unwrap();
    assert!(after.contains("covers = [ 1.0, 2.0 ]") && after.contains("value = 1e1"), "{after}");
}

#[track_caller]
fn refuses(name: &str, contents: &str, message: &str) {
    let path = file(name, contents);
    let output = update(&path, &log(), &[]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stdout), "");
    let name = path.to_str().unwrap();
    assert_eq!(text(&output.stderr), format!("error: {}\n", message.replace("FILE", name)));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), contents);
}

#[test]
fn files_that_cannot_be_updated_are_refused() {
    refuses(
        "problem.json",
        "{}",
        "FILE: --update works on TOML files; -o FILE --overwrite replaces the whole file",
    );
    refuses(
        "csv-tasks.toml",
        "tasks = { file = 'tasks.csv' }\n",
        "FILE: --update cannot change tasks that come from a CSV file (the key `tasks`); write \
         them as [[task]] tables, or write a new file with -o",
    );
    // The bound contradicts the budget, whatever the curve is.
    refuses(
        "infeasible.toml",
        "budget = 10.0\nreward_max = 50.0\n[[task]]\nname = 'video'\nmin = 20.0\n",
        "FILE after the update has 1 error\n  budget: min adds up to 20, more than the budget 10: \
         video 20",
    );
    let missing = std::path::Path::new("missing.toml");
    let output = update(missing, &log(), &[]);
    assert_eq!(
        text(&output.stderr),
        "error: cannot read missing.toml: no such file; -o missing.toml writes a new one\n"
    );
}
