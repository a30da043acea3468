//! `outlay gc` and `outlay campaign delete` on a folder.

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
