//! Curves from logs.
use pyo3::prelude::*;
/// x
#[pyfunction]
pub(crate) fn fit() {}
