//! The only place that writes: results to standard output, everything else to standard error.

use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::report::Report;

const CHECK_FAILED: u8 = 1;
const BAD_INPUT: u8 = 2;

/// Writes a command's result and its remarks, and says how it went.
pub(crate) fn show(report: &Report, quiet: bool) -> ExitCode {
    let mut out = std::io::stdout().lock();
    match out.write_all(report.result.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => {}
        // Whoever read the output has seen enough: `outlay … | head`.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
        Err(error) => return fail(&Failure(format!("cannot write the result: {error}"))),
    }
    if !quiet {
        for remark in &report.remarks {
            say(&format!("{remark}\n"));
        }
    }
    if report.holds { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) }
}

/// Reports bad usage or input.
pub(crate) fn fail(failure: &Failure) -> ExitCode {
    say(&format!("error: {}\n", failure.0));
    ExitCode::from(BAD_INPUT)
}

/// What somebody sees who meets a bug: one line with what to report, never a backtrace.
pub(crate) fn report_bug(panic: &std::panic::PanicHookInfo<'_>) {
    let payload = panic.payload();
    let what = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let what = what.unwrap_or("no message");
    let place = panic.location().map(|location| format!(" ({}:{})", location.file(), location.line())).unwrap_or_default();
    say(&format!("error: this is a bug in outlay: {what}{place}; please report it with the problem file\n"));
}

/// Standard error may be closed; there is nowhere left to say so.
fn say(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// A line on standard error that counts what is done, if that is a terminal and the work takes more than a second.
pub(crate) struct Progress {
    what: &'static str,
    total: usize,
    done: usize,
    started: Instant,
    visible: bool,
    shown: bool,
}

impl Progress {
    pub(crate) fn new(what: &'static str, total: usize, quiet: bool) -> Self {
        let visible = !quiet && std::io::stderr().is_terminal();
        Self { what, total, done: 0, started: Instant::now(), visible, shown: false }
    }

    pub(crate) fn step(&mut self) {
        self.done += 1;
        if self.visible && self.started.elapsed() > Duration::from_secs(1) {
            say(&format!("\r{} {} of {}", self.what, self.done, self.total));
            self.shown = true;
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            say("\r\x1b[K");
        }
    }
}
