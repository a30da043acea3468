//! Signals: the first one stops the service gracefully, the second one immediately.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Failure;
use crate::output::console::INTERRUPTED;

/// SIGINT, SIGTERM, and SIGHUP of a terminal that is closed.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    /// Installs the handlers; from here on signals do not end the process.
    pub(super) fn listen() -> Result<Self, Failure> {
        let cannot = |error: std::io::Error| Failure(format!("cannot listen to signals: {error}"));
        let interrupt = signal(SignalKind::interrupt()).map_err(cannot)?;
        let terminate = signal(SignalKind::terminate()).map_err(cannot)?;
        let hang_up = signal(SignalKind::hangup()).map_err(cannot)?;
        Ok(Self { interrupt, terminate, hang_up })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }

    /// Waits for the first signal; the second one ends the process.
    pub(super) async fn stop_requested(mut self) {
        self.next().await;
        tracing::info!(
            "stopping: finishing requests in progress; a second signal stops immediately"
        );
        tokio::spawn(async move {
            self.next().await;
            // Acknowledged requests are on disk.
            std::process::exit(i32::from(INTERRUPTED));
        });
    }
}
