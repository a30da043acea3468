//! A split with its certificate, as Python sees it.

use std::sync::{Arc, OnceLock};

use numpy::PyArray1;
use outlay::UnspentReason;
use outlay::plan::{BindingBound, Rounded, TaskOutcome, outcomes};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::arrays::LazyArray;

/// The best split of a budget, and how good it is.
#[pyclass(frozen, module = "outlay")]
pub(crate) struct Allocation {
    problem: Arc<outlay::Problem>,
    values: Vec<f64>,
    allocation: outlay::Allocation,
    rounded: Option<Rounded>,
    outcomes: OnceLock<Vec<TaskOutcome>>,
    spend: LazyArray,
    success: LazyArray,
}

impl Allocation {
    pub(crate) fn new(
        problem: Arc<outlay::Problem>,
        values: Vec<f64>,
        allocation: outlay::Allocation,
        rounded: Option<Rounded>,
    ) -> Self {
        let (spend, success) = (LazyArray::new(), LazyArray::new());
        Self { problem, values, allocation, rounded, outcomes: OnceLock::new(), spend, success }
    }

    fn outcomes(&self) -> &[TaskOutcome] {
        self.outcomes.get_or_init(|| {
            let unit = self.rounded.as_ref().map_or(0.0, |rounded| rounded.unit);
            outcomes(
                &self.problem,
                &self.values,
                self.allocation.budget,
                &self.allocation.spend,
                unit,
            )
        })
    }

    fn of_tasks<'py>(
        &self,
        py: Python<'py>,
        number: fn(&TaskOutcome) -> f64,
    ) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, self.outcomes().iter().map(number).collect())
    }
}

#[pymethods]
impl Allocation {
    /// What was to be spent.
    #[getter]
    fn budget(&self) -> f64 {
        self.allocation.budget
    }

    /// The tasks' names.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.problem.tasks().iter().map(|task| task.name().to_owned()).collect()
    }

    /// What each task gets; read-only, always the same array.
    #[getter]
    fn spend(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        self.spend.get(py, || self.allocation.spend.clone())
    }

    /// Each task's chance of success at its spend; read-only.
    #[getter]
    fn success(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        self.success.get(py, || self.outcomes().iter().map(|outcome| outcome.success).collect())
    }

    /// What a success of each task was taken to be worth.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.values)
    }

    /// Each task's share of the budget.
    #[getter]
    fn share<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.of_tasks(py, |outcome| outcome.share)
    }

    /// Each task's part of the value.
    #[getter]
    fn expected_reward<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.of_tasks(py, |outcome| outcome.expected_reward)
    }

    /// What the next small unit of spend would add at each task.
    #[getter]
    fn marginal_return<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.of_tasks(py, |outcome| outcome.marginal_return)
    }

    /// The bound that holds each task where it is: min, max, fixed, excluded, at_least, or None.
    #[getter]
    fn bound(&self) -> Vec<Option<&'static str>> {
        self.outcomes().iter().map(|outcome| outcome.bound.map(BindingBound::as_str)).collect()
    }

    /// Expected reward of the round.
    #[getter]
    fn value(&self) -> f64 {
        self.allocation.value
    }

    /// No split has a larger value.
    #[getter]
    fn upper_bound(&self) -> f64 {
        self.allocation.upper_bound
    }

    /// `(upper_bound - value) / upper_bound`: no split is better by more than this share.
    #[getter]
    fn gap(&self) -> f64 {
        self.allocation.gap()
    }

    /// What one more unit of budget is worth, by the bound.
    #[getter]
    fn price(&self) -> f64 {
        self.allocation.price
    }

    /// optimal, within_tolerance or limit.
    #[getter]
    fn status(&self) -> &'static str {
        self.allocation.status.as_str()
    }

    /// Budget left unspent.
    #[getter]
    fn unspent(&self) -> f64 {
        self.allocation.unspent
    }

    /// Why some is: at_max, curve_flat, rounding, or None.
    #[getter]
    fn unspent_reason(&self) -> Option<&'static str> {
        if self.allocation.unspent == 0.0 {
            return None;
        }
        let reason = self.allocation.unspent_reason.map(UnspentReason::as_str);
        reason.or(self.rounded.as_ref().map(|_| "rounding"))
    }

    /// The cost of rounding: unit, value_before, loss, upper_bound, which no plan in multiples of the
    /// unit exceeds, and moved_bounds, those that are not multiples. None if nothing was rounded.
    #[getter]
    fn rounding<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(rounded) = &self.rounded else { return Ok(None) };
        let record = PyDict::new(py);
        record.set_item("unit", rounded.unit)?;
        record.set_item("value_before", rounded.value_before)?;
        record.set_item("loss", rounded.loss())?;
        record.set_item("upper_bound", rounded.upper_bound)?;
        let moved_bounds = PyList::empty(py);
        for moved in &rounded.moved_bounds {
            let bound = PyDict::new(py);
            bound.set_item("task", self.problem.tasks()[moved.task].name())?;
            bound.set_item("bound", moved.bound.as_str())?;
            bound.set_item("given", moved.given)?;
            bound.set_item("used", moved.used)?;
            moved_bounds.append(bound)?;
        }
        record.set_item("moved_bounds", moved_bounds)?;
        Ok(Some(record))
    }

    /// What is spent today, task by task; None where nobody said.
    #[getter]
    fn current(&self) -> Vec<Option<f64>> {
        self.problem.tasks().iter().map(outlay::Task::current).collect()
    }

    fn __len__(&self) -> usize {
        self.allocation.spend.len()
    }

    /// One row a task, as a data frame: pandas if it is installed, else polars.
    #[pyo3(signature = (library=None))]
    fn table<'py>(slf: &Bound<'py, Self>, library: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "allocation_table", (slf, library))
    }

    /// What `outlay allocate --format json` writes, as a dictionary.
    fn to_dict<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "allocation_dict", (slf,))
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "allocation_text", (slf,))
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "allocation_html", (slf,))
    }
}

/// How things look is Python's part: a function of `outlay.showing`.
pub(crate) fn shown<'py>(
    thing: &Bound<'py, impl Sized>,
    function: &str,
    arguments: impl pyo3::call::PyCallArgs<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    thing.py().import("outlay.showing")?.call_method1(function, arguments)
}
