//! Series and data frames of pandas and polars: aligned with the tasks by label.
//!
//! `outlay.labels` in Python does the alignment; this module decides whether it is needed.

use numpy::PyUntypedArray;
use outlay::Problem;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// The argument that numbers were given for: its name, the column of a data frame that holds them,
/// and the exception for invalid ones.
#[derive(Clone, Copy)]
pub(crate) struct Argument {
    pub(crate) name: &'static str,
    pub(crate) column: &'static str,
    pub(crate) error: fn(String) -> PyErr,
}

/// The numbers in the order of the tasks: unchanged unless they are a Series or a data frame.
pub(crate) fn aligned<'py>(
    problem: &Problem,
    given: &Bound<'py, PyAny>,
    argument: Argument,
) -> PyResult<Bound<'py, PyAny>> {
    if !may_have_labels(given) {
        return Ok(given.clone());
    }
    let arguments = (given, names(problem), argument.name, argument.column);
    call(given.py(), "align", arguments, argument.error)
}

/// The cells of a matrix with one column per task: unchanged unless they are a data frame.
pub(crate) fn aligned_columns<'py>(
    problem: &Problem,
    given: &Bound<'py, PyAny>,
    argument: Argument,
) -> PyResult<Bound<'py, PyAny>> {
    if !is_frame(given) {
        return Ok(given.clone());
    }
    let arguments = (given, names(problem), argument.name);
    call(given.py(), "align_columns", arguments, argument.error)
}

/// Whether it is a data frame of pandas or polars.
pub(crate) fn is_frame(given: &Bound<'_, PyAny>) -> bool {
    may_have_labels(given) && given.hasattr("columns").unwrap_or(false)
}

/// Arrays, lists and numbers are the common cases and have no labels.
fn may_have_labels(given: &Bound<'_, PyAny>) -> bool {
    let is_plain = given.is_instance_of::<PyList>()
        || given.is_instance_of::<PyTuple>()
        || given.cast::<PyUntypedArray>().is_ok();
    !is_plain && given.hasattr("to_numpy").unwrap_or(false)
}

fn names(problem: &Problem) -> Vec<&str> {
    problem.tasks().iter().map(outlay::Task::name).collect()
}

fn call<'py>(
    py: Python<'py>,
    function: &str,
    arguments: impl pyo3::call::PyCallArgs<'py>,
    error: fn(String) -> PyErr,
) -> PyResult<Bound<'py, PyAny>> {
    let labels = py.import("outlay.labels")?;
    let result = labels.call_method1(function, arguments);
    result.map_err(|raised| {
        let is_label_error = labels
            .getattr("LabelError")
            .is_ok_and(|class| raised.matches(py, class).unwrap_or(false));
        if is_label_error { error(raised.value(py).to_string()) } else { raised }
    })
}
