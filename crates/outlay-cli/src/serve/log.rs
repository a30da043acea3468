//! The log, on standard error.

use std::io::IsTerminal;

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt;

use crate::arguments::{LogFormat, LogLevel};

/// Starts it. What other libraries have to say below a warning is left out: it is not about the service.
pub(super) fn begin(level: LogLevel, format: LogFormat) {
    let level = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    };
    let others = level.min(LevelFilter::WARN);
    let filter = tracing_subscriber::EnvFilter::new(format!("{others},outlay={level},outlay_server={level}"));
    let builder = fmt().with_writer(std::io::stderr).with_env_filter(filter).with_target(false);
    // A second start in the same process is a test's; the first log goes on.
    let _ = match format {
        LogFormat::Text => builder.with_ansi(std::io::stderr().is_terminal()).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
}
