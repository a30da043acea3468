//! Tests of the binary: output, streams and exit codes.

mod amend;
#[cfg(feature = "serve")]
mod archive;
mod bound;
mod clipped_rewards;
mod counts;
mod csv_files;
mod daily;
mod decision_report;
#[cfg(feature = "serve")]
mod demo;
mod errors;
mod fit;
mod fit_update;
#[cfg(feature = "parquet")]
mod parquet;
mod replay;
mod replay_rows;
mod reproduce;
#[cfg(feature = "serve")]
mod retention;
#[cfg(feature = "serve")]
mod serve;
mod simulate;
mod snapshots;
mod streams;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The root of the repository; paths of examples are relative to it.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn outlay(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_outlay"));
    command.args(arguments).current_dir(root());
    command
}

/// Runs the binary with `input` on standard input.
fn run(arguments: &[&str], input: &str) -> Output {
    let mut child = outlay(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that does not read its input closes the pipe early.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}
