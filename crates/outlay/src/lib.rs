//! outlay allocates a budget over tasks and proves how far the allocation is from the optimum.
//!
//! In each round a budget `B` is allocated to `K` tasks: ad channels, simultaneous auctions, crowd
//! workers, training jobs. Task `k` succeeds with probability `F_k(x_k)`, a known nondecreasing
//! *curve* of its spend, and a success has the mean reward `value_k`. The [`Oracle`] solves
//!
//! ```text
//! max  sum_k value_k F_k(x_k)    subject to    sum_k x_k <= B,   bounds on each x_k
//! ```
//!
//! for curves of any shape. It returns the allocation with a certificate: its value and an upper
//! bound on the optimal value.
//!
//! ```
//! use outlay::{Curve, Options, Oracle, ProblemSpec, Status, TaskSpec};
//!
//! let problem = ProblemSpec {
//!     budget: 1000.0,
//!     tasks: vec![
//!         TaskSpec::new("search", Curve::exponential(90.0)?),
//!         TaskSpec::new("social", Curve::hill(180.0, 3.0)?.with_ceiling(0.9)?),
//!         TaskSpec {
//!             at_least: Some(200.0),
//!             ..TaskSpec::new("video", Curve::logistic(320.0, 40.0)?)
//!         },
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
//! let feedback = learner.feedback();
//! let play =
//!     Play { problem: &problem, learner: &learner, feedback, horizon: 1000, seed: 1 };
//! let run = play.run(&AtomicBool::new(false))?.unwrap(); // None only if it was stopped
//! assert!((run.regret - 13.52467515).abs() < 1e-6); // the same on every machine
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Modules
//!
//! | module | contents |
//! |---|---|
//! | [`curve`] | budget-to-success curves, one family per file |
//! | [`problem`] | checked problems and problem files; all errors are reported at once |
//! | [`oracle`] | optimal allocations with certificates, and their independent proof |
//! | [`plan`] | evaluation of a given allocation, other budgets, rounding to units |
//! | [`fit`] | curves fitted to logs of spends and successes |
//! | [`feedback`] | outcomes, rewards, and the part of them that a learner observes |
//! | [`learner`] | policies that choose the next allocation from outcomes, one per file |
//! | [`campaign`] | a learner in use: issued rounds, outcomes, saved state |
//! | [`ledger`] | the history of a campaign: rounds, outcomes, repeated reports, corrections |
//! | [`simulation`] | simulated environments, replications, experiments and their summaries |
//! | [`replay`] | learners on recorded outcomes, and tests of the model's assumptions |
//! | [`instance`] | named problems |
//! | [`random`] | the counter-based random number generator |
//! | [`table`] | tables in CSV files, in the forms that spreadsheets write |
//! | [`text`] | suggestions for misspelt names, lists of names |
//! | [`theory`] | regret bounds |
//! | [`claims`] | claims of the paper and of this project as experiments with verdicts |
//!
//! The terms are defined in `docs/reference/glossary.md`.
//!
//! The library does no input or output and reads no clock. Files that a problem names are read
//! through [`problem::Files`].

// Invalid input is an error, never a panic. Only the binaries print.
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
mod json_error;
pub mod learner;
pub mod ledger;
mod names;
mod numeric;
pub mod oracle;
mod parameters;
pub mod plan;
pub mod problem;
pub mod replay;
pub mod simulation;
pub mod table;
pub mod text;
pub mod theory;

pub use curve::Curve;
pub use json_error::JsonError;
pub use names::UnknownName;
pub use numeric::rng as random;
pub use oracle::{Allocation, AllocationError, Options, Oracle, Status, UnspentReason};
pub use parameters::ParameterError;
pub use problem::{
    Bounds, Leftover, Problem, ProblemErrors, ProblemSpec, RewardLaw, RewardOverMax, Task, TaskSpec,
};

/// The Rust examples of the README as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
