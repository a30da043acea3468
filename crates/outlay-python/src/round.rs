//! An issued round: the allocation of a learner, whose outcomes are observed later.

use std::sync::Arc;

use numpy::{PyArray1, PyArrayMethods};
use outlay::campaign::GuardReport;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::allocation::Parts;
use crate::arrays::LazyArray;
use crate::display::displayed;
use crate::errors::StateError;
use crate::learner::Issuer;
use crate::values::RoundCurves;

/// An issued round: the spend of each task, and the number with which its outcomes are observed.
///
/// Examples
/// --------
/// >>> import outlay
/// >>> issued = outlay.Learner(outlay.Problem.load("power")).allocate()
/// >>> issued.round, len(issued.spend)
/// (1, 5)
///
/// See Also
/// --------
/// Learner.allocate : Issues the next round.
/// Learner.observe : Reports the outcomes of a round.
#[pyclass(frozen, module = "outlay")]
pub(crate) struct Round {
    pub(crate) problem: Arc<outlay::Problem>,
    pub(crate) round: u64,
    pub(crate) allocation: outlay::Allocation,
    pub(crate) mask: Option<Vec<bool>>,
    pub(crate) guards: Option<GuardReport>,
    pub(crate) issuer: Issuer,
    /// The key of the request; only rounds of a ledger have one.
    pub(crate) key: Option<String>,
    pub(crate) is_cancelled: bool,
    /// The scales and volumes of the round.
    pub(crate) curves: RoundCurves,
    spend: LazyArray,
    success: LazyArray,
}

impl Round {
    pub(crate) fn new(
        problem: Arc<outlay::Problem>,
        round: u64,
        allocation: outlay::Allocation,
        mask: Option<Vec<bool>>,
        guards: Option<GuardReport>,
        issuer: Issuer,
    ) -> Self {
        let (spend, success) = (LazyArray::new(), LazyArray::new());
        Self {
            problem,
            round,
            allocation,
            mask,
            guards,
            issuer,
            key: None,
            is_cancelled: false,
            curves: RoundCurves::default(),
            spend,
            success,
        }
    }

    /// The success probabilities; 0 for unavailable tasks.
    fn available_success(&self) -> Vec<f64> {
        let there = |task: usize| self.mask.as_ref().is_none_or(|mask| mask[task]);
        let success = self.allocation.success.iter().enumerate();
        success.map(|(task, success)| if there(task) { *success } else { 0.0 }).collect()
    }
}

#[pymethods]
impl Round {
    /// The number of the round, counted from 1.
    #[getter]
    fn round(&self) -> u64 {
        self.round
    }

    /// The key with which a ledger issued the round; None without one.
    #[getter]
    fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// Whether the round had been cancelled when a ledger returned it.
    #[getter]
    fn cancelled(&self) -> bool {
        self.is_cancelled
    }

    /// The budget of the round.
    #[getter]
    fn budget(&self) -> f64 {
        self.allocation.budget
    }

    /// The tasks' names.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.problem.tasks().iter().map(|task| task.name().to_owned()).collect()
    }

    /// The spend of each task. The array is read-only and always the same one.
    #[getter]
    fn spend(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        self.spend.get(py, || self.allocation.spend.clone())
    }

    /// The success probability of each task; 0 for unavailable tasks. Read-only.
    #[getter]
    fn success(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        self.success.get(py, || self.available_success())
    }

    /// The expected number of completions of each task: its volume times its success probability.
    #[getter]
    fn expected_completions<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let success = self.success.get(py, || self.available_success());
        let success = success.bind(py).readonly();
        let tasks = self.problem.tasks().iter().enumerate().zip(success.as_array());
        let volume = |(position, task): (usize, &outlay::Task)| match &self.curves.volume {
            Some(volume) => volume[position],
            None => task.volume(),
        };
        let completions: Vec<f64> = tasks.map(|(task, success)| volume(task) * success).collect();
        PyArray1::from_vec(py, completions)
    }

    /// The scale of each task's curve in this round; None if all are 1.
    #[getter]
    fn scale<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.curves.scale.as_ref().map(|scale| PyArray1::from_slice(py, scale))
    }

    /// The volume of each task in this round; None if they are those of the problem.
    #[getter]
    fn volume<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.curves.volume.as_ref().map(|volume| PyArray1::from_slice(py, volume))
    }

    /// Which tasks are available; None if all are.
    #[getter]
    fn mask<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<bool>>> {
        self.mask.as_ref().map(|mask| PyArray1::from_slice(py, mask))
    }

    /// The value of the allocation by the learner's weights; 0 if the learner chose it itself.
    #[getter]
    fn value(&self) -> f64 {
        self.allocation.value * self.problem.reward_max()
    }

    /// An upper bound on the value of every allocation, by the same weights.
    #[getter]
    fn upper_bound(&self) -> f64 {
        self.allocation.upper_bound * self.problem.reward_max()
    }

    /// The relative optimality gap: no allocation is better by more than this share.
    #[getter]
    fn gap(&self) -> f64 {
        self.allocation.gap()
    }

    /// The proved quality: "optimal", "within_tolerance" or "limit".
    #[getter]
    fn status(&self) -> &'static str {
        self.allocation.status.as_str()
    }

    /// Unspent budget.
    #[getter]
    fn unspent(&self) -> f64 {
        self.allocation.unspent
    }

    /// The effect of the guards, None without guards.
    ///
    /// A dictionary with the keys max_change, floor and min_move: the value that this round would
    /// gain without the guard, by the learner's weights (None: no such guard). kept is the number
    /// of tasks whose move was too small, relaxed says whether the budget was too small for the
    /// guards.
    #[getter]
    fn guards<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(report) = &self.guards else { return Ok(None) };
        let cost = |share: Option<f64>| share.map(|share| share * self.problem.reward_max());
        let record = PyDict::new(py);
        record.set_item("max_change", cost(report.max_change))?;
        record.set_item("floor", cost(report.floor))?;
        record.set_item("min_move", cost(report.min_move))?;
        record.set_item("kept", report.kept)?;
        record.set_item("relaxed", report.gave_way)?;
        Ok(Some(record))
    }

    fn __int__(&self) -> u64 {
        self.round
    }

    fn __index__(&self) -> u64 {
        self.round
    }

    fn __len__(&self) -> usize {
        self.allocation.spend.len()
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        displayed(slf, "round_text", (slf,))
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        displayed(slf, "round_html", (slf,))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Saved)> {
        let problem = serde_json::to_string(self.problem.as_ref())
            .map_err(|error| StateError::new_err(error.to_string()))?;
        let guards = self.guards.map(|report| {
            (report.max_change, report.floor, report.min_move, report.kept, report.gave_way)
        });
        let parts = Parts::of(&self.allocation);
        let issuer = self.issuer.settings();
        let RoundCurves { scale, volume } = &self.curves;
        let ledger = (self.key.clone(), self.is_cancelled, scale.clone(), volume.clone());
        let saved = (problem, self.round, parts, self.mask.clone(), guards, issuer, ledger);
        Ok((py.import("outlay._outlay")?.getattr("_load_round")?, saved))
    }
}

type SavedGuards = Option<(Option<f64>, Option<f64>, Option<f64>, usize, bool)>;
/// Key, whether it was cancelled, scales and volumes.
type SavedLedger = (Option<String>, bool, Option<Vec<f64>>, Option<Vec<f64>>);
type Saved = (String, u64, Parts, Option<Vec<bool>>, SavedGuards, u64, SavedLedger);

/// A round that was pickled.
#[pyfunction]
#[pyo3(signature = (problem, round, parts, mask, guards, settings, ledger=(None, false, None, None)))]
pub(crate) fn _load_round(
    problem: &str,
    round: u64,
    parts: Parts,
    mask: Option<Vec<bool>>,
    guards: SavedGuards,
    settings: u64,
    ledger: SavedLedger,
) -> PyResult<Round> {
    let problem = crate::allocation::saved_problem(problem)?;
    let guards = guards.map(|(max_change, floor, min_move, kept, gave_way)| GuardReport {
        max_change,
        floor,
        min_move,
        kept,
        gave_way,
    });
    let allocation = parts.allocation(&problem)?;
    if mask.as_ref().is_some_and(|mask| mask.len() != problem.tasks().len()) {
        return Err(StateError::new_err("state: the mask does not fit the problem"));
    }
    let mut round = Round::new(problem, round, allocation, mask, guards, Issuer::saved(settings));
    (round.key, round.is_cancelled, round.curves.scale, round.curves.volume) = ledger;
    let tasks = round.problem.tasks().len();
    let fits = |list: &Option<Vec<f64>>| list.as_ref().is_none_or(|list| list.len() == tasks);
    if !fits(&round.curves.scale) || !fits(&round.curves.volume) {
        return Err(StateError::new_err("state: scales or volumes do not fit the problem"));
    }
    Ok(round)
}
