//! Progress bar on standard error.
//!
//! It is shown only on a terminal, without `--quiet`, and only for work that takes more than a
//! second.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use outlay_report::number;

/// Work that takes less time than this shows no progress bar.
const DELAY: Duration = Duration::from_secs(1);
/// Interval between updates while no step ends.
const TICK: Duration = Duration::from_millis(100);

/// The work to be done, counted in steps and in a unit that is proportional to time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Work {
    /// Plural noun for the steps, such as `replications`.
    pub(crate) steps_name: &'static str,
    pub(crate) steps: usize,
    /// Steps that were completed by an earlier process.
    pub(crate) steps_done: usize,
    /// Name of the unit, if its rate should be shown.
    pub(crate) unit: Option<&'static str>,
    /// Units of work of all steps.
    pub(crate) total: f64,
    /// Units of work of the steps already done.
    pub(crate) done: f64,
}

impl Work {
    /// Steps that take about the same time.
    pub(crate) fn equal_steps(steps_name: &'static str, steps: usize) -> Self {
        Self { steps_name, steps, steps_done: 0, unit: None, total: steps as f64, done: 0.0 }
    }
}

/// A progress bar; can be shared between threads.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    steps_name: &'static str,
    steps: usize,
    steps_done: AtomicUsize,
}

/// Runs `run` with a progress bar, which disappears at the end.
pub(crate) fn with_progress<T>(work: Work, quiet: bool, run: impl FnOnce(&Progress) -> T) -> T {
    let progress = Progress::new(work);
    let (end, ended) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let bar = &progress.bar;
        if !quiet {
            scope.spawn(move || {
                // The channel is closed when the work ends.
                if ended.recv_timeout(DELAY) == Err(RecvTimeoutError::Timeout) {
                    // Hidden by the library if standard error is not a terminal.
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                    bar.enable_steady_tick(TICK);
                }
            });
        }
        let result = run(&progress);
        drop(end);
        result
    })
}

impl Progress {
    fn new(work: Work) -> Self {
        let bar = ProgressBar::with_draw_target(
            Some(work.total.round() as u64),
            ProgressDrawTarget::hidden(),
        );
        bar.set_style(style(work.unit));
        bar.set_position(work.done.round() as u64);
        // The work of an earlier process does not count for the rate.
        bar.reset_eta();
        let progress = Self {
            bar,
            steps_name: work.steps_name,
            steps: work.steps,
            steps_done: AtomicUsize::new(work.steps_done),
        };
        progress.show_steps(work.steps_done);
        progress
    }

    /// Records a completed step of one unit of work.
    pub(crate) fn step(&self) {
        self.step_by(1.0);
    }

    /// Records a completed step of `work` units.
    pub(crate) fn step_by(&self, work: f64) {
        let done = self.steps_done.fetch_add(1, Ordering::Relaxed) + 1;
        self.bar.inc(work.round() as u64);
        self.show_steps(done);
    }

    fn show_steps(&self, done: usize) {
        self.bar.set_message(format!("{done} of {} {}", self.steps, self.steps_name));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// `████░░░░  50% · 5 of 10 replications · 150.0 rounds/s · 4 s left`.
fn style(unit: Option<&'static str>) -> ProgressStyle {
    let rate = move |state: &ProgressState, text: &mut dyn std::fmt::Write| {
        let rate = state.per_sec();
        if let Some(unit) = unit.filter(|_| rate > 0.0) {
            let _ = write!(text, " · {} {unit}/s", number::figure(rate));
        }
    };
    let left = |state: &ProgressState, text: &mut dyn std::fmt::Write| {
        if state.per_sec() > 0.0 {
            let _ = write!(text, " · {} left", number::duration(state.eta().as_secs_f64()));
        }
    };
    // The template is a constant: if it were invalid, the default bar would be shown.
    ProgressStyle::with_template("{bar:24} {percent:>3}% · {msg}{rate}{left}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("█░")
        .with_key("rate", rate)
        .with_key("left", left)
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use indicatif::TermLike;

    use super::*;

    /// A terminal that records the lines written to it.
    #[derive(Debug, Clone, Default)]
    struct Terminal(Arc<Mutex<String>>);

    impl TermLike for Terminal {
        fn width(&self) -> u16 {
            200
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, line: &str) -> io::Result<()> {
            self.write_str(line)
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.0.lock().unwrap().push_str(text);
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            self.0.lock().unwrap().clear();
            Ok(())
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_bar_shows_share_steps_rate_and_time_left() {
        let work = Work {
            steps_name: "replications",
            steps: 10,
            steps_done: 2,
            unit: Some("rounds"),
            total: 1000.0,
            done: 200.0,
        };
        let progress = Progress::new(work);
        let terminal = Terminal::default();
        progress.bar.set_draw_target(ProgressDrawTarget::term_like(Box::new(terminal.clone())));
        std::thread::sleep(Duration::from_millis(20));
        (0..3).for_each(|_| progress.step_by(100.0));
        progress.bar.force_draw();
        let shown = terminal.0.lock().unwrap().clone();
        assert!(
            shown.starts_with("████████████░░░░░░░░░░░░  50% · 5 of 10 replications · "),
            "{shown}"
        );
        assert!(shown.contains(" rounds/s · ") && shown.trim_end().ends_with(" left"), "{shown}");
        drop(progress);
        assert_eq!(terminal.0.lock().unwrap().trim(), "");
    }

    #[test]
    fn nothing_is_drawn_for_short_work() {
        let bar = with_progress(Work::equal_steps("budgets", 2), false, |progress| {
            progress.step();
            assert!(progress.bar.is_hidden());
            progress.bar.clone()
        });
        assert!(bar.is_finished());
    }
}
