//! The integration tests of the service, as one binary with one module per topic.
//!
//! Tests that restart the PostgreSQL server are in the binary `outage`.

mod abandoned;
mod desk;
mod http;
mod postgres;
mod shared_counts;
mod stores;
mod support;
