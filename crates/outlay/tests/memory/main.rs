//! Allocations on the heap in rounds and in calls of the oracle.
//!
//! The counting allocator counts for the whole process. These checks therefore have their own
//! program, without the threads of the test harness, and run in sequence.

mod learner;
mod oracle;
#[path = "../support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the binary `main` uses the rest")]
mod support;

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() {
    oracle::no_allocation_after_the_first_calls();
    println!("test oracle::no_allocation_after_the_first_calls ... ok");
    learner::longer_runs_allocate_no_more();
    println!("test learner::longer_runs_allocate_no_more ... ok");
}
