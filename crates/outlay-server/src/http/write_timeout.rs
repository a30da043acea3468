//! Timeout for unread responses: a client that reads nothing would keep its connection, and the
//! memory of the response, forever. Neither hyper nor `tower_http` limits this time: their limits
//! end when the response is passed to the connection, see `a_client_that_does_not_read_is_disconnected` in
//! `tests/http/hostile.rs`.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::head_timeout::HeadTimeout;

/// The time since which a client has read nothing of a pending response.
#[derive(Debug)]
pub(crate) struct WriteTimeout {
    begun: Instant,
    /// Microseconds after the start plus one; 0 means that nothing is pending.
    since: AtomicU64,
}

impl WriteTimeout {
    pub(crate) fn new() -> Self {
        Self { begun: Instant::now(), since: AtomicU64::new(0) }
    }

    /// True if data has been pending for this long.
    pub(crate) fn is_over(&self, patience: Duration) -> bool {
        let since = self.since.load(Ordering::Relaxed);
        since > 0
            && self.begun.elapsed().saturating_sub(Duration::from_micros(since - 1)) >= patience
    }

    /// Records the result of an attempt to write.
    fn note<T>(&self, sent: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        let waits = self.since.load(Ordering::Relaxed) > 0;
        if sent.is_ready() && waits {
            self.since.store(0, Ordering::Relaxed);
        } else if sent.is_pending() && !waits {
            self.since.store(self.begun.elapsed().as_micros() as u64 + 1, Ordering::Relaxed);
        }
        sent
    }
}

/// A stream with this timeout.
#[derive(Debug)]
pub(crate) struct TimedStream<'a, S> {
    pub(crate) stream: S,
    pub(crate) write_timeout: &'a WriteTimeout,
    pub(crate) head_timeout: &'a HeadTimeout,
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedStream<'_, S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.head_timeout.note_bytes();
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedStream<'_, S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.write_timeout.note(sent)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.write_timeout.note(sent)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// TLS buffers data that the client does not read, and writes it here.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let sent = Pin::new(&mut self.stream).poll_flush(context);
        self.write_timeout.note(sent)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let sent = Pin::new(&mut self.stream).poll_shutdown(context);
        self.write_timeout.note(sent)
    }
}
