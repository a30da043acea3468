//! Dependencies between the modules of the library, and on the operating system.

use std::fs;
use std::path::{Path, PathBuf};

/// The files that may start threads: replications that are simulated at the same time, and the
/// thread pool for problems of many concave tasks. Results do not depend on the number of threads.
const MAY_USE_THREADS: [&str; 2] = ["oracle/concave/threads.rs", "simulation/experiment.rs"];

/// All source files below a folder.
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

/// The code of a file without comments and without its unit tests.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]").next().unwrap();
    text.lines().map(|line| line.split("//").next().unwrap()).collect::<Vec<_>>().join("\n")
}

fn source_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The library opens no file or socket, reads no clock and no environment, and prints nothing.
#[test]
fn the_library_has_no_side_effects() {
    let files = sources(&source_folder());
    assert!(files.len() > 30, "only {} source files were found", files.len());
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
    }
}

/// Only the listed files start threads, and each of them does.
#[test]
fn only_listed_files_use_threads() {
    let folder = source_folder();
    let uses_threads = |path: &PathBuf| {
        let code = code(path);
        code.contains("std::thread") || code.contains("rayon")
    };
    let mut found: Vec<String> = sources(&folder)
        .into_iter()
        .filter(uses_threads)
        .map(|path| path.strip_prefix(&folder).unwrap().to_string_lossy().replace('\\', "/"))
        .collect();
    found.sort();
    assert_eq!(found, MAY_USE_THREADS);
}

/// A module depends only on modules below it: learners know neither the oracle nor the environment,
/// only a campaign joins a learner with the oracle, and only a simulation joins a campaign with an
/// environment.
#[test]
fn modules_depend_only_on_lower_modules() {
    let forbidden: [(&str, &[&str]); 7] = [
        ("curve", &["problem", "oracle", "plan", "learner", "campaign", "simulation", "replay"]),
        ("problem", &["oracle", "plan", "learner", "campaign", "simulation"]),
        ("oracle", &["plan", "learner", "campaign", "simulation"]),
        ("learner", &["oracle", "plan", "campaign", "simulation", "theory"]),
        (
            "simulation/environment",
            &["oracle", "plan", "learner", "campaign", "simulation", "theory"],
        ),
        ("campaign", &["plan", "simulation", "theory", "replay"]),
        ("simulation", &["replay"]),
    ];
    for (module, higher) in forbidden {
        let folder = source_folder().join(module);
        let mut files = if folder.is_dir() { sources(&folder) } else { Vec::new() };
        files.extend(
            Some(source_folder().join(format!("{module}.rs"))).filter(|file| file.exists()),
        );
        assert!(!files.is_empty(), "there is no module {module}");
        for path in files {
            let code = code(&path);
            for other in higher {
                assert!(
                    !code.contains(&format!("crate::{other}")),
                    "{} depends on {other}",
                    path.display()
                );
            }
        }
    }
}
