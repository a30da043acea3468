//! Long computations: without the interpreter's lock, and interruptible by Ctrl-C.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::prelude::*;

/// Interval of the checks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

/// A flag that stops a long computation in any thread.
#[pyclass(frozen, module = "outlay._outlay")]
#[derive(Default)]
pub(crate) struct Stop {
    pub(crate) flag: Arc<AtomicBool>,
}

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Stops the computation that was given this flag; it raises KeyboardInterrupt.
    fn set(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }
}

/// Runs `work` in a separate thread, while this one releases the interpreter's lock and checks for
/// signals. A signal sets `stop` and is raised once the work has ended.
pub(crate) fn interruptibly<T: Send>(
    py: Python<'_>,
    stop: &AtomicBool,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let mut raised = None;
    let result = std::thread::scope(|scope| {
        let (sender, mut receiver) = channel();
        scope.spawn(move || {
            // Sending fails only if the waiting thread has ended.
            let _ = sender.send(work());
        });
        loop {
            let listening = &mut receiver;
            match py.detach(move || listening.recv_timeout(LOOK)) {
                Ok(result) => return Some(result),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(signal) = py.check_signals() {
                        stop.store(true, Ordering::Relaxed);
                        raised.get_or_insert(signal);
                    }
                }
            }
        }
    });
    match (raised, result) {
        (Some(signal), _) => Err(signal),
        (None, Some(result)) => Ok(result),
        (None, None) => Err(pyo3::exceptions::PyRuntimeError::new_err(
            "the work ended without a result; please report this",
        )),
    }
}
