//! Curves without a problem: the success probabilities of spends.

use numpy::PyArray1;
use outlay::problem::NoFiles;
use pyo3::prelude::*;

use crate::arrays::numbers;
use crate::errors::{self, ProblemError};

/// The chance of success at each spend, for the curve that a JSON object describes; `budget` is the
/// scale that a power curve without one takes.
#[pyfunction]
pub(crate) fn success<'py>(
    py: Python<'py>,
    curve: &str,
    budget: f64,
    spend: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let document = format!("{{\"budget\": {budget}, \"task\": [{{\"curve\": {curve}}}]}}");
    let problem = outlay::Problem::from_json(&document, &NoFiles)
        .map_err(|errors| errors::problem("the curve", &errors))?;
    let spend = numbers(spend, "spend", ProblemError::new_err)?;
    let Some(task) = problem.tasks().first() else { return Ok(PyArray1::from_vec(py, Vec::new())) };
    Ok(PyArray1::from_vec(
        py,
        spend.as_slice().iter().map(|&spend| task.curve().success(spend)).collect(),
    ))
}
