//! Shared by the benchmark programs: clocks, random instances, tables, and lower limits of the
//! machine.
#![allow(
    clippy::print_stdout,
    missing_docs,
    missing_debug_implementations,
    reason = "only the benchmark programs use it"
)]

pub mod by_hand;
pub mod clock;
pub mod instances;
pub mod limits;
pub mod play;
pub mod solve;
pub mod table;
