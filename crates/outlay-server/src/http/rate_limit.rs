//! Rate limit per token: a token bucket.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A bucket holds the requests of this many seconds, so that short bursts are allowed.
const BURST_SECONDS: f64 = 2.0;

/// The buckets of all tokens in use.
#[derive(Debug)]
pub(crate) struct RateLimit {
    /// 0 means unlimited.
    per_second: f64,
    buckets: Mutex<HashMap<String, Bucket>>,
}

#[derive(Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl RateLimit {
    pub(crate) fn new(per_second: u32) -> Self {
        Self { per_second: f64::from(per_second), buckets: Mutex::default() }
    }

    /// Takes one request from the bucket of a token.
    ///
    /// # Errors
    /// If the bucket is empty; with the seconds until it is not.
    pub(crate) fn take(&self, token: &str, now: Instant) -> Result<(), u64> {
        if self.per_second == 0.0 {
            return Ok(());
        }
        // Only valid tokens get here, so there are never more buckets than tokens.
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let most = (self.per_second * BURST_SECONDS).max(1.0);
        if !buckets.contains_key(token) {
            buckets.insert(token.to_owned(), Bucket { left: most, at: now });
        }
        let Some(bucket) = buckets.get_mut(token) else { return Ok(()) };
        let passed = now.saturating_duration_since(bucket.at).as_secs_f64();
        *bucket = Bucket { left: (bucket.left + passed * self.per_second).min(most), at: now };
        if bucket.left < 1.0 {
            return Err(((1.0 - bucket.left) / self.per_second).ceil() as u64);
        }
        bucket.left -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn bursts_are_allowed_and_more_is_refused() {
        let (rates, begun) = (RateLimit::new(10), Instant::now());
        let count = |token: &str, now: Instant| {
            (0..1000).take_while(|_| rates.take(token, now).is_ok()).count()
        };
        assert_eq!(count("a", begun), 20);
        assert_eq!(count("b", begun), 20, "each caller has its own bucket");
        assert_eq!(rates.take("a", begun), Err(1));
        assert_eq!(count("a", begun + Duration::from_millis(500)), 5);
        assert_eq!(count("a", begun + Duration::from_secs(3600)), 20, "it does not fill for ever");
        assert_eq!(count("a", begun), 0, "a clock that goes back gives nothing");
    }

    #[test]
    fn without_a_limit_there_is_none() {
        let (rates, now) = (RateLimit::new(0), Instant::now());
        assert!((0..100_000).all(|_| rates.take("a", now).is_ok()));
    }
}
