//! Writes log lines on a separate thread, so that a reader of the log that stalls does not stall
//! requests. Lines beyond a limit are dropped, and their number is logged.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

use tracing_subscriber::fmt::MakeWriter;

use crate::args::LogFormat;

/// Lines that wait to be written: some megabytes.
const WAITING_LINES: usize = 8192;
/// Lines are written together up to this size.
const CHUNK_BYTES: usize = 64 * 1024;
/// For the remaining lines to be written at the end.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

enum Message {
    Line(Vec<u8>),
    /// Answer when everything before this is written.
    Flush(Sender<()>),
}

/// Accepts log lines without blocking.
#[derive(Clone)]
pub(super) struct BackgroundWriter {
    lines: SyncSender<Message>,
    dropped: Arc<AtomicU64>,
}

/// Waits for lines to be written when it is dropped.
pub(in crate::commands::serve) struct Flush(SyncSender<Message>);

impl BackgroundWriter {
    pub(super) fn start(out: impl Write + Send + 'static, format: LogFormat) -> (Self, Flush) {
        let (lines, waiting) = sync_channel(WAITING_LINES);
        let dropped = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&dropped);
        std::thread::spawn(move || write_all(&waiting, out, &counter, format));
        (Self { lines: lines.clone(), dropped }, Flush(lines))
    }
}

impl Drop for Flush {
    fn drop(&mut self) {
        let (done, is_done) = channel();
        // A full queue means that the log is not being read.
        if self.0.try_send(Message::Flush(done)).is_ok() {
            let _ = is_done.recv_timeout(FLUSH_TIMEOUT);
        }
    }
}

impl<'a> MakeWriter<'a> for BackgroundWriter {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// Every call of `write` is a whole line.
impl Write for BackgroundWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.lines.try_send(Message::Line(line.to_vec())).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_all(
    waiting: &Receiver<Message>,
    mut out: impl Write,
    dropped: &AtomicU64,
    format: LogFormat,
) {
    let mut chunk = Vec::new();
    while let Ok(message) = waiting.recv() {
        let mut next = Some(message);
        let mut flushed = None;
        while let Some(message) = next.take() {
            match message {
                Message::Line(line) => chunk.extend_from_slice(&line),
                Message::Flush(done) => flushed = Some(done),
            }
            if chunk.len() < CHUNK_BYTES && flushed.is_none() {
                next = waiting.try_recv().ok();
            }
        }
        match dropped.swap(0, Ordering::Relaxed) {
            0 => {}
            count => chunk.extend_from_slice(dropped_line(count, format).as_bytes()),
        }
        // A log that cannot be written must not stop the service.
        let _ = out.write_all(&chunk).and_then(|()| out.flush());
        chunk.clear();
        if let Some(done) = flushed {
            let _ = done.send(());
        }
    }
}

fn dropped_line(count: u64, format: LogFormat) -> String {
    let message = "log lines were dropped, because they were not read fast enough";
    match format {
        LogFormat::Text => format!("WARN {count} {message}\n"),
        LogFormat::Json => {
            let line = serde_json::json!({ "level": "WARN", "message": message, "count": count });
            format!("{line}\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Instant;

    use super::*;

    /// Blocks until it is allowed to write.
    struct Stalled {
        go: Receiver<()>,
        written: Sender<Vec<u8>>,
    }

    impl Write for Stalled {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.go.recv();
            let _ = self.written.send(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_stalled_reader_delays_nothing_and_lost_lines_are_counted() {
        let ((allow, go), (written, output)) = (mpsc::channel(), mpsc::channel());
        let (writer, flush) = BackgroundWriter::start(Stalled { go, written }, LogFormat::Json);
        let begun = Instant::now();
        // More than the queue and the first chunk hold, however fast the lines are taken.
        let count = 2 * WAITING_LINES + CHUNK_BYTES;
        for number in 0..count {
            writer.make_writer().write_all(format!("{number}\n").as_bytes()).unwrap();
        }
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
        // From now on it writes.
        drop(allow);
        let end = Instant::now() + Duration::from_secs(20);
        let mut text = String::new();
        while !text.contains("dropped") && Instant::now() < end {
            text +=
                &String::from_utf8(output.recv_timeout(Duration::from_secs(20)).unwrap()).unwrap();
        }
        drop(flush);
        text.extend(output.try_iter().map(|bytes| String::from_utf8(bytes).unwrap()));
        let dropped: u64 = text
            .lines()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
            .filter_map(|line| line["count"].as_u64())
            .sum();
        let lines = text.lines().filter(|line| line.parse::<u64>().is_ok()).count();
        assert!(dropped > 0 && text.starts_with("0\n"));
        assert_eq!(lines as u64 + dropped, count as u64);
    }

    #[test]
    fn all_lines_are_written_at_the_end() {
        let ((allow, go), (written, output)) = (mpsc::channel(), mpsc::channel());
        drop(allow);
        let (mut writer, flush) = BackgroundWriter::start(Stalled { go, written }, LogFormat::Text);
        writer.write_all(b"last words\n").unwrap();
        drop(flush);
        let text: Vec<u8> = output.try_iter().flatten().collect();
        assert_eq!(text, b"last words\n");
    }
}
