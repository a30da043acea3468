//! Backups and exports are restored unchanged, existing files are never overwritten, and messages
//! say what to do.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{run, text};

const EXPORT: &str = "crates/outlay-cli/tests/cli/data/service.ndjson";

/// An empty folder for one test.
fn fresh(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("archive").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Runs a command; `AT` in its words and its output stands for the folder.
fn outlay(words: &str, at: &Path) -> (Option<i32>, String, String) {
    let at = at.to_str().unwrap();
    let words: Vec<String> = words.split(' ').map(|word| word.replace("AT", at)).collect();
    let output = run(&words.iter().map(String::as_str).collect::<Vec<_>>(), "");
    let shown = |bytes: &[u8]| text(bytes).replace(at, "AT");
    (output.status.code(), shown(&output.stdout), shown(&output.stderr))
}

#[track_caller]
fn done(words: &str, at: &Path) -> String {
    let (code, out, err) = outlay(words, at);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    out
}

#[track_caller]
fn refused(words: &str, at: &Path, message: &str) {
    assert_eq!(outlay(words, at), (Some(2), String::new(), format!("error: {message}\n")));
}

/// Kills an import in the middle of its export.
#[test]
fn a_killed_import_is_detected() {
    let at = fresh("killed");
    let data = at.join("data");
    let arguments = ["import", "-", "--any-file-system", "--data", data.to_str().unwrap()];
    let mut child = super::outlay(&arguments).stdin(Stdio::piped()).spawn().unwrap();
    let mut lines = child.stdin.take().unwrap();
    writeln!(lines, r#"{{"line":"export","form":2}}"#).unwrap();
    for number in 0..2500 {
        let sha256 = "0".repeat(64);
        writeln!(lines, r#"{{"line":"token","id":"t{number}","sha256":"{sha256}","scopes":[],"campaign":null,"created_at":0,"expires_at":null,"revoked_at":null}}"#).unwrap();
    }
    lines.flush().unwrap();
    let begun = Instant::now();
    // Wait until the first batches are on disk; the import then waits for more lines.
    while std::fs::metadata(data.join("outlay.db-wal")).map_or(0, |wal| wal.len()) < 60_000 {
        assert!(begun.elapsed() < Duration::from_secs(30), "the import writes nothing");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    drop(lines);
    let message = "the import into AT/data has not finished, so the store is incomplete: wait for it or, if it was interrupted, remove the folder and import again";
    refused("verify --data AT/data", &at, message);
    refused("serve --any-file-system --listen 127.0.0.1:0 --data AT/data", &at, message);
    refused("export AT/export --data AT/data", &at, message);
    refused(&format!("import {EXPORT} --any-file-system --data AT/data"), &at, message);
    std::fs::remove_dir_all(&data).unwrap();
    done(&format!("import {EXPORT} --any-file-system --data AT/data"), &at);
}

#[test]
fn everything_is_restored() {
    let at = fresh("round-trip");
    let holds = "1 campaign, 3 rounds and 4 outcomes";
    assert_eq!(
        done(&format!("import {EXPORT} --data AT/one --any-file-system"), &at),
        format!("AT/one: {holds}\n")
    );
    assert_eq!(
        done("verify --data AT/one", &at),
        format!("sound: {holds}; every count matches the recorded feedback\n")
    );
    assert_eq!(
        done("backup AT/copy --data AT/one", &at),
        format!(
            "AT/copy: a copy of AT/one with {holds}, up to event 7\nto restore it: `outlay restore AT/copy`\n"
        )
    );
    assert_eq!(
        done("restore AT/copy --data AT/two --any-file-system", &at),
        format!(
            "AT/two: restored from AT/copy with {holds}, up to event 7\nto serve it: `outlay serve --data AT/two`\n"
        )
    );
    assert_eq!(
        done("export AT/two.ndjson --data AT/two", &at),
        format!("AT/two.ndjson: {holds}\n")
    );
    let lines = std::fs::read_to_string(super::root().join(EXPORT)).unwrap();
    assert_eq!(std::fs::read_to_string(at.join("two.ndjson")).unwrap(), lines);
    // To standard output, with the summary on standard error.
    assert_eq!(
        outlay("export --data AT/two", &at),
        (Some(0), lines, format!("exported {holds}\n"))
    );
}

#[test]
fn results_for_programs() {
    let at = fresh("programs");
    done(&format!("import {EXPORT} --data AT/one --any-file-system"), &at);
    let manifest: Value =
        serde_json::from_str(&done("backup AT/copy --data AT/one --format json", &at)).unwrap();
    assert_eq!(
        (&manifest["seq"], &manifest["items"], &manifest["form"]),
        (&7.into(), &4.into(), &7.into())
    );
    assert_eq!(manifest["sha256"].as_str().unwrap().len(), 64);
    let kept: Value =
        serde_json::from_str(&std::fs::read_to_string(at.join("copy/manifest.json")).unwrap())
            .unwrap();
    assert_eq!(kept, manifest);
    let verified: Value =
        serde_json::from_str(&done("verify --data AT/one --format json", &at)).unwrap();
    assert_eq!(
        (&verified["sound"], &verified["faults"]),
        (&true.into(), &Value::Array(Vec::new()))
    );
    assert_eq!(
        done("verify --data AT/one --format csv", &at),
        "sound,campaigns,rounds,items,fault\ntrue,1,3,4,\n"
    );
}

#[test]
fn existing_files_are_not_overwritten() {
    let at = fresh("over");
    done(&format!("import {EXPORT} --data AT/one --any-file-system"), &at);
    done("backup AT/copy --data AT/one", &at);
    refused("backup AT/copy --data AT/one", &at, "AT/copy already exists; name a new folder");
    refused(
        "restore AT/copy --data AT/one --any-file-system",
        &at,
        "AT/one already has a store; name a folder without one",
    );
    let again = format!("import {EXPORT} --data AT/one --any-file-system");
    refused(&again, &at, &format!("{EXPORT}: the store is not empty; import into a new one"));
    assert!(done("verify --data AT/one", &at).starts_with("sound: "));
}

#[test]
fn failed_commands_leave_no_files() {
    let at = fresh("nothing");
    refused(
        "backup AT/copy --data AT/none",
        &at,
        "AT/none has no store: there is no AT/none/outlay.db",
    );
    refused("verify --data AT/none", &at, "AT/none has no store: there is no AT/none/outlay.db");
    refused("import AT/none.ndjson --data AT/new", &at, "cannot read AT/none.ndjson: no such file");
    let lines = std::fs::read_to_string(super::root().join(EXPORT)).unwrap();
    let cut: Vec<&str> = lines.lines().take(5).collect();
    std::fs::write(at.join("cut.ndjson"), cut.join("\n")).unwrap();
    let message = "AT/cut.ndjson: the export is truncated after line 5; export again";
    refused("import AT/cut.ndjson --data AT/new --any-file-system", &at, message);
    refused(
        "token list --data AT/none",
        &at,
        "AT/none has no store; `outlay serve` or `outlay token create` creates one",
    );
    refused(
        "token revoke x --data AT/none",
        &at,
        "AT/none has no store; `outlay serve` or `outlay token create` creates one",
    );
    let unreadable = "cannot read the certificate AT/none.pem: ";
    for (words, part) in [
        (
            "serve --data AT/new --any-file-system --listen 127.0.0.1:0 --tls-cert AT/none.pem --tls-key AT/none.pem",
            unreadable,
        ),
        ("serve --data AT/new --any-file-system --listen 0.0.0.0:0", "there are no tokens yet"),
        (
            "serve --data AT/new --any-file-system --listen 127.0.0.1:0 --metrics 0.0.0.0:0",
            "there are no tokens yet",
        ),
    ] {
        let (code, out, err) = outlay(words, &at);
        assert_eq!((code, out.as_str()), (Some(2), ""));
        assert!(err.starts_with(&format!("error: {part}")), "{err}");
    }
    std::fs::remove_file(at.join("cut.ndjson")).unwrap();
    assert_eq!(std::fs::read_dir(&at).unwrap().count(), 0);
}

/// A truncated export is refused before anything is written to an existing empty store.
#[test]
fn a_truncated_export_is_not_imported() {
    let at = fresh("half");
    let lines = std::fs::read_to_string(super::root().join(EXPORT)).unwrap();
    std::fs::write(at.join("cut.ndjson"), lines.lines().take(5).collect::<Vec<_>>().join("\n"))
        .unwrap();
    let empty = "{\"line\":\"export\",\"form\":2}\n{\"line\":\"end\",\"lines\":1,\"tokens\":0,\"campaigns\":0,\"rounds\":0,\"items\":0,\"corrections\":0}\n";
    std::fs::write(at.join("empty.ndjson"), empty).unwrap();
    done("import AT/empty.ndjson --data AT/one --any-file-system", &at);
    let message = "AT/cut.ndjson: the export is truncated after line 5; export again";
    refused("import AT/cut.ndjson --data AT/one --any-file-system", &at, message);
    done(&format!("import {EXPORT} --data AT/one --any-file-system"), &at);
}

#[test]
fn verify_detects_damaged_stores() {
    let at = fresh("unsound");
    done(&format!("import {EXPORT} --data AT/one --any-file-system"), &at);
    done("backup AT/copy --data AT/one", &at);
    // In the last page, which is in use.
    let path = at.join("one/outlay.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let pages = bytes.len() / 4096;
    (1..pages).for_each(|page| bytes[page * 4096..][..8].fill(0xee));
    std::fs::write(&path, bytes).unwrap();
    let (code, out, err) = outlay("verify --data AT/one", &at);
    assert!(code == Some(1) && out.starts_with("not sound: "), "{code:?} {out} {err}");
    for garbage in [&b"this is no database, however long it may be"[..], &[0; 4096]] {
        std::fs::write(&path, garbage).unwrap();
        let (code, out, err) = outlay("verify --data AT/one", &at);
        assert!(code == Some(1) && out.contains("the file is damaged"), "{code:?} {out} {err}");
    }
    let (code, _, err) = outlay("backup AT/again --data AT/one", &at);
    assert_eq!(code, Some(2), "{err}");
    assert_eq!(std::fs::read_dir(&at).unwrap().count(), 2, "files were left behind");
}
