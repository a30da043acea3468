//! Logging to standard error.

mod background;

use std::io::IsTerminal;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use self::background::BackgroundWriter;
use crate::args::{LogFormat, LogLevel};

/// Starts logging, until the result is dropped. Messages of other libraries below the level of a
/// warning are omitted.
pub(super) fn start(level: LogLevel, format: LogFormat) -> background::Flush {
    let level = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    };
    let others = level.min(LevelFilter::WARN);
    let filter = Targets::new()
        .with_default(others)
        .with_target("outlay", level)
        .with_target("outlay_server", level);
    let (writer, flush) = BackgroundWriter::start(std::io::stderr(), format);
    let lines = fmt::layer().with_writer(writer).with_target(false);
    let log = tracing_subscriber::registry().with(filter);
    // Only tests start logging twice; the first logger stays active.
    let _ = match format {
        LogFormat::Text => log.with(lines.with_ansi(std::io::stderr().is_terminal())).try_init(),
        LogFormat::Json => log.with(lines.json().flatten_event(true)).try_init(),
    };
    flush
}
