//! The compiled half of the Python package `outlay`.
//!
//! Checks and arithmetic are here, one idea a file; words, tables and files are in `python/outlay`.
//! Nothing is decided twice: every number comes from the library `outlay`, every refusal has its
//! text.

// Bad input is an exception, never a panic.
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod allocation;
mod arrays;
mod curves;
mod errors;
mod fitting;
mod learner;
mod plan;
mod problem;
mod simulation;
mod values;
mod waiting;

/// What `outlay` imports as `outlay._outlay`.
#[pyo3::pymodule]
mod _outlay {
    #[pymodule_export]
    use crate::allocation::Allocation;
    #[pymodule_export]
    use crate::curves::success;
    #[pymodule_export]
    use crate::fitting::fit;
    #[pymodule_export]
    use crate::learner::{Learner, Round};
    #[pymodule_export]
    use crate::plan::Evaluation;
    #[pymodule_export]
    use crate::problem::Problem;
    #[pymodule_export]
    use crate::simulation::{check, checkpoints, learners, play, summarise};
    #[pymodule_export]
    use crate::waiting::Stop;
}
