//! Limits the number of connections. When every slot is taken, the connection that has been idle
//! longest is closed, so sockets that are held open only compete with each other.
//!
//! A plain semaphore (`tower::limit`, `tokio::sync`) would not evict: sixty silent sockets would
//! block all clients from sixty slots until they time out, see
//! `held_sockets_do_not_block_other_clients` in `tests/http/hostile.rs`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// A connection counts as in use for this long after a request. Without it more busy clients than
/// slots would evict each other between two requests, and all of them would spend their time on new
/// connections.
const IN_USE: Duration = Duration::from_millis(500);

/// All connections.
#[derive(Debug)]
pub(crate) struct ConnectionLimit {
    most: usize,
    in_use: Duration,
    begun: Instant,
    next: AtomicU64,
    slots: Mutex<HashMap<u64, Arc<Slot>>>,
    /// Notified when a slot becomes free.
    left: Notify,
}

/// State of a connection.
#[derive(Debug)]
struct Slot {
    is_busy: AtomicBool,
    has_asked: AtomicBool,
    /// Microseconds since the start.
    waits_since: AtomicU64,
    is_evicted: AtomicBool,
    /// Notified when the slot must be given up, now or after the request in progress.
    closed: Notify,
}

impl Slot {
    /// Whether no request is in progress, and none has ended since then.
    fn is_idle(&self, since: u64) -> bool {
        let was_idle = self.waits_since.load(Ordering::Relaxed) <= since;
        let is_in_use = self.has_asked.load(Ordering::Relaxed) && !was_idle;
        !is_in_use && !self.is_busy.load(Ordering::SeqCst)
    }
}

/// Why a slot must be given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CloseReason {
    /// A new connection needs the slot.
    Evicted,
    /// The server is stopping; a response in progress is finished first.
    Stopping,
}

/// Holds a slot until it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    number: u64,
    slot: Arc<Slot>,
    all: Arc<ConnectionLimit>,
}

impl ConnectionLimit {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Self::with(most, IN_USE)
    }

    fn with(most: usize, in_use: Duration) -> Arc<Self> {
        Arc::new(Self {
            most,
            in_use,
            begun: Instant::now(),
            next: AtomicU64::new(0),
            slots: Mutex::default(),
            left: Notify::new(),
        })
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<u64, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        self.begun.elapsed().as_micros() as u64
    }

    pub(crate) fn count(&self) -> usize {
        self.slots().len()
    }

    /// Takes a slot and evicts an idle connection if all are taken. `None` if every connection has a
    /// request in progress or had one a moment ago.
    pub(crate) fn take(self: &Arc<Self>) -> Option<ConnectionPermit> {
        let mut slots = self.slots();
        if slots.len() >= self.most {
            let used_since = self.now().saturating_sub(self.in_use.as_micros() as u64);
            let idle = slots.iter().filter(|(_, slot)| slot.is_idle(used_since));
            // Connections that never sent a request are evicted first.
            let rank = |slot: &Slot| {
                (slot.has_asked.load(Ordering::Relaxed), slot.waits_since.load(Ordering::Relaxed))
            };
            let number = idle.min_by_key(|(_, slot)| rank(slot)).map(|(number, _)| *number)?;
            if let Some(slot) = slots.remove(&number) {
                slot.is_evicted.store(true, Ordering::SeqCst);
                slot.closed.notify_one();
            }
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let slot = Arc::new(Slot {
            is_busy: AtomicBool::new(false),
            has_asked: AtomicBool::new(false),
            waits_since: AtomicU64::new(self.now()),
            is_evicted: AtomicBool::new(false),
            closed: Notify::new(),
        });
        slots.insert(number, Arc::clone(&slot));
        Some(ConnectionPermit { number, slot, all: Arc::clone(self) })
    }

    /// Closes all connections, each after its response in progress.
    pub(crate) fn stop(&self) {
        self.slots().values().for_each(|slot| slot.closed.notify_one());
    }

    /// Waits up to `patience` until all connections are closed; true if they are.
    pub(crate) async fn all_closed(&self, patience: Duration) -> bool {
        let gone = async {
            loop {
                let left = self.left.notified();
                if self.count() == 0 {
                    return;
                }
                left.await;
            }
        };
        tokio::time::timeout(patience, gone).await.is_ok()
    }
}

impl ConnectionPermit {
    /// Waits until the slot must be given up.
    pub(crate) async fn closed(&self) -> CloseReason {
        self.slot.closed.notified().await;
        if self.slot.is_evicted.load(Ordering::SeqCst) {
            CloseReason::Evicted
        } else {
            CloseReason::Stopping
        }
    }

    /// Marks a request as in progress until this is dropped.
    pub(crate) fn busy(&self) -> Busy<'_> {
        self.slot.is_busy.store(true, Ordering::SeqCst);
        self.slot.has_asked.store(true, Ordering::Relaxed);
        Busy(self)
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.all.slots().remove(&self.number);
        self.all.left.notify_waiters();
    }
}

/// A request in progress.
#[derive(Debug)]
pub(crate) struct Busy<'a>(&'a ConnectionPermit);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.slot.waits_since.store(self.0.all.now(), Ordering::Relaxed);
        self.0.slot.is_busy.store(false, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn is_evicted(permit: &ConnectionPermit) -> bool {
        permit.closed().now_or_never() == Some(CloseReason::Evicted)
    }

    #[test]
    fn silent_connections_are_evicted_first_then_the_longest_idle() {
        let all = ConnectionLimit::with(3, Duration::ZERO);
        let (old, silent, fresh) = (all.take().unwrap(), all.take().unwrap(), all.take().unwrap());
        drop(old.busy());
        std::thread::sleep(Duration::from_millis(1));
        drop(fresh.busy());
        let first = all.take().unwrap();
        assert!(is_evicted(&silent) && !is_evicted(&old) && !is_evicted(&fresh));
        let busy = first.busy();
        let _second = all.take().unwrap();
        assert!(is_evicted(&old) && !is_evicted(&fresh));
        assert_eq!(all.count(), 3);
        drop(busy);
    }

    #[test]
    fn connections_in_use_are_not_evicted_between_two_requests() {
        let all = ConnectionLimit::with(2, Duration::from_millis(50));
        let (used, silent) = (all.take().unwrap(), all.take().unwrap());
        drop(used.busy());
        let next = all.take().unwrap();
        assert!(is_evicted(&silent) && !is_evicted(&used));
        drop(next.busy());
        assert!(all.take().is_none(), "both had a request a moment ago");
        std::thread::sleep(Duration::from_millis(60));
        assert!(all.take().is_some() && is_evicted(&used));
    }

    #[test]
    fn stop_closes_all_connections() {
        let all = ConnectionLimit::new(2);
        let (one, other) = (all.take().unwrap(), all.take().unwrap());
        assert_eq!(one.closed().now_or_never(), None);
        all.stop();
        assert_eq!(
            [one, other].map(|permit| permit.closed().now_or_never()),
            [Some(CloseReason::Stopping); 2]
        );
    }

    #[test]
    fn busy_connections_are_not_evicted() {
        let all = ConnectionLimit::with(1, Duration::ZERO);
        let permit = all.take().unwrap();
        let busy = permit.busy();
        assert!(all.take().is_none() && !is_evicted(&permit));
        drop(busy);
        assert!(all.take().is_some() && is_evicted(&permit));
    }
}
