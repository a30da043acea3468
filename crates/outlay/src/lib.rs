//! outlay splits a budget over tasks and proves how far from the best split it can be.
//!
//! Each round a budget `B` is split over `K` tasks: ad channels, simultaneous auctions, crowd
//! workers, training jobs. Task `k` succeeds with probability `F_k(x_k)`, a known nondecreasing
//! *curve* of what it was given, and a success is worth `value_k` on average. The [`Oracle`] solves
//!
//! ```text
//! max  sum_k value_k F_k(x_k)    subject to    sum_k x_k <= B,   bounds on each x_k
//! ```
//!
//! for curves of any shape, and returns a certificate with the split: the value reached and an
//! upper bound on the best value.
//!
//! ```
//! use outlay::{Curve, Options, Oracle, ProblemSpec, Status, TaskSpec};
//!
//! let problem = ProblemSpec {
//!     budget: 1000.0,
//!     tasks: vec![
//!         TaskSpec::new("search", Curve::exponential(90.0)?),
//!         TaskSpec::new("social", Curve::hill(180.0, 3.0)?.with_ceiling(0.9)?),
//!         TaskSpec { at_least: Some(200.0), ..TaskSpec::new("video", Curve::logistic(320.0, 40.0)?) },
//!     ],
//!     ..ProblemSpec::default()
//! }
//! .check()?;
//!
//! let mut oracle = Oracle::new(&problem);
//! for values in [[0.6, 0.5, 0.8], [0.6, 0.5, 0.1]] {
//!     let best = oracle.allocate(&values, problem.budget(), &Options::default())?;
//!     assert_eq!(best.status, Status::Optimal);
//!     assert!((best.spend.iter().sum::<f64>() + best.unspent - 1000.0).abs() < 1e-9);
//!     assert!(best.value <= best.upper_bound && best.gap() < 1e-12);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Learning the values
//!
//! If the value of a success is unknown, a [`campaign::Campaign`] learns it: it issues one
//! allocation per round and accepts outcomes late and in any order. [`simulation`] runs learners
//! against simulated environments and measures their regret. A learner of your own implements
//! [`learner::Learner`] and runs in both beside the built-in ones.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//! use outlay::simulation::Play;
//! use outlay::instance::Instance;
//! use outlay::learner::LearnerChoice;
//!
//! let problem = "power".parse::<Instance>()?.problem(1000, 1)?;
//! let learner: LearnerChoice = "kl-ucb-plus".parse()?;
//! let play = Play { problem: &problem, learner: &learner, feedback: learner.feedback(), horizon: 1000, seed: 1 };
//! let run = play.run(&AtomicBool::new(false))?.unwrap(); // `None` only if `stop` was set
//! assert!((run.regret - 13.52467515).abs() < 1e-6); // the same on every machine
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The rooms
//!
//! | module | what |
//! |---|---|
//! | [`curve`] | budget-to-success curves, one family a file |
//! | [`problem`] | what was written -> what can be solved, or every error at once; problem files |
//! | [`oracle`] | the best split with its certificate; checking and proving it independently |
//! | [`plan`] | a given split against the best one, other budgets, whole units |
//! | [`fit`] | curves from logs of spends and successes |
//! | [`feedback`] | outcomes and rewards, and how much of them is shown |
//! | [`learner`] | policies that choose the next allocation from outcomes, one per file |
//! | [`campaign`] | a learner in use: allocations out, outcomes in, state saved |
//! | [`ledger`] | the daily loop: a campaign with a record of rounds and outcomes, and undo |
//! | [`simulation`] | environments, replications, experiments and their summaries |
//! | [`replay`] | learners on recorded outcomes, and how far a record is from the model |
//! | [`instance`] | problems by name |
//! | [`random`] | the counter-based stream |
//! | [`theory`] | bounds on the regret |
//! | [`claims`] | what the paper and we claim, as experiments with verdicts |
//!
//! The library is pure: no files, network, clock, environment or printing. Files that a problem
//! names are read through [`problem::Files`].

// Bad input is an error, never a panic; only the binary prints.
#![warn(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr
)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod campaign;
pub mod claims;
pub mod curve;
pub mod feedback;
pub mod fit;
pub mod instance;
pub mod learner;
pub mod ledger;
mod named;
pub mod oracle;
pub mod plan;
mod pooling;
pub mod problem;
pub mod random;
pub mod replay;
pub mod simulation;
mod sum;
pub mod theory;
mod vectorised;

pub use curve::Curve;
pub use oracle::{Allocation, AllocationError, Options, Oracle, Status, UnspentReason};
pub use problem::{
    Bounds, Leftover, Problem, ProblemErrors, ProblemSpec, RewardLaw, Task, TaskSpec,
};

/// The Rust of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
