//! Who is connected. When every seat is taken, whoever has waited longest without asking for
//! anything gives up his: sockets that are held open to keep others out only keep out each other.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// All connections.
#[derive(Debug)]
pub(crate) struct Connections {
    most: usize,
    begun: Instant,
    next: AtomicU64,
    seats: Mutex<HashMap<u64, Arc<Seat>>>,
    /// Rung when a seat is given up.
    left: Notify,
}

/// What is known of one.
#[derive(Debug)]
struct Seat {
    is_busy: AtomicBool,
    has_asked: AtomicBool,
    /// Microseconds since the beginning.
    waits_since: AtomicU64,
    is_evicted: AtomicBool,
    /// Rung when the seat must be given up, now or after the request that is under way.
    called: Notify,
}

/// Why a seat must be given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    /// Somebody else needs it.
    Evicted,
    /// Everybody is to go when they have their answer.
    Stopping,
}

/// A seat that is taken until it is dropped.
#[derive(Debug)]
pub(crate) struct Taken {
    number: u64,
    seat: Arc<Seat>,
    all: Arc<Connections>,
}

impl Connections {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            begun: Instant::now(),
            next: AtomicU64::new(0),
            seats: Mutex::default(),
            left: Notify::new(),
        })
    }

    fn seats(&self) -> MutexGuard<'_, HashMap<u64, Arc<Seat>>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        self.begun.elapsed().as_micros() as u64
    }

    pub(crate) fn count(&self) -> usize {
        self.seats().len()
    }

    /// A seat, if need be somebody else's; none if everybody is being served.
    pub(crate) fn take(self: &Arc<Self>) -> Option<Taken> {
        let mut seats = self.seats();
        if seats.len() >= self.most {
            let idle = seats.iter().filter(|(_, seat)| !seat.is_busy.load(Ordering::SeqCst));
            // Who never asked for anything goes first.
            let rank = |seat: &Seat| {
                (seat.has_asked.load(Ordering::Relaxed), seat.waits_since.load(Ordering::Relaxed))
            };
            let number = idle.min_by_key(|(_, seat)| rank(seat)).map(|(number, _)| *number)?;
            if let Some(seat) = seats.remove(&number) {
                seat.is_evicted.store(true, Ordering::SeqCst);
                seat.called.notify_one();
            }
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let seat = Arc::new(Seat {
            is_busy: AtomicBool::new(false),
            has_asked: AtomicBool::new(false),
            waits_since: AtomicU64::new(self.now()),
            is_evicted: AtomicBool::new(false),
            called: Notify::new(),
        });
        seats.insert(number, Arc::clone(&seat));
        Some(Taken { number, seat, all: Arc::clone(self) })
    }

    /// Tells everybody to go when they have their answer.
    pub(crate) fn stop(&self) {
        self.seats().values().for_each(|seat| seat.called.notify_one());
    }

    /// Waits until nobody is left, but not for ever; whether nobody is.
    pub(crate) async fn are_gone(&self, patience: Duration) -> bool {
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

impl Taken {
    /// Waits until the seat must be given up.
    pub(crate) async fn called(&self) -> Call {
        self.seat.called.notified().await;
        if self.seat.is_evicted.load(Ordering::SeqCst) { Call::Evicted } else { Call::Stopping }
    }

    /// A request is under way until this is dropped.
    pub(crate) fn busy(&self) -> Busy<'_> {
        self.seat.is_busy.store(true, Ordering::SeqCst);
        self.seat.has_asked.store(true, Ordering::Relaxed);
        Busy(self)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.all.seats().remove(&self.number);
        self.all.left.notify_waiters();
    }
}

/// A request that is under way.
#[derive(Debug)]
pub(crate) struct Busy<'a>(&'a Taken);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.seat.waits_since.store(self.0.all.now(), Ordering::Relaxed);
        self.0.seat.is_busy.store(false, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn is_evicted(taken: &Taken) -> bool {
        taken.called().now_or_never() == Some(Call::Evicted)
    }

    #[test]
    fn whoever_never_asked_goes_first_then_whoever_waited_longest() {
        let all = Connections::new(3);
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
    fn at_the_end_everybody_is_called() {
        let all = Connections::new(2);
        let (one, other) = (all.take().unwrap(), all.take().unwrap());
        assert_eq!(one.called().now_or_never(), None);
        all.stop();
        assert_eq!(
            [one, other].map(|taken| taken.called().now_or_never()),
            [Some(Call::Stopping); 2]
        );
    }

    #[test]
    fn nobody_is_thrown_out_in_the_middle_of_a_request() {
        let all = Connections::new(1);
        let taken = all.take().unwrap();
        let busy = taken.busy();
        assert!(all.take().is_none() && !is_evicted(&taken));
        drop(busy);
        assert!(all.take().is_some() && is_evicted(&taken));
    }
}
