//! The current time. Tests provide their own clock.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::store::Millis;

/// A clock. It may jump, also backwards; only expiry depends on it.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Milliseconds since 1970.
    fn now(&self) -> Millis;
}

/// A time in RFC 3339. Times beyond the range of the calendar are written as its last one.
pub(crate) fn rfc3339(at: Millis) -> String {
    let end = if at < 0 { jiff::Timestamp::MIN } else { jiff::Timestamp::MAX };
    jiff::Timestamp::from_millisecond(at).unwrap_or(end).to_string()
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Millis {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
    }
}

/// A clock that changes only when it is set.
#[derive(Debug, Default)]
pub struct SetClock(AtomicI64);

impl SetClock {
    /// A clock at `now`.
    #[must_use]
    pub fn new(now: Millis) -> Self {
        Self(AtomicI64::new(now))
    }

    /// Sets the time.
    pub fn set(&self, now: Millis) {
        self.0.store(now, Ordering::SeqCst);
    }
}

impl Clock for SetClock {
    fn now(&self) -> Millis {
        self.0.load(Ordering::SeqCst)
    }
}
