//! `--report`: a page next to the result, written completely or not at all.

use std::path::PathBuf;

use super::{run, text};

const CHANNELS: &str = "examples/ad-channels/ad-channels.toml";
const JOBS: &str = "crates/outlay-cli/tests/cli/data/jobs.toml";
const DEAR: &str = "crates/outlay-cli/tests/cli/data/dear.csv";

/// An empty folder for one test.
fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("decision-report").join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn names(folder: &PathBuf) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_report_leaves_the_result_as_it_is() {
    let folder = folder("result");
    let commands: [&[&str]; 5] = [
        &["allocate", CHANNELS],
        &["allocate", CHANNELS, "--format", "json", "--round", "10", "--budget", "700"],
        &["allocate", "power", "--values", "task-1=0", "--format", "csv"],
        &["evaluate", CHANNELS],
        &["frontier", CHANNELS, "--points", "5"],
    ];
    for (place, command) in commands.into_iter().enumerate() {
        let file = folder.join(format!("{place}.html"));
        let path = file.to_str().unwrap();
        let plain = run(command, "");
        let with_report = run(&[command, &["--report", path]].concat(), "");
        assert_eq!(text(&with_report.stdout), text(&plain.stdout), "{command:?}");
        assert_eq!(text(&with_report.stderr), format!("{}report: {path}\n", text(&plain.stderr)));
        assert_eq!(with_report.status.code(), plain.status.code());
        let page = std::fs::read_to_string(&file).unwrap();
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
        assert!(page.contains(&format!("outlay {}", command[0])));
    }
    assert_eq!(names(&folder), ["0.html", "1.html", "2.html", "3.html", "4.html"]);
}

#[test]
fn the_page_has_the_numbers_of_the_text() {
    let file = folder("headline").join("page.html");
    let path = file.to_str().unwrap();
    let output = run(&["allocate", CHANNELS, "--report", path], "");
    let page = std::fs::read_to_string(&file).unwrap();
    let headline = text(&output.stdout).lines().last().unwrap();
    assert!(
        headline.starts_with("budget 1,000 per round · value 1.886") && page.contains(headline),
        "{headline}"
    );
    assert!(page.contains("<h1>ad-channels: the best split</h1>"));
    let output = run(&["evaluate", CHANNELS, "--report", path], "");
    let page = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = text(&output.stdout).lines().rev().take(3).collect();
    assert!(
        lines[0].starts_with("lift  +") && lines.iter().all(|line| page.contains(line)),
        "{lines:?}"
    );
    assert!(page.contains(">reward at plan</th>"));
}

#[test]
fn the_same_command_writes_the_same_bytes() {
    let file = folder("bytes").join("page.html");
    let path = file.to_str().unwrap();
    for command in ["allocate", "evaluate", "frontier"] {
        let pages: Vec<Vec<u8>> = (0..2)
            .map(|_| {
                run(&[command, CHANNELS, "--report", path], "");
                std::fs::read(&file).unwrap()
            })
            .collect();
        assert!(pages[0] == pages[1], "{command}");
    }
}

#[test]
fn quiet_writes_only_the_page() {
    let file = folder("quiet").join("page.html");
    let output = run(
        &["allocate", "-", "--quiet", "--report", file.to_str().unwrap()],
        "[[task]]\ncurve = { family = 'power', exponent = 1 }\nvalue = 1\n",
    );
    assert_eq!(text(&output.stderr), "");
    assert!(std::fs::read_to_string(&file).unwrap().contains("<h1>stdin: the best split</h1>"));
}

#[test]
fn a_plan_that_breaks_the_budget_is_reported_too() {
    let file = folder("broken").join("page.html");
    let output = run(&["evaluate", JOBS, "--plan", DEAR, "--report", file.to_str().unwrap()], "");
    assert_eq!(output.status.code(), Some(1));
    assert!(std::fs::read_to_string(&file).unwrap().contains("violation: the plan spends"));
}

#[test]
fn invalid_report_paths_are_refused_before_anything_is_written() {
    let folder = folder("refused");
    let problem = folder.join("problem.toml");
    std::fs::copy(super::root().join(CHANNELS), &problem).unwrap();
    let (here, nowhere) = (folder.to_str().unwrap(), folder.join("none/page.html"));
    let cases = [
        ("-", "--report: give the name of a file; standard output is used for results".to_owned()),
        (here, format!("cannot write {here}: it is a directory")),
        (nowhere.to_str().unwrap(), format!("cannot write {}: no such file", nowhere.display())),
        (
            problem.to_str().unwrap(),
            format!(
                "--report: {} is an input of this command; give another file",
                problem.display()
            ),
        ),
    ];
    for (path, message) in cases {
        for command in ["allocate", "evaluate", "frontier"] {
            let output = run(&[command, problem.to_str().unwrap(), "--report", path], "");
            assert_eq!(
                text(&output.stderr).trim_end().rsplit("error: ").next().unwrap(),
                message,
                "{command}"
            );
            assert_eq!(
                (text(&output.stdout), output.status.code()),
                ("", Some(2)),
                "{command} {path}"
            );
            assert_eq!(names(&folder), ["problem.toml"]);
        }
    }
    let plan = super::root().join(DEAR);
    let output = run(&["evaluate", JOBS, "--plan", DEAR, "--report", plan.to_str().unwrap()], "");
    assert!(
        text(&output.stderr).contains("dear.csv is an input of this command"),
        "{}",
        text(&output.stderr)
    );
}
