//! Standard output and standard error: results, remarks, errors and exit codes.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use super::{CommandOutput, Ending};
use crate::failure::Failure;

const CHECK_FAILED: u8 = 1;
const INVALID_INPUT: u8 = 2;
/// Exit code of a program that was interrupted, by the convention of shells.
pub(crate) const INTERRUPTED: u8 = 130;

/// Writes a command's result and remarks, and returns its exit code.
pub(crate) fn show(output: &CommandOutput, quiet: bool) -> ExitCode {
    let mut out = std::io::stdout().lock();
    match out.write_all(output.result.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => {}
        // The reader has closed the pipe, as in `outlay … | head`.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
        Err(error) => return fail(&Failure(format!("cannot write the result: {error}"))),
    }
    for text in &output.remarks {
        // After an interruption, the remark says what was kept. It is printed even with --quiet.
        remark(text, quiet && output.ending != Ending::Interrupted);
    }
    match output.ending {
        Ending::Success => ExitCode::SUCCESS,
        Ending::CheckFailed => ExitCode::from(CHECK_FAILED),
        Ending::Interrupted => ExitCode::from(INTERRUPTED),
    }
}

/// Writes a line of the result while the command is still running.
#[cfg(feature = "serve")]
pub(crate) fn announce(line: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .map_err(|error| Failure(format!("cannot write the result: {error}")))
}

/// Writes a remark to standard error unless `quiet`.
pub(crate) fn remark(text: &str, quiet: bool) {
    if !quiet {
        write_stderr(&format!("{text}\n"));
    }
}

/// Writes an error message and returns the exit code for invalid usage or input.
pub(crate) fn fail(failure: &Failure) -> ExitCode {
    write_stderr(&format!("error: {}\n", failure.0));
    ExitCode::from(INVALID_INPUT)
}

/// Panic hook: one line with the information to report, without a backtrace.
pub(crate) fn report_bug(panic: &std::panic::PanicHookInfo<'_>) {
    let payload = panic.payload();
    let message = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    let location = panic
        .location()
        .map(|location| format!(" ({}:{})", location.file(), location.line()))
        .unwrap_or_default();
    write_stderr(&format!(
        "error: this is a bug in outlay: {message}{location}; please report it with the problem \
         file\n"
    ));
}

/// Errors are ignored: if standard error is closed, they cannot be reported.
fn write_stderr(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
