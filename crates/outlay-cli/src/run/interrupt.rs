//! Ctrl-C and the request to terminate: work stops soon, what is finished stays.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Failure;
use crate::output::console;

static STOP: AtomicBool = AtomicBool::new(false);
static IS_HEEDED: AtomicBool = AtomicBool::new(false);

/// A flag that is set when somebody wants this process to end. A second time ends it at once.
pub(crate) fn flag() -> Result<&'static AtomicBool, Failure> {
    // Several experiments may follow each other.
    if !IS_HEEDED.swap(true, Ordering::Relaxed) {
        ctrlc::set_handler(|| {
            if STOP.swap(true, Ordering::Relaxed) {
                std::process::exit(console::INTERRUPTED.into());
            }
        })?;
    }
    Ok(&STOP)
}
