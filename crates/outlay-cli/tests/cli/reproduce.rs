//! `outlay reproduce`: verdicts, output files and resumed runs.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{outlay, run, text};

fn fresh(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reproduce").join(name);
    let _ = std::fs::remove_dir_all(&path);
    path
}

fn reproduce(names: &[&str], out: &Path, more: &[&str]) -> Output {
    let words =
        [&["reproduce"], names, &["--quick", "--out", out.to_str().unwrap()], more].concat();
    run(&words, "")
}

fn read(out: &Path, name: &str) -> String {
    std::fs::read_to_string(out.join(name)).unwrap()
}

#[test]
fn verdicts_pages_pictures_and_tables() {
    let out = fresh("two");
    let output = reproduce(&["appendix-a", "confidence"], &out, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(
        shown.contains("appendix-a  holds") && shown.contains("confidence  consistent"),
        "{shown}"
    );
    let page = read(&out, "index.html");
    assert!(
        page.contains("Unknown curves: regret can be T")
            && page.contains("badge holds")
            && page.contains("<svg")
    );
    assert!(
        read(&out, "pictures/appendix-a-regret-with-unknown-thresholds.svg").contains("</svg>")
    );
    assert!(
        read(&out, "tables/confidence.md")
            .starts_with("**Verdict: consistent.** 6 of 6 checks passed")
    );
    let results: Value = serde_json::from_str(&read(&out, "results.json")).unwrap();
    assert_eq!(results["claims"][0]["verdict"], "holds");
    assert_eq!(results["claims"][0]["checks"][0]["passed"], true);
    assert!(
        results["command"].as_str().unwrap().ends_with("reproduce appendix-a confidence --quick")
    );
}

#[test]
fn results_depend_neither_on_threads_nor_on_a_stop() {
    let (whole, stopped) = (fresh("whole"), fresh("stopped"));
    let output = reproduce(&["kl-ucb-mixture"], &whole, &["--threads", "1", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let words = [
        "reproduce",
        "kl-ucb-mixture",
        "--quick",
        "--out",
        stopped.to_str().unwrap(),
        "--threads",
        "2",
    ];
    let mut child = outlay(&words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while !stopped.join("kl-ucb-mixture/1/replications.jsonl").exists()
        && started.elapsed() < Duration::from_secs(30)
    {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let again = reproduce(&["kl-ucb-mixture"], &stopped, &["--threads", "2", "--format", "json"]);
    assert_eq!(text(&again.stdout), text(&output.stdout));
    assert_eq!(read(&whole, "results.json"), read(&stopped, "results.json"));
}

#[test]
fn unknown_claims_are_refused() {
    let out = fresh("refused");
    let output = reproduce(&["theorem-5"], &out, &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr)
            .starts_with("error: unknown claim `theorem-5`: did you mean `theorem-"),
        "{}",
        text(&output.stderr)
    );
    assert!(!out.exists());
}

#[test]
fn everything_is_listed() {
    let listed: Value =
        serde_json::from_slice(&run(&["reproduce", "--list", "--format", "json"], "").stdout)
            .unwrap();
    assert_eq!(listed.as_array().unwrap().len(), outlay::claims::CLAIMS.len());
    assert!(text(&run(&["reproduce", "--list"], "").stdout).contains("criterion: "));
}
