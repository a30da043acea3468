//! Interruption by Ctrl-C or SIGTERM: the work stops soon, and finished parts are kept.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Failure;
use crate::output::console;

static STOP: AtomicBool = AtomicBool::new(false);
static IS_INSTALLED: AtomicBool = AtomicBool::new(false);

/// A flag that is set by the first signal. The second signal ends the process immediately.
pub(crate) fn flag() -> Result<&'static AtomicBool, Failure> {
    // The handler can be installed only once per process.
    if !IS_INSTALLED.swap(true, Ordering::Relaxed) {
        ctrlc::set_handler(|| {
            if STOP.swap(true, Ordering::Relaxed) {
                std::process::exit(console::INTERRUPTED.into());
            }
        })?;
    }
    Ok(&STOP)
}
