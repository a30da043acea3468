//! The integration tests of the program, as one binary with one module per topic.

#![allow(missing_docs, clippy::print_stdout, reason = "tests")]

mod cli;
#[cfg(all(feature = "serve", target_os = "linux"))]
mod crash;
mod docs;
