//! Runs the guides as a reader would: a shell executes the `shell-session` blocks of a guide one
//! after the other in a fresh copy of the examples, and must print the output in the guide.
//! `GUIDES=overwrite cargo test --release -p outlay-cli --test main guides` updates the guides with
//! the current output; review the difference.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{pages, root};

const OPEN: &str = "```shell-session";
const CLOSE: &str = "```";

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_folder(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}

/// The output of a shell for a command, with both streams in order, and its exit code if it is not
/// 0.
fn printed(command: &str, folder: &Path) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_outlay")).parent().unwrap();
    let path = std::env::join_paths(
        [binary.to_owned()]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    )
    .unwrap();
    let script = format!("exec 2>&1\n{command}");
    let output = Command::new("bash")
        .args(["-c", &script])
        .current_dir(folder)
        .env("PATH", path)
        .env("COLUMNS", "100")
        .output()
        .unwrap();
    let mut text = String::from_utf8(output.stdout).unwrap();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    match output.status.code() {
        Some(0) => text,
        code => format!("{text}? {}\n", code.map_or("killed".to_owned(), |code| code.to_string())),
    }
}

/// The guide with the current output of its commands.
fn followed(guide: &str, folder: &Path) -> String {
    let mut text = String::new();
    let mut lines = guide.lines().peekable();
    while let Some(line) = lines.next() {
        text += &format!("{line}\n");
        if line != OPEN {
            continue;
        }
        while let Some(line) = lines.next_if(|line| *line != CLOSE) {
            // Skips the old output, which follows each command.
            let Some(first) = line.strip_prefix("$ ") else { continue };
            let mut command = first.to_owned();
            text += &format!("{line}\n");
            while let Some(more) = lines.next_if(|line| line.starts_with("> ")) {
                text += &format!("{more}\n");
                command += &format!("\n{}", &more[2..]);
            }
            text += &printed(&command, folder);
        }
    }
    text
}

#[test]
fn guides_match_the_program() {
    let root = root();
    let mut guides: Vec<PathBuf> = std::fs::read_dir(root.join("examples"))
        .unwrap()
        .map(|entry| entry.unwrap().path().join("README.md"))
        .collect();
    guides.extend(pages());
    guides.retain(|path| {
        path.is_file() && std::fs::read_to_string(path).is_ok_and(|text| text.contains(OPEN))
    });
    guides.sort();
    assert!(!guides.is_empty(), "no guide was found");
    let mut wrong = Vec::new();
    for guide in guides {
        let name = guide.strip_prefix(&root).unwrap().to_owned();
        let copy = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("guides")
            .join(name.to_string_lossy().replace('/', "-"));
        let _ = std::fs::remove_dir_all(&copy);
        copy_folder(&root.join("examples"), &copy.join("examples"));
        // Commands of a guide beside an example run in its folder, those of a guide in the docs in
        // the root.
        let folder =
            if name.starts_with("examples") { copy.join(name.parent().unwrap()) } else { copy };
        let said = std::fs::read_to_string(&guide).unwrap();
        let now = followed(&said, &folder);
        if said == now {
            continue;
        }
        if std::env::var_os("GUIDES").is_some_and(|wish| wish == "overwrite") {
            std::fs::write(&guide, now).unwrap();
            continue;
        }
        let (line, (before, after)) = said
            .lines()
            .zip(now.lines())
            .enumerate()
            .find(|(_, (one, other))| one != other)
            .unwrap_or_default();
        wrong.push(format!(
            "{}, line {}:\n  says   {before}\n  prints {after}",
            name.display(),
            line + 1
        ));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
