//! Told to stop: the first time in good order, the second time at once.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Failure;
use crate::output::console::INTERRUPTED;

/// Both ways to be told.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// From here on signals do not end the process by themselves.
    pub(super) fn listen() -> Result<Self, Failure> {
        let cannot = |error: std::io::Error| Failure(format!("cannot listen to signals: {error}"));
        let interrupt = signal(SignalKind::interrupt()).map_err(cannot)?;
        let terminate = signal(SignalKind::terminate()).map_err(cannot)?;
        Ok(Self { interrupt, terminate })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    /// Waits for the first; the second ends the process wherever it is.
    pub(super) async fn told_to_stop(mut self) {
        self.next().await;
        tracing::info!("stopping: requests under way are finished; once more stops at once");
        tokio::spawn(async move {
            self.next().await;
            // Nothing is lost: what was acknowledged is on disk.
            std::process::exit(i32::from(INTERRUPTED));
        });
    }
}
