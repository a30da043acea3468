//! How much of anything the service takes on.

use std::time::Duration;

/// Budgets, rewards and values are zero or lie between these, so that what is computed from them is
/// still a number.
pub(crate) const AMOUNTS: std::ops::RangeInclusive<f64> = 1e-100..=1e100;

/// Limits, each with a name that messages and the docs use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Tasks of a problem.
    pub tasks: usize,
    /// Points, samples and jumps of all curves of a problem together.
    pub curve_points: usize,
    /// Bytes of a task's name: answers repeat it for every round.
    pub name_bytes: usize,
    /// Campaigns.
    pub campaigns: usize,
    /// Rounds of one request.
    pub rounds_per_ask: u32,
    /// Rounds of a campaign that wait for something and have not expired.
    pub open_rounds: usize,
    /// Lines of a bulk report.
    pub bulk_lines: usize,
    /// Entries of a page of a list.
    pub page: usize,
    /// Tasks of all entries of a page together, points of all curves of an answer; a page of large
    /// entries has fewer of them.
    pub page_tasks: usize,
    /// Bytes of a request's body.
    pub body_bytes: usize,
    /// Objects and arrays within each other.
    pub json_depth: usize,
    /// Connections at a time.
    pub connections: usize,
    /// Commands that wait for the store.
    pub queue: usize,
    /// Commands in one transaction.
    pub batch: usize,
    /// Bytes of a request's line and headers.
    pub header_bytes: usize,
    /// Requests of one token in a second, twice as many in a burst; 0: any number.
    pub requests_per_second: u32,
    /// For a request's headers to arrive, and how long a connection may be idle.
    pub header_timeout: Duration,
    /// For a request's body to arrive.
    pub body_timeout: Duration,
    /// For an answer, once the request is there.
    pub request_timeout: Duration,
    /// For a client to take some of an answer that waits for it.
    pub unread_timeout: Duration,
    /// For requests under way when the service is told to stop.
    pub drain_timeout: Duration,
    /// Counts that other processes write as well are read again when they are this old, in
    /// milliseconds.
    pub staleness_ms: i64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            tasks: 10_000,
            curve_points: 100_000,
            name_bytes: 256,
            campaigns: 10_000,
            rounds_per_ask: 256,
            open_rounds: 10_000,
            bulk_lines: 10_000,
            page: 1000,
            page_tasks: 100_000,
            body_bytes: 1_000_000,
            json_depth: 32,
            connections: 1024,
            queue: 4096,
            batch: 1024,
            header_bytes: 32_768,
            requests_per_second: 0,
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            request_timeout: Duration::from_secs(15),
            unread_timeout: Duration::from_secs(30),
            drain_timeout: Duration::from_secs(20),
            staleness_ms: 100,
        }
    }
}
