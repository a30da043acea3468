//! Numbers to and from Python: numpy arrays without a copy, everything else through numpy.

use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyBool;

/// A list of numbers, borrowed if possible.
pub(crate) enum List<'py, T: numpy::Element> {
    Array(PyReadonlyArray1<'py, T>),
    Copied(Vec<T>),
}

impl<T: numpy::Element> List<'_, T> {
    pub(crate) fn as_slice(&self) -> &[T] {
        match self {
            // Non-contiguous arrays were copied on conversion.
            Self::Array(array) => array.as_slice().unwrap_or_default(),
            Self::Copied(list) => list,
        }
    }
}

fn taken<'py, T: numpy::Element>(given: &Bound<'py, PyAny>) -> Option<PyReadonlyArray1<'py, T>> {
    let array = given.cast::<PyArray1<T>>().ok()?.try_readonly().ok()?;
    array.is_contiguous().then_some(array)
}

/// Numbers as floats; `refuse` creates the exception.
pub(crate) fn numbers<'py>(
    given: &Bound<'py, PyAny>,
    what: &str,
    refuse: impl Fn(String) -> PyErr,
) -> PyResult<List<'py, f64>> {
    if let Some(array) = taken(given) {
        return Ok(List::Array(array));
    }
    if let Ok(list) = given.extract::<Vec<f64>>() {
        return Ok(List::Copied(list));
    }
    let py = given.py();
    let array = py.import("numpy")?.call_method1("asarray", (given, "float64"));
    let array = array.and_then(|array| Ok(array.cast_into::<PyArray1<f64>>()?));
    array
        .map(|array| List::Copied(array.readonly().as_array().to_vec()))
        .map_err(|_| refuse(format!("{what}: must be a list of numbers")))
}

/// Booleans; ones and zeros are accepted.
pub(crate) fn flags<'py>(
    given: &Bound<'py, PyAny>,
    what: &str,
    refuse: impl Fn(String) -> PyErr,
) -> PyResult<List<'py, bool>> {
    if let Some(array) = taken(given) {
        return Ok(List::Array(array));
    }
    if let Ok(list) = given.extract::<Vec<bool>>() {
        return Ok(List::Copied(list));
    }
    let numbers = numbers(given, what, &refuse)
        .map_err(|_| refuse(format!("{what}: must be a list of true and false")))?;
    let flag = |(place, number): (usize, &f64)| match *number {
        1.0 => Ok(true),
        0.0 => Ok(false),
        other => {
            Err(refuse(format!("{what}[{place}]: must be true or false (or 1, 0), not {other}")))
        }
    };
    numbers
        .as_slice()
        .iter()
        .enumerate()
        .map(flag)
        .collect::<PyResult<Vec<bool>>>()
        .map(List::Copied)
}

/// One boolean; one and zero are accepted.
pub(crate) fn flag(given: &Bound<'_, PyAny>) -> Option<bool> {
    if let Ok(flag) = given.cast::<PyBool>() {
        return Some(flag.is_true());
    }
    match given.extract::<f64>() {
        Ok(1.0) => Some(true),
        Ok(0.0) => Some(false),
        _ => given.extract::<bool>().ok(),
    }
}

/// An array that is created on first access and then shared, so it is read-only.
pub(crate) struct LazyArray(PyOnceLock<Py<PyArray1<f64>>>);

impl LazyArray {
    pub(crate) const fn new() -> Self {
        Self(PyOnceLock::new())
    }

    pub(crate) fn get(
        &self,
        py: Python<'_>,
        numbers: impl FnOnce() -> Vec<f64>,
    ) -> Py<PyArray1<f64>> {
        let made = self.0.get_or_init(py, || fixed(py, numbers()).unbind());
        made.clone_ref(py)
    }
}

/// A read-only array.
pub(crate) fn fixed(py: Python<'_>, numbers: Vec<f64>) -> Bound<'_, PyArray1<f64>> {
    let array = PyArray1::from_vec(py, numbers);
    array.readwrite().make_nonwriteable();
    array
}
