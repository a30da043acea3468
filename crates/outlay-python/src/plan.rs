//! A plan compared with the best allocation.

use std::sync::Arc;

use numpy::PyArray1;
use outlay::plan::Comparison;
use pyo3::prelude::*;

use crate::allocation::Allocation;
use crate::display::displayed;
use crate::errors::StateError;
use crate::pages::{Chosen, decision};
use crate::problem::Asked;

/// The value of a plan beside the best allocation. Iterates over the tasks, one dictionary each.
///
/// Examples
/// --------
/// >>> import outlay
/// >>> found = outlay.Problem.load("power:tasks=2").evaluate([0.2, 0.8])
/// >>> found.lift >= 0
/// True
#[pyclass(frozen, module = "outlay")]
pub(crate) struct Evaluation {
    problem: Arc<outlay::Problem>,
    values: Vec<f64>,
    asked: Asked,
    found: outlay::plan::Evaluation,
    best: Py<Allocation>,
    best_for_total: Option<Py<Allocation>>,
}

impl Evaluation {
    pub(crate) fn new(
        problem: &Arc<outlay::Problem>,
        values: &[f64],
        asked: Asked,
        found: outlay::plan::Evaluation,
    ) -> PyResult<Self> {
        Python::attach(|py| {
            let split = |comparison: &Comparison| {
                Py::new(
                    py,
                    Allocation::new(
                        Arc::clone(problem),
                        values.to_vec(),
                        comparison.allocation.clone(),
                        None,
                    ),
                )
            };
            let (best, best_for_total) =
                (split(&found.best)?, found.best_for_total.as_ref().map(split).transpose()?);
            let (problem, values) = (Arc::clone(problem), values.to_vec());
            Ok(Self { problem, values, asked, found, best, best_for_total })
        })
    }
}

#[pymethods]
impl Evaluation {
    /// The budget of a round.
    #[getter]
    fn budget(&self) -> f64 {
        self.found.budget
    }

    /// The spend of each task under the plan.
    #[getter]
    fn plan<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.found.plan)
    }

    /// The total spend of the plan.
    #[getter]
    fn total(&self) -> f64 {
        self.found.total
    }

    /// The expected reward of a round under the plan.
    #[getter]
    fn value(&self) -> f64 {
        self.found.value
    }

    /// The violated constraints in words; empty if the plan is feasible.
    #[getter]
    fn violations(&self) -> Vec<String> {
        self.found.violations.iter().map(ToString::to_string).collect()
    }

    /// The best allocation of the budget.
    #[getter]
    fn best(&self, py: Python<'_>) -> Py<Allocation> {
        self.best.clone_ref(py)
    }

    /// The best allocation of the plan's own total; None if that is the budget.
    #[getter]
    fn best_for_total(&self, py: Python<'_>) -> Option<Py<Allocation>> {
        self.best_for_total.as_ref().map(|best| best.clone_ref(py))
    }

    /// The value of the best allocation minus that of the plan.
    #[getter]
    fn lift(&self) -> f64 {
        self.found.best.lift
    }

    /// The lift relative to the plan's value; None if that is zero.
    #[getter]
    fn relative_lift(&self) -> Option<f64> {
        self.found.best.relative_lift
    }

    /// The change of each spend from the plan to the best allocation.
    #[getter]
    fn moves<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.found.best.moves)
    }

    /// Whether the plan itself is the best allocation known.
    #[getter]
    fn keeps_plan(&self) -> bool {
        self.found.best.keeps_plan
    }

    /// One row per task, as a data frame.
    ///
    /// Parameters
    /// ----------
    /// library : {"pandas", "polars"}, optional
    ///     By default pandas if it is installed, else polars.
    ///
    /// Returns
    /// -------
    /// DataFrame
    ///
    /// Raises
    /// ------
    /// MissingLibraryError
    ///     If the library is not installed.
    ///
    /// Examples
    /// --------
    /// >>> import outlay
    /// >>> problem = outlay.Problem.load("power:tasks=2")
    /// >>> len(problem.evaluate([0.2, 0.8]).table())
    /// 2
    #[pyo3(signature = (library=None))]
    fn table<'py>(slf: &Bound<'py, Self>, library: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
        displayed(slf, "evaluation_table", (slf, library))
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        displayed(slf, "evaluation_text", (slf,))
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        displayed(slf, "evaluation_html", (slf,))
    }

    /// Draws the plan beside the best allocation; needs matplotlib.
    ///
    /// Parameters
    /// ----------
    /// axes : matplotlib.axes.Axes, optional
    ///     Where to draw; by default new axes.
    ///
    /// Returns
    /// -------
    /// matplotlib.axes.Axes
    ///
    /// Raises
    /// ------
    /// MissingLibraryError
    ///     If matplotlib is not installed.
    ///
    /// Examples
    /// --------
    /// >>> import outlay
    /// >>> problem = outlay.Problem.load("power:tasks=2")
    /// >>> axes = problem.evaluate([0.2, 0.8]).plot()
    #[pyo3(signature = (axes=None))]
    fn plot<'py>(
        slf: &Bound<'py, Self>,
        axes: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("outlay.plotting")?.call_method1("evaluation_plot", (slf, axes))
    }

    fn _page(&self, title: String, headline: Vec<String>) -> PyResult<String> {
        let (problem, values) = (self.problem.as_ref(), self.values.as_slice());
        let (allocation, plan) = (&self.found.best.allocation, Some(self.found.plan.as_slice()));
        decision(&Chosen { problem, values, allocation, plan, unit: 0.0 }, title, headline)
    }

    /// Writes an HTML report with figures, as `outlay evaluate --report`.
    ///
    /// Parameters
    /// ----------
    /// path : path-like
    ///     The file.
    /// title : str, optional
    ///     The title of the page.
    ///
    /// Raises
    /// ------
    /// FileError
    ///     If the file cannot be written.
    ///
    /// Examples
    /// --------
    /// >>> import os, outlay, tempfile
    /// >>> path = os.path.join(tempfile.mkdtemp(), "report.html")
    /// >>> outlay.Problem.load("power:tasks=2").evaluate([0.2, 0.8]).report(path)
    /// >>> os.path.exists(path)
    /// True
    #[pyo3(signature = (path, title=None))]
    fn report<'py>(
        slf: &Bound<'py, Self>,
        path: Bound<'py, PyAny>,
        title: Option<&str>,
    ) -> PyResult<()> {
        slf.py().import("outlay.reports")?.call_method1("evaluation_report", (slf, path, title))?;
        Ok(())
    }

    fn __len__(&self) -> usize {
        self.found.plan.len()
    }

    /// Iterates over the tasks, one dictionary each.
    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        displayed(slf, "evaluation_rows", (slf,))
    }

    /// A pickled evaluation is computed again when it is loaded.
    #[allow(clippy::type_complexity, reason = "the arguments of a function")]
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (String, Vec<f64>, Vec<f64>, f64, Asked))> {
        let problem = serde_json::to_string(self.problem.as_ref())
            .map_err(|error| StateError::new_err(error.to_string()))?;
        let load = py.import("outlay.problem")?.getattr("_load_evaluation")?;
        let (plan, values) = (self.found.plan.clone(), self.values.clone());
        Ok((load, (problem, plan, values, self.found.budget, self.asked.clone())))
    }
}
