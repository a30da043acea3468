//! An allocation with its certificate.

use std::sync::{Arc, OnceLock};

use numpy::PyArray1;
use outlay::UnspentReason;
use outlay::curve::Shape;
use outlay::plan::{BindingBound, MovedBound, Rounded, TaskOutcome, outcomes};
use outlay::problem::NoFiles;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::arrays::LazyArray;
use crate::display::displayed;
use crate::errors::{self, StateError};
use crate::pages::{Chosen, budgets, decision};

/// The best allocation of a budget, with its certificate. Iterates over the tasks, one dictionary
/// each.
///
/// Examples
/// --------
/// >>> import outlay
/// >>> best = outlay.Problem.load("square-roots:means=0.6;0.8").allocate()
/// >>> [row["spend"].__round__(2) for row in best]
/// [0.36, 0.64]
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
    /// The budget.
    #[getter]
    fn budget(&self) -> f64 {
        self.allocation.budget
    }

    /// The names of the tasks.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.problem.tasks().iter().map(|task| task.name().to_owned()).collect()
    }

    /// The spend of each task. The array is read-only and always the same one.
    #[getter]
    fn spend(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        self.spend.get(py, || self.allocation.spend.clone())
    }

    /// The success probability of each task at its spend. Read-only.
    #[getter]
    fn success(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        self.success.get(py, || self.outcomes().iter().map(|outcome| outcome.success).collect())
    }

    /// The value of a success of each task that was used.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.values)
    }

    /// Each task's share of the budget.
    #[getter]
    fn share<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.of_tasks(py, |outcome| outcome.share)
    }

    /// The expected number of completions of each task: its volume times its success probability.
    #[getter]
    fn expected_completions<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.of_tasks(py, |outcome| outcome.completions)
    }

    /// The expected reward of each task.
    #[getter]
    fn expected_reward<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.of_tasks(py, |outcome| outcome.expected_reward)
    }

    /// The value that a small additional spend would add, per unit, for each task.
    #[getter]
    fn marginal_return<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.of_tasks(py, |outcome| outcome.marginal_return)
    }

    /// The largest gain per unit of more spend of each task; None where no larger spend is allowed.
    #[getter]
    fn return_up(&self) -> Vec<Option<f64>> {
        self.outcomes().iter().map(|outcome| outcome.return_up).collect()
    }

    /// The smallest loss per unit of less spend of each task; None where no smaller spend is allowed.
    #[getter]
    fn return_down(&self) -> Vec<Option<f64>> {
        self.outcomes().iter().map(|outcome| outcome.return_down).collect()
    }

    /// The expected reward per unit of spend of each task; None without spend.
    #[getter]
    fn return_on_spend(&self) -> Vec<Option<f64>> {
        self.outcomes().iter().map(|outcome| outcome.return_on_spend).collect()
    }

    /// The spend per expected completion of each task; None where none is expected.
    #[getter]
    fn cost_per_completion(&self) -> Vec<Option<f64>> {
        self.outcomes().iter().map(|outcome| outcome.cost_per_completion).collect()
    }

    /// Whether the curve of each task is constant except for jumps.
    #[getter]
    fn _is_stepped(&self) -> Vec<bool> {
        let is_stepped = |task: &outlay::Task| matches!(task.curve().shape(), Shape::Steps { .. });
        self.problem.tasks().iter().map(is_stepped).collect()
    }

    /// The units of tables: currency, period and reward_unit.
    #[getter]
    fn _units(&self) -> (Option<&str>, &str, Option<&str>) {
        let units = self.problem.units();
        (units.currency(), units.period(), units.reward_unit())
    }

    /// The binding bound of each task: min, max, fixed, excluded, retired, at_least, or None.
    #[getter]
    fn bound(&self) -> Vec<Option<&'static str>> {
        self.outcomes().iter().map(|outcome| outcome.bound.map(BindingBound::as_str)).collect()
    }

    /// Expected reward of the round.
    #[getter]
    fn value(&self) -> f64 {
        self.allocation.value
    }

    /// An upper bound on the value of every allocation.
    #[getter]
    fn upper_bound(&self) -> f64 {
        self.allocation.upper_bound
    }

    /// The relative optimality gap, `(upper_bound - value) / upper_bound`.
    #[getter]
    fn gap(&self) -> f64 {
        self.allocation.gap()
    }

    /// The shadow price: the value of one more unit of budget.
    #[getter]
    fn price(&self) -> f64 {
        self.allocation.price
    }

    /// The proved quality: optimal, within_tolerance or limit.
    #[getter]
    fn status(&self) -> &'static str {
        self.allocation.status.as_str()
    }

    /// Unspent budget.
    #[getter]
    fn unspent(&self) -> f64 {
        self.allocation.unspent
    }

    /// Why budget is unspent: at_max, curve_flat, rounding, or None.
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

    /// Whether the curve of each task is extrapolated: its spend is outside `covers`, the range of
    /// the log that the curve was fitted to. None if no task has `covers`.
    #[getter]
    fn extrapolates(&self) -> Option<Vec<bool>> {
        let tasks = self.problem.tasks();
        let has_covers = tasks.iter().any(|task| task.covers().is_some());
        let spends = tasks.iter().zip(&self.allocation.spend);
        has_covers.then(|| spends.map(|(task, spend)| task.extrapolates(*spend)).collect())
    }

    /// The current spend of each task; None where it is unknown.
    #[getter]
    fn current(&self) -> Vec<Option<f64>> {
        self.problem.tasks().iter().map(outlay::Task::current).collect()
    }

    fn __len__(&self) -> usize {
        self.allocation.spend.len()
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
    /// >>> len(problem.allocate().table())
    /// 2
    #[pyo3(signature = (library=None))]
    fn table<'py>(slf: &Bound<'py, Self>, library: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
        displayed(slf, "allocation_table", (slf, library))
    }

    /// The dictionary that `outlay allocate --format json` writes.
    ///
    /// Returns
    /// -------
    /// dict
    ///
    /// Examples
    /// --------
    /// >>> import outlay
    /// >>> outlay.Problem.load("power").allocate().to_dict()["status"]
    /// 'optimal'
    fn to_dict<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        displayed(slf, "allocation_dict", (slf,))
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        displayed(slf, "allocation_text", (slf,))
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        displayed(slf, "allocation_html", (slf,))
    }

    /// Draws the spend of each task; needs matplotlib.
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
    /// >>> axes = outlay.Problem.load("power").allocate().plot()
    #[pyo3(signature = (axes=None))]
    fn plot<'py>(
        slf: &Bound<'py, Self>,
        axes: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("outlay.plotting")?.call_method1("allocation_plot", (slf, axes))
    }

    fn _page(&self, title: String, headline: Vec<String>) -> PyResult<String> {
        let unit = self.rounded.as_ref().map_or(0.0, |rounded| rounded.unit);
        let (problem, values) = (self.problem.as_ref(), self.values.as_slice());
        let chosen = Chosen { problem, values, allocation: &self.allocation, plan: None, unit };
        decision(&chosen, title, headline)
    }

    /// Writes an HTML report with figures, as `outlay allocate --report`.
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
    /// >>> outlay.Problem.load("power").allocate().report(path)
    /// >>> os.path.exists(path)
    /// True
    #[pyo3(signature = (path, title=None))]
    fn report<'py>(
        slf: &Bound<'py, Self>,
        path: Bound<'py, PyAny>,
        title: Option<&str>,
    ) -> PyResult<()> {
        slf.py().import("outlay.reports")?.call_method1("allocation_report", (slf, path, title))?;
        Ok(())
    }

    /// Iterates over the tasks, one dictionary each.
    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        displayed(slf, "allocation_rows", (slf,))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Saved)> {
        let problem = serde_json::to_string(self.problem.as_ref())
            .map_err(|error| StateError::new_err(error.to_string()))?;
        let rounded = self.rounded.as_ref().map(SavedRounded::of);
        let parts = Parts::of(&self.allocation);
        let load = py.import("outlay._outlay")?.getattr("_load_allocation")?;
        Ok((load, (problem, self.values.clone(), parts, rounded)))
    }
}

type Saved = (String, Vec<f64>, Parts, Option<SavedRounded>);

/// The fields of an allocation, for pickle.
#[derive(FromPyObject, IntoPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Parts {
    budget: f64,
    spend: Vec<f64>,
    success: Vec<f64>,
    certificate: (f64, f64, f64, String),
    unspent: (f64, Option<String>),
    work: (u64, u64),
}

impl Parts {
    pub(crate) fn of(allocation: &outlay::Allocation) -> Self {
        let outlay::Allocation { value, upper_bound, price, status, .. } = *allocation;
        let reason = allocation.unspent_reason.map(|reason| reason.as_str().to_owned());
        Self {
            budget: allocation.budget,
            spend: allocation.spend.clone(),
            success: allocation.success.clone(),
            certificate: (value, upper_bound, price, status.as_str().to_owned()),
            unspent: (allocation.unspent, reason),
            work: (allocation.nodes, allocation.labels),
        }
    }

    pub(crate) fn allocation(self, problem: &outlay::Problem) -> PyResult<outlay::Allocation> {
        let tasks = problem.tasks().len();
        if self.spend.len() != tasks || self.success.len() != tasks {
            return Err(StateError::new_err("state: the allocation does not fit the problem"));
        }
        let (value, upper_bound, price, status) = self.certificate;
        let refuse = |error: outlay::UnknownName| StateError::new_err(error.to_string());
        let reason = self.unspent.1.map(|reason| reason.parse()).transpose().map_err(refuse)?;
        Ok(outlay::Allocation {
            budget: self.budget,
            spend: self.spend,
            success: self.success,
            value,
            upper_bound,
            price,
            status: status.parse().map_err(refuse)?,
            unspent: self.unspent.0,
            unspent_reason: reason,
            nodes: self.work.0,
            labels: self.work.1,
        })
    }
}

/// The fields of a rounded allocation, for pickle.
#[derive(FromPyObject, IntoPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct SavedRounded {
    spend: Vec<f64>,
    numbers: [f64; 5],
    moved_bounds: Vec<(usize, String, f64, f64)>,
}

impl SavedRounded {
    fn of(rounded: &Rounded) -> Self {
        let Rounded { unit, value, value_before, upper_bound, unspent, .. } = *rounded;
        let moved =
            |one: &MovedBound| (one.task, one.bound.as_str().to_owned(), one.given, one.used);
        Self {
            spend: rounded.spend.clone(),
            numbers: [unit, value, value_before, upper_bound, unspent],
            moved_bounds: rounded.moved_bounds.iter().map(moved).collect(),
        }
    }

    fn rounded(self, tasks: usize) -> PyResult<Rounded> {
        let [unit, value, value_before, upper_bound, unspent] = self.numbers;
        let moved = |(task, bound, given, used): (usize, String, f64, f64)| {
            let bound = bound.parse::<BindingBound>();
            let bound = bound.map_err(|error| StateError::new_err(error.to_string()))?;
            let message = "state: a rounded bound does not fit the problem";
            if task < tasks {
                Ok(MovedBound { task, bound, given, used })
            } else {
                Err(StateError::new_err(message))
            }
        };
        let moved_bounds = self.moved_bounds.into_iter().map(moved).collect::<PyResult<_>>()?;
        let spend = self.spend;
        Ok(Rounded { unit, spend, value, value_before, upper_bound, unspent, moved_bounds })
    }
}

/// The problem of a pickled object.
pub(crate) fn saved_problem(text: &str) -> PyResult<Arc<outlay::Problem>> {
    outlay::Problem::from_json(text, &NoFiles)
        .map(Arc::new)
        .map_err(|errors| errors::problem("the problem", &errors))
}

/// An allocation that was pickled.
#[pyfunction]
pub(crate) fn _load_allocation(
    problem: &str,
    values: Vec<f64>,
    parts: Parts,
    rounded: Option<SavedRounded>,
) -> PyResult<Allocation> {
    let problem = saved_problem(problem)?;
    let allocation = parts.allocation(&problem)?;
    let rounded = rounded.map(|rounded| rounded.rounded(problem.tasks().len())).transpose()?;
    if values.len() != problem.tasks().len() {
        return Err(StateError::new_err("state: the values do not fit the problem"));
    }
    Ok(Allocation::new(problem, values, allocation, rounded))
}

/// The page of a frontier of allocations of one problem.
#[pyfunction]
pub(crate) fn frontier_page(points: Vec<PyRef<'_, Allocation>>, title: String) -> PyResult<String> {
    let Some(first) = points.first() else {
        return Err(errors::AllocationError::new_err(
            "points: a frontier needs at least one point",
        ));
    };
    let splits = points.iter().map(|point| point.allocation.clone()).collect();
    Ok(budgets(&first.problem, splits, title))
}
