//! `outlay gc` and `outlay campaign` on a folder.

use std::path::{Path, PathBuf};

use super::{run, text};

const EXPORT: &str = "crates/outlay-cli/tests/cli/data/service.ndjson";

fn imported(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("retention").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let data = folder.join("data");
    let (code, _, err) =
        outlay(&["import", EXPORT, "--any-file-system", "--data", data.to_str().unwrap()]);
    assert_eq!(code, Some(0), "{err}");
    data
}

fn outlay(words: &[&str]) -> (Option<i32>, String, String) {
    let output = run(words, "");
    (output.status.code(), text(&output.stdout).to_owned(), text(&output.stderr).to_owned())
}

#[test]
fn old_rounds_of_a_folder_are_compacted() {
    let data = imported("gc");
    let data = data.to_str().unwrap();
    let verified = || outlay(&["verify", "--data", data]);
    let before = verified();
    assert_eq!(before.0, Some(0));
    let gc = |more: &[&str]| outlay(&[&["gc", "--data", data, "--retain", "1s"], more].concat());
    let (code, out, _) = gc(&["--dry-run"]);
    assert!(code == Some(0) && out.starts_with("would compact "), "{out}");
    assert!(!out.starts_with("would compact 0"), "nothing to compact in the example");
    let planned = out.split(' ').nth(2).unwrap().to_owned();
    let (code, out, err) = gc(&[]);
    assert!(code == Some(0) && err.is_empty(), "{err}");
    assert!(out.starts_with(&format!("compacted {planned} round")), "{out}");
    assert_eq!(verified(), before, "the same counts");
    assert!(gc(&[]).1.starts_with("compacted 0 rounds with 0 outcomes\n"));
}

#[test]
fn a_campaign_of_a_folder_is_deleted() {
    let data = imported("delete");
    let data = data.to_str().unwrap();
    let export = std::fs::read_to_string(super::root().join(EXPORT)).unwrap();
    let line = export.lines().find(|line| line.contains("\"line\":\"campaign\"")).unwrap();
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    let id = line["id"].as_str().unwrap();
    let delete = |id: &str, more: &[&str]| {
        outlay(&[&["campaign", "delete", id, "--data", data], more].concat())
    };
    let unknown = (Some(2), String::new(), "error: no campaign has the id nobody\n".to_owned());
    assert_eq!(delete("nobody", &[]), unknown);
    let deleted = (Some(0), String::new(), format!("campaign {id} is deleted\n"));
    assert_eq!(delete(id, &["--force"]), deleted);
    assert_eq!(delete(id, &["--force"]).0, Some(2));
    assert_eq!(outlay(&["verify", "--data", data]).0, Some(0));
    let nowhere = outlay(&["gc", "--data", "no-such-folder"]);
    assert_eq!(nowhere.0, Some(2));
    assert!(nowhere.2.contains("has no store"), "{}", nowhere.2);
    assert!(!Path::new("no-such-folder").exists());
}

#[test]
fn a_campaign_of_a_folder_is_amended() {
    let problem = |budget: u64, reward_max: u64, tasks: &[&str]| {
        let curve = serde_json::json!({ "family": "exponential", "scale": 3 });
        let task = |name: &&str| serde_json::json!({ "name": name, "curve": curve });
        let tasks: Vec<_> = tasks.iter().map(task).collect();
        serde_json::json!({ "budget": budget, "reward_max": reward_max, "task": tasks })
    };
    let spec = serde_json::json!({ "problem": problem(10, 5, &["search", "social"]) }).to_string();
    let campaign = serde_json::json!({ "line": "campaign", "id": "spring", "tasks": 2, "at": 0, "by": "", "spec": spec });
    let end =
        r#"{"line":"end","lines":2,"tokens":0,"campaigns":1,"rounds":0,"items":0,"corrections":0}"#;
    let lines = format!("{{\"line\":\"export\",\"form\":5}}\n{campaign}\n{end}\n");
    let data = imported("amend").with_file_name("amended");
    let data = data.to_str().unwrap();
    let import = run(&["import", "-", "--any-file-system", "--data", data], &lines);
    assert_eq!(import.status.code(), Some(0), "{}", text(&import.stderr));
    let amend = |id: &str, problem: &serde_json::Value| {
        let words = ["campaign", "amend", id, "-", "--data", data];
        let output = run(&words, &problem.to_string());
        (output.status.code(), text(&output.stderr).to_owned())
    };
    let autumn = problem(77, 5, &["social", "radio", "video"]);
    let amended = "campaign spring has version 2: 3 tasks with 77 per round\n";
    for _ in 0..2 {
        assert_eq!(amend("spring", &autumn), (Some(0), amended.to_owned()));
    }
    let (code, err) = amend("nobody", &autumn);
    assert!(code == Some(2) && err.contains("there is no campaign nobody"), "{err}");
    let (code, err) = amend("spring", &problem(77, 4, &["social"]));
    assert!(code == Some(2) && err.contains("reward_max: cannot decrease from 5 to 4"), "{err}");
    assert_eq!(outlay(&["verify", "--data", data]).0, Some(0));
}
