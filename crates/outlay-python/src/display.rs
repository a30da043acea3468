//! Texts, tables and HTML are made in Python, by `outlay.display`.

use pyo3::prelude::*;

/// Calls a function of `outlay.display`.
pub(crate) fn displayed<'py>(
    thing: &Bound<'py, impl Sized>,
    function: &str,
    arguments: impl pyo3::call::PyCallArgs<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    thing.py().import("outlay.display")?.call_method1(function, arguments)
}
