//! The compiled half of the Python package `outlay`.
//!
//! Checks and arithmetic are here; texts, tables and files are in `python/outlay`. Every number comes
//! from the library `outlay`, and errors have its messages.

// Invalid input is an exception, never a panic.
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod allocation;
mod arrays;
mod columns;
mod curves;
mod custom_learner;
mod display;
mod environment;
mod errors;
mod fitting;
mod labels;
mod learner;
mod ledger;
mod pages;
mod plan;
mod problem;
mod random;
mod replay;
mod report;
mod round;
mod simulation;
mod theory;
mod values;
mod waiting;

/// The module `outlay._outlay`.
#[pyo3::pymodule]
mod _outlay {
    #[pymodule_export]
    use crate::allocation::{_load_allocation, Allocation, frontier_page};
    #[pymodule_export]
    use crate::curves::success;
    #[pymodule_export]
    use crate::custom_learner::Counts;
    #[pymodule_export]
    use crate::environment::Environment;
    #[pymodule_export]
    use crate::fitting::fit;
    #[pymodule_export]
    use crate::learner::Learner;
    #[pymodule_export]
    use crate::ledger::Ledger;
    #[pymodule_export]
    use crate::plan::Evaluation;
    #[pymodule_export]
    use crate::problem::Problem;
    #[pymodule_export]
    use crate::random::{Draws, purposes};
    #[pymodule_export]
    use crate::replay::replay;
    #[pymodule_export]
    use crate::round::{_load_round, Round};
    #[pymodule_export]
    use crate::simulation::{check, checkpoints, learners, play, simulation_page, summarise};
    #[pymodule_export]
    use crate::theory::{bound, check_problem, claims, reproduce};
    #[pymodule_export]
    use crate::waiting::Stop;
}
