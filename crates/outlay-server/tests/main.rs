//! The integration tests of the service, as one binary with one module per topic.
//!
//! Tests that restart the PostgreSQL server are in the binary `outage`.

mod abandoned;
mod horizon;
mod http;
mod isolation;
mod long_keys;
mod new_tokens;
mod postgres;
mod same_key;
mod service;
mod shared_counts;
mod stores;
mod support;
