//! The walls of the house: what a room may not reach for.

use std::fs;
use std::path::{Path, PathBuf};

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    files
}

/// The code of a file: no comments, and nothing from its tests on.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]").next().unwrap();
    text.lines().map(|line| line.split("//").next().unwrap()).collect::<Vec<_>>().join("\n")
}

fn source_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

#[test]
fn the_library_touches_nothing_outside() {
    let files = sources(&source_folder());
    assert!(files.len() > 30, "the walk found only {} files", files.len());
    for path in files {
        let code = code(&path);
        for forbidden in [
            "std::fs",
            "std::net",
            "std::env",
            "std::process",
            "SystemTime",
            "Instant",
            "println!",
            "unsafe ",
        ] {
            assert!(!code.contains(forbidden), "{} uses {forbidden}", path.display());
        }
        // Many replications run side by side; nothing else does.
        let may_spawn = path.ends_with("experiment/run.rs");
        assert!(may_spawn || !code.contains("std::thread"), "{} uses threads", path.display());
    }
}

/// Who decides knows neither the solver nor the world; only the campaign joins learner and oracle,
/// and only the experiment joins these with an environment.
#[test]
fn rooms_reach_only_for_the_rooms_below_them() {
    let walls: [(&str, &[&str]); 7] = [
        (
            "curve",
            &[
                "problem",
                "oracle",
                "plan",
                "learner",
                "environment",
                "campaign",
                "experiment",
                "replay",
            ],
        ),
        ("problem", &["oracle", "plan", "learner", "environment::", "campaign", "experiment"]),
        ("oracle", &["plan", "learner", "environment", "campaign", "experiment"]),
        ("learner", &["oracle", "plan", "environment", "campaign", "experiment", "theory"]),
        ("environment", &["oracle", "plan", "learner", "campaign", "experiment", "theory"]),
        ("campaign", &["plan", "environment", "experiment", "theory", "replay"]),
        ("experiment", &["replay"]),
    ];
    for (room, above) in walls {
        let mut files = sources(&source_folder().join(room));
        files.extend(Some(source_folder().join(format!("{room}.rs"))).filter(|file| file.exists()));
        for path in files {
            let code = code(&path);
            for other in above {
                assert!(
                    !code.contains(&format!("crate::{other}")),
                    "{} reaches for {other}",
                    path.display()
                );
            }
        }
    }
}
