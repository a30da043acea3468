//! Two time limits between requests: a connection may be idle for longer than the headers of a
//! request may take.
//!
//! hyper has one limit for both, which starts when the previous request ends, and gets it from a
//! `Timer`. This timer uses `idle_timeout` until the first byte arrives and `header_timeout` from then
//! on. The first request of a connection has `header_timeout` from the start.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};

use crate::limits::Limits;

/// State shared by the stream and the timer of a connection.
#[derive(Debug)]
pub(crate) struct HeadTimeout {
    begun: Instant,
    is_first: AtomicBool,
    /// Arrival of the first byte of the current request, in microseconds since the start of the
    /// connection; [`NONE`] before that.
    first_byte: AtomicU64,
    header_timeout: Duration,
    idle_timeout: Duration,
}

const NONE: u64 = u64::MAX;

impl HeadTimeout {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            begun: Instant::now(),
            is_first: AtomicBool::new(true),
            first_byte: AtomicU64::new(NONE),
            header_timeout: limits.header_timeout,
            idle_timeout: limits.idle_timeout,
        })
    }

    /// Records that bytes have arrived.
    pub(crate) fn note_bytes(&self) {
        if self.first_byte.load(Ordering::Relaxed) == NONE {
            self.first_byte.store(self.begun.elapsed().as_micros() as u64, Ordering::Relaxed);
        }
    }

    /// The deadline of the headers, once their first byte has arrived.
    fn head_deadline(&self) -> Option<Instant> {
        let first_byte = self.first_byte.load(Ordering::Relaxed);
        (first_byte != NONE)
            .then(|| self.begun + Duration::from_micros(first_byte) + self.header_timeout)
    }
}

/// The timer of one connection.
#[derive(Debug, Clone)]
pub(crate) struct HeadTimer(pub(crate) Arc<HeadTimeout>);

impl Timer for HeadTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(Instant::now() + duration)
    }

    /// Called when hyper starts to wait for the headers of a request.
    fn sleep_until(&self, _: Instant) -> Pin<Box<dyn Sleep>> {
        let timeout = Arc::clone(&self.0);
        let is_first = timeout.is_first.swap(false, Ordering::Relaxed);
        let deadline = if is_first {
            timeout.begun + timeout.header_timeout
        } else {
            timeout.first_byte.store(NONE, Ordering::Relaxed);
            Instant::now() + timeout.idle_timeout
        };
        let sleep = Box::pin(tokio::time::sleep_until(deadline.into()));
        Box::pin(HeadSleep { sleep, timeout, is_idle: !is_first })
    }
}

struct HeadSleep {
    sleep: Pin<Box<tokio::time::Sleep>>,
    timeout: Arc<HeadTimeout>,
    is_idle: bool,
}

impl Sleep for HeadSleep {}

impl Future for HeadSleep {
    type Output = ();

    /// hyper polls this after every read that does not complete the headers.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.is_idle
            && let Some(deadline) = self.timeout.head_deadline()
        {
            self.is_idle = false;
            self.sleep.as_mut().reset(deadline.into());
        }
        self.sleep.as_mut().poll(context)
    }
}
