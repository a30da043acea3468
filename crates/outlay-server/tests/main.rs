//! The integration tests of the service, as one binary with one module per topic.
//!
//! Tests that restart the PostgreSQL server are in the binary `outage`.

mod abandoned;
mod http;
mod isolation;
mod postgres;
mod service;
mod shared_counts;
mod stores;
mod support;
