//! Requests with the same idempotency key are answered one after the other, so that only the first
//! of them takes round ids.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OwnedMutexGuard;

/// A token and a key.
type Name = (String, String);

/// One lock for each key in use.
#[derive(Debug, Default)]
pub(super) struct KeyLocks {
    locks: Mutex<HashMap<Name, Arc<tokio::sync::Mutex<()>>>>,
}

/// Held while a request with the key is answered.
#[derive(Debug)]
pub(super) struct KeyGuard {
    owner: Arc<KeyLocks>,
    name: Name,
    guard: Option<OwnedMutexGuard<()>>,
}

impl KeyLocks {
    /// Waits until no other request with this key is answered.
    pub(super) async fn lock(self: &Arc<Self>, token: &str, key: &str) -> KeyGuard {
        let name = (token.to_owned(), key.to_owned());
        let lock = {
            let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(locks.entry(name.clone()).or_default())
        };
        // Created first, so that the entry is removed even if this future is dropped while it
        // waits.
        let mut guard = KeyGuard { owner: Arc::clone(self), name, guard: None };
        guard.guard = Some(lock.lock_owned().await);
        guard
    }
}

impl Drop for KeyGuard {
    fn drop(&mut self) {
        let mut locks = self.owner.locks.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.guard.take());
        // One reference belongs to the map; each holder and each waiter has another.
        if locks.get(&self.name).is_some_and(|lock| Arc::strong_count(lock) == 1) {
            locks.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn count(locks: &KeyLocks) -> usize {
        locks.locks.lock().unwrap().len()
    }

    #[tokio::test]
    async fn one_holder_at_a_time_and_free_locks_are_removed() {
        let locks = Arc::new(KeyLocks::default());
        let first = locks.lock("t", "k").await;
        let _other = locks.lock("t", "l").await;
        let _other_token = locks.lock("u", "k").await;
        let mut second = Box::pin(locks.lock("t", "k"));
        let mut third = Box::pin(locks.lock("t", "k"));
        assert!((&mut second).now_or_never().is_none());
        assert!((&mut third).now_or_never().is_none());
        assert_eq!(count(&locks), 3);
        drop(first);
        drop(second);
        let third = third.await;
        drop(third);
        assert_eq!(count(&locks), 2);
    }
}
