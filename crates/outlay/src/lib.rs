//! outlay splits a budget over tasks, learns from what comes back, and proves how far from the best split it can be.
//!
//! Each round a budget `B` is split over `K` tasks. Task `k` succeeds with probability `F_k(x_k)`, a known nondecreasing
//! *curve* of what it was given, and a success is worth `value_k` on average. The [`Oracle`] solves
//!
//! ```text
//! max  sum_k value_k F_k(x_k)    subject to    sum_k x_k <= B,   bounds on each x_k
//! ```
//!
//! for curves of any shape and returns a certificate with the split: the value reached and an upper bound on the best value.
pub mod curve;
pub mod oracle;
pub mod plan;
pub mod problem;
mod sum;

pub use curve::Curve;
pub use oracle::{Allocation, AllocationError, Options, Oracle, Status, UnspentReason};
pub use problem::{Bounds, Leftover, Problem, ProblemSpec, RewardLaw, Task, TaskSpec};
