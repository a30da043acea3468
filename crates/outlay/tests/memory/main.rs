//! Allocations on the heap in rounds and in calls of the oracle.
//!
//! The counting allocator counts for the whole process, the test harness included. These checks
//! therefore have their own binary, with a single test that runs them in sequence.

mod learner;
mod oracle;
#[path = "../support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the binary `main` uses the rest")]
mod support;

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[test]
fn nothing_is_allocated_per_round() {
    oracle::no_allocation_after_the_first_calls();
    learner::longer_runs_allocate_no_more();
}
