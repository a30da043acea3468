//! Limits of the service.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Budgets, rewards and values are zero or in this range, so that all derived numbers are finite.
pub(crate) const AMOUNTS: std::ops::RangeInclusive<f64> = 1e-100..=1e100;

/// Limits. Messages, the configuration and the docs use the names of the fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Tasks per problem.
    pub tasks: usize,
    /// Points, samples and jumps of all curves of a problem, in total.
    pub curve_points: usize,
    /// Bytes of a task name, which responses repeat for every round.
    pub name_bytes: usize,
    /// Campaigns.
    pub campaigns: usize,
    /// Rounds per request.
    pub rounds_per_ask: u32,
    /// Rounds of a campaign that have outstanding outcomes and have not expired.
    pub open_rounds: usize,
    /// Lines per bulk report.
    pub bulk_lines: usize,
    /// Entries per page of a list.
    pub page: usize,
    /// Tasks of all entries of a page in total, and points of all curves of a response; a page of
    /// large entries has fewer entries.
    pub page_tasks: usize,
    /// Bytes of a request body.
    pub body_bytes: usize,
    /// Nesting depth of JSON objects and arrays.
    pub json_depth: usize,
    /// Concurrent connections.
    pub connections: usize,
    /// Commands in the queue of the store.
    pub queue: usize,
    /// Commands and outcomes per transaction; a larger request gets a separate transaction.
    pub batch: usize,
    /// Bytes of the request line and headers.
    pub header_bytes: usize,
    /// Requests per second and token, twice as many in a burst; 0 means unlimited.
    pub requests_per_second: u32,
    /// Time for the headers of a request to arrive, from their first byte; for the first request,
    /// from the start of the connection.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub header_timeout: Duration,
    /// Time for which an idle connection stays open. Most proxies close idle connections after
    /// 60 s, so the default lets them close first.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub idle_timeout: Duration,
    /// Time for the body of a request to arrive.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub body_timeout: Duration,
    /// Time for a response, once the request has arrived.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub request_timeout: Duration,
    /// Time for computing a split, including the wait for other computations.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub solve_timeout: Duration,
    /// Time within which a client must read a part of a pending response.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub unread_timeout: Duration,
    /// Time for requests in progress to finish when the service stops.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub drain_timeout: Duration,
    /// Age in milliseconds after which counts are read again, if other processes also write them.
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
            open_rounds: 100_000,
            bulk_lines: 10_000,
            page: 1000,
            page_tasks: 100_000,
            body_bytes: 1_000_000,
            json_depth: 32,
            connections: 4096,
            queue: 4096,
            batch: 2048,
            header_bytes: 32_768,
            requests_per_second: 0,
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(75),
            body_timeout: Duration::from_secs(30),
            request_timeout: Duration::from_secs(15),
            solve_timeout: Duration::from_secs(10),
            unread_timeout: Duration::from_secs(30),
            drain_timeout: Duration::from_secs(20),
            staleness_ms: 100,
        }
    }
}

impl Limits {
    /// Checks that each limit is in its range.
    ///
    /// # Errors
    /// The first limit out of range, with the expected range.
    pub fn check(&self) -> Result<(), LimitError> {
        let counts = [
            ("tasks", self.tasks, usize::MAX),
            ("curve_points", self.curve_points, usize::MAX),
            ("name_bytes", self.name_bytes, usize::MAX),
            ("campaigns", self.campaigns, usize::MAX),
            ("rounds_per_ask", self.rounds_per_ask as usize, MAX_ROUNDS_PER_ASK),
            ("open_rounds", self.open_rounds, usize::MAX),
            ("bulk_lines", self.bulk_lines, usize::MAX),
            ("page", self.page, usize::MAX),
            ("page_tasks", self.page_tasks, usize::MAX),
            ("body_bytes", self.body_bytes, usize::MAX),
            ("json_depth", self.json_depth, MAX_JSON_DEPTH),
            ("connections", self.connections, usize::MAX),
            ("queue", self.queue, usize::MAX),
            ("batch", self.batch, usize::MAX),
            ("header_bytes", self.header_bytes, MAX_HEADER_BYTES),
        ];
        for (name, value, max) in counts {
            if value == 0 || value > max {
                return Err(LimitError::Count { name, value, max });
            }
        }
        let times = [
            ("header_timeout", self.header_timeout),
            ("idle_timeout", self.idle_timeout),
            ("body_timeout", self.body_timeout),
            ("request_timeout", self.request_timeout),
            ("solve_timeout", self.solve_timeout),
            ("unread_timeout", self.unread_timeout),
        ];
        match times.into_iter().find(|(_, time)| *time < MIN_TIMEOUT || *time > MAX_TIMEOUT) {
            Some((name, time)) => Err(LimitError::Time { name, time }),
            None => Ok(()),
        }
    }
}

/// More rounds in one response would exceed any reasonable body.
const MAX_ROUNDS_PER_ASK: usize = 100_000;
/// Deeper documents could exhaust the stack of a thread.
const MAX_JSON_DEPTH: usize = 128;
const MAX_HEADER_BYTES: usize = 1 << 20;
const MIN_TIMEOUT: Duration = Duration::from_millis(1);
const MAX_TIMEOUT: Duration = Duration::from_secs(86_400);

/// A limit outside its range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// A count.
    #[error("the limit {name} is {value}; expected {}", range(*max))]
    Count {
        /// Name of the limit.
        name: &'static str,
        /// Its value.
        value: usize,
        /// The largest value allowed.
        max: usize,
    },
    /// A time.
    #[error("the limit {name} is {time:?}; expected a time between 1 ms and 1 day")]
    Time {
        /// Name of the limit.
        name: &'static str,
        /// Its value.
        time: Duration,
    },
}

fn range(max: usize) -> String {
    match max {
        usize::MAX => "at least 1".to_owned(),
        max => format!("1 to {max}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_is_checked() {
        assert_eq!(Limits::default().check(), Ok(()));
        let zero = |name: &str| {
            let mut table = serde_json::to_value(Limits::default()).unwrap();
            let is_time = table[name].is_string();
            table[name] = if is_time { "0s".into() } else { 0.into() };
            serde_json::from_value::<Limits>(table).unwrap().check()
        };
        let table = serde_json::to_value(Limits::default()).unwrap();
        for name in table.as_object().unwrap().keys() {
            let may_be_zero =
                ["requests_per_second", "drain_timeout", "staleness_ms"].contains(&&**name);
            assert_eq!(zero(name).is_ok(), may_be_zero, "{name}");
        }
        let deep = Limits { json_depth: 129, ..Limits::default() };
        assert_eq!(
            deep.check().unwrap_err().to_string(),
            "the limit json_depth is 129; expected 1 to 128"
        );
    }
}
