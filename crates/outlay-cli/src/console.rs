//! The only place that writes: results to standard output, everything else to standard error.

use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::number;
use crate::report::{Ending, Report};

const CHECK_FAILED: u8 = 1;
const BAD_INPUT: u8 = 2;
/// What shells give a program that was interrupted.
pub(crate) const STOPPED: u8 = 130;

/// Writes a command's result and its remarks, and says how it went.
pub(crate) fn show(report: &Report, quiet: bool) -> ExitCode {
    let mut out = std::io::stdout().lock();
    match out.write_all(report.result.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => {}
        // Whoever read the output has seen enough: `outlay … | head`.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
        Err(error) => return fail(&Failure(format!("cannot write the result: {error}"))),
    }
    for text in &report.remarks {
        // Who stopped it wants to know what is left, however quiet.
        remark(text, quiet && report.ending != Ending::Stopped);
    }
    match report.ending {
        Ending::Done => ExitCode::SUCCESS,
        Ending::CheckFailed => ExitCode::from(CHECK_FAILED),
        Ending::Stopped => ExitCode::from(STOPPED),
    }
}

/// Writes a line of the result before the command is done.
#[cfg(feature = "serve")]
pub(crate) fn announce(line: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .map_err(|error| Failure(format!("cannot write the result: {error}")))
}

/// Says something about the result on standard error.
pub(crate) fn remark(text: &str, quiet: bool) {
    if !quiet {
        say(&format!("{text}\n"));
    }
}

/// Reports bad usage or input.
pub(crate) fn fail(failure: &Failure) -> ExitCode {
    say(&format!("error: {}\n", failure.0));
    ExitCode::from(BAD_INPUT)
}

/// What somebody sees who meets a bug: one line with what to report, never a backtrace.
pub(crate) fn report_bug(panic: &std::panic::PanicHookInfo<'_>) {
    let payload = panic.payload();
    let what = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let what = what.unwrap_or("no message");
    let place = panic
        .location()
        .map(|location| format!(" ({}:{})", location.file(), location.line()))
        .unwrap_or_default();
    say(&format!(
        "error: this is a bug in outlay: {what}{place}; please report it with the problem file\n"
    ));
}

/// Standard error may be closed; there is nowhere left to say so.
fn say(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// A bar on standard error, if that is a terminal and the work takes more than a second.
pub(crate) struct Progress {
    what: &'static str,
    total: usize,
    done: usize,
    /// Steps are not equally long: what they are worth together, and what was done when it began.
    work: Work,
    started: Instant,
    last_shown: Option<Instant>,
    visible: bool,
}

/// How much there is to do, in a unit that is proportional to time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Work {
    /// The unit, if it means something to people: then its rate is shown.
    pub(crate) unit: Option<&'static str>,
    pub(crate) total: f64,
    pub(crate) done: f64,
    /// What had been done before this process began.
    pub(crate) before: f64,
}

impl Progress {
    /// Not redrawn more often than this.
    const INTERVAL: Duration = Duration::from_millis(100);

    pub(crate) fn new(what: &'static str, total: usize, quiet: bool) -> Self {
        Self::resumed(what, total, 0, Work { total: total as f64, ..Work::default() }, quiet)
    }

    /// Progress of which `done` steps, worth `work.before`, are behind already.
    pub(crate) fn resumed(
        what: &'static str,
        total: usize,
        done: usize,
        work: Work,
        quiet: bool,
    ) -> Self {
        let visible = !quiet && std::io::stderr().is_terminal();
        Self {
            what,
            total,
            done,
            work: Work { done: work.before, ..work },
            started: Instant::now(),
            last_shown: None,
            visible,
        }
    }

    pub(crate) fn step(&mut self) {
        self.step_by(1.0);
    }

    /// One step is done, worth so much work.
    pub(crate) fn step_by(&mut self, work: f64) {
        self.done += 1;
        self.work.done += work;
        self.draw();
    }

    /// Does the work and keeps the bar moving meanwhile, also while no step ends.
    pub(crate) fn during<T>(self, work: impl FnOnce(&Mutex<Self>) -> T) -> T {
        let (end, ended) = mpsc::channel::<()>();
        let progress = Mutex::new(self);
        std::thread::scope(|scope| {
            let watched = &progress;
            scope.spawn(move || {
                // The channel is closed when the work ends.
                while ended.recv_timeout(Self::INTERVAL) == Err(RecvTimeoutError::Timeout) {
                    locked(watched).draw();
                }
            });
            let result = work(&progress);
            drop(end);
            result
        })
    }

    fn draw(&mut self) {
        let is_fresh = self.last_shown.is_some_and(|shown| shown.elapsed() < Self::INTERVAL);
        if self.visible && !is_fresh && self.started.elapsed() > Duration::from_secs(1) {
            say(&format!("\r{}\x1b[K", self.line(self.started.elapsed().as_secs_f64())));
            self.last_shown = Some(Instant::now());
        }
    }

    fn line(&self, seconds: f64) -> String {
        const WIDTH: usize = 24;
        let Work { unit, total, done, before } = self.work;
        let share = if total > 0.0 { (done / total).clamp(0.0, 1.0) } else { 1.0 };
        let full = (share * WIDTH as f64) as usize;
        let bar = "█".repeat(full) + &"░".repeat(WIDTH - full);
        let rate = (done - before) / seconds;
        let speed = unit
            .filter(|_| rate > 0.0)
            .map(|unit| format!(" · {} {unit}/s", number::figure(rate)))
            .unwrap_or_default();
        let left = if rate > 0.0 {
            format!(" · {} left", duration((total - done).max(0.0) / rate))
        } else {
            String::new()
        };
        format!(
            "{bar} {:>3.0}% · {} of {} {}{speed}{left}",
            100.0 * share,
            self.done,
            self.total,
            self.what
        )
    }
}

/// What a thread that panicked has left is still a count.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.last_shown.is_some() {
            say("\r\x1b[K");
        }
    }
}

/// `8 s`, `3 min 20 s`, `2 h 5 min`.
pub(crate) fn duration(seconds: f64) -> String {
    // Beyond a few hundred years nobody counts; floats saturate.
    let seconds = seconds.ceil() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_tells_how_far_how_fast_and_how_long() {
        let work = Work { unit: Some("rounds"), total: 1000.0, done: 0.0, before: 200.0 };
        let mut progress = Progress::resumed("replications", 10, 2, work, true);
        (0..3).for_each(|_| progress.step_by(100.0));
        assert_eq!(
            progress.line(2.0),
            "████████████░░░░░░░░░░░░  50% · 5 of 10 replications · 150.0 rounds/s · 4 s left"
        );
    }

    #[test]
    fn durations_in_words() {
        assert_eq!([7.2, 200.0, 7500.0].map(duration), ["8 s", "3 min 20 s", "2 h 5 min"]);
    }
}
