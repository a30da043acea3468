//! Problems: reading, checking and allocation.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use outlay::instance::Instance;
use outlay::plan::{Target, evaluate, evenly_spaced, for_target, frontier, round};
use outlay::problem::{Document, Files, LimitsForm};
use outlay::{Leftover, Options, Oracle};
use pyo3::prelude::*;

use crate::allocation::Allocation;
use crate::columns::{self, Columns};
use crate::errors::{self, AllocationError, ProblemError};
use crate::plan::Evaluation;
use crate::values;

/// Default horizon of instances that depend on it.
const DEFAULT_HORIZON: u64 = 10_000;
/// Default seed of instances that depend on one.
const DEFAULT_SEED: u64 = 1;

/// A checked problem. `outlay.Problem` is this with Python's conveniences.
#[pyclass(subclass, frozen, module = "outlay._outlay")]
pub(crate) struct Problem {
    pub(crate) problem: Arc<outlay::Problem>,
    /// The name, if it was made by one: such a problem may depend on horizon and seed.
    instance: Option<String>,
    /// An oracle whose buffers can be reused.
    oracle: Mutex<Option<Oracle>>,
}

/// The folder that paths in a problem file are relative to.
struct Folder<'a>(&'a Path);

impl Files for Folder<'_> {
    fn read(&self, path: &str) -> Result<String, String> {
        let bytes = std::fs::read(self.0.join(path)).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => "no such file".to_owned(),
            std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
            std::io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
            _ => error.to_string(),
        })?;
        outlay::table::decode(bytes).map(|decoded| decoded.text).map_err(|error| error.to_string())
    }
}

/// How to solve, as the caller wrote it.
#[derive(Clone, FromPyObject, IntoPyObject)]
pub(crate) struct Asked {
    tolerance: Option<f64>,
    leftover: Option<String>,
    threads: Option<usize>,
}

#[pymethods]
impl Problem {
    /// The problem of a text, which is JSON, TOML or the name of an instance by `form`, or of
    /// arrays. `place` names it in messages, `folder` contains the files that it names, `changes`
    /// are numbers written into it before it is read.
    #[new]
    #[pyo3(signature = (text, form, place, folder, changes, columns=None))]
    fn new(
        text: &str,
        form: &str,
        place: &str,
        folder: PathBuf,
        changes: Vec<(String, f64)>,
        columns: Option<Columns<'_>>,
    ) -> PyResult<Self> {
        if let Some(columns) = &columns {
            let problem = Arc::new(columns::problem(columns)?);
            return Ok(Self { problem, instance: None, oracle: Mutex::new(None) });
        }
        if form == "instance" {
            return Self::of_instance(text, &changes);
        }
        let refuse = |errors| errors::problem(place, &errors);
        let files = Folder(&folder);
        let problem = if form == "json" && changes.is_empty() {
            outlay::Problem::from_json(text, &files).map_err(refuse)?
        } else {
            let document =
                if form == "json" { Document::from_json(text) } else { Document::from_toml(text) };
            let mut document = document.map_err(refuse)?;
            for (path, number) in &changes {
                document.set(path, *number).map_err(refuse)?;
            }
            document.problem(&files).map_err(refuse)?
        };
        Ok(Self { problem: Arc::new(problem), instance: None, oracle: Mutex::new(None) })
    }

    /// The budget of a round.
    #[getter]
    fn budget(&self) -> f64 {
        self.problem.budget()
    }

    /// The number of rounds planned, None if unknown.
    #[getter]
    fn horizon(&self) -> Option<u64> {
        self.problem.horizon()
    }

    /// The largest reward of a completion.
    #[getter]
    fn reward_max(&self) -> f64 {
        self.problem.reward_max()
    }

    /// What happens to reported rewards above reward_max: refuse or clip.
    #[getter]
    fn reward_over_max(&self) -> &'static str {
        if self.problem.reward_over_max().clips() { "clip" } else { "refuse" }
    }

    /// What happens to budget that cannot increase the value: keep or spend.
    #[getter]
    fn leftover(&self) -> &'static str {
        match self.problem.leftover() {
            Leftover::Keep => "keep",
            Leftover::Spend => "spend",
        }
    }

    /// The unit of budget and spends in tables and reports; None if it was not given.
    #[getter]
    fn currency(&self) -> Option<&str> {
        self.problem.units().currency()
    }

    /// The length of a round in tables and reports, by default round.
    #[getter]
    fn period(&self) -> &str {
        self.problem.units().period()
    }

    /// The unit of rewards in tables and reports: by default the currency.
    #[getter]
    fn reward_unit(&self) -> Option<&str> {
        self.problem.units().reward_unit()
    }

    /// The names of the tasks, in order.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.problem.tasks().iter().map(|task| task.name().to_owned()).collect()
    }

    /// The values of the tasks; None where a value is unknown.
    #[getter]
    fn values(&self) -> Vec<Option<f64>> {
        self.problem.tasks().iter().map(outlay::Task::value).collect()
    }

    /// The shape of each curve in words.
    #[getter]
    fn shapes(&self) -> Vec<String> {
        self.problem.tasks().iter().map(|task| task.curve().shape().to_string()).collect()
    }

    /// The problem as JSON, with the keys of a problem file; the contents of other files are written
    /// out.
    ///
    /// Returns
    /// -------
    /// str
    ///     JSON.
    ///
    /// Examples
    /// --------
    /// >>> import json, outlay
    /// >>> json.loads(outlay.Problem.load("power:tasks=2").to_json())["budget"]
    /// 1.0
    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(self.problem.as_ref())
            .map_err(|error| ProblemError::new_err(error.to_string()))
    }

    /// The problem as TOML, with the keys of a problem file.
    ///
    /// Returns
    /// -------
    /// str
    ///     TOML.
    ///
    /// Examples
    /// --------
    /// >>> import outlay
    /// >>> outlay.Problem.load("power:tasks=2").to_toml().splitlines()[0]
    /// 'budget = 1.0'
    fn to_toml(&self) -> PyResult<String> {
        self.problem.to_toml().map_err(|errors| errors::problem("the problem", &errors))
    }

    /// The problem as JSON, or the name of an instance, which may depend on horizon and seed.
    ///
    /// Returns
    /// -------
    /// str
    ///     JSON, or a name.
    ///
    /// Examples
    /// --------
    /// >>> import outlay
    /// >>> outlay.Problem.load("power:tasks=2").source()
    /// 'power:tasks=2'
    fn source(&self) -> PyResult<String> {
        self.instance.clone().map_or_else(|| self.to_json(), Ok)
    }

    /// The problem with spends bounded by `covers`, as JSON.
    fn _within_data(&self) -> PyResult<String> {
        let place = "within_data: the problem bounded to the spends of its log";
        let bounded =
            self.problem.within_data().map_err(|errors| errors::problem(place, &errors))?;
        serde_json::to_string(&bounded).map_err(|error| ProblemError::new_err(error.to_string()))
    }

    /// The problem with spends near their current ones, as JSON.
    fn _within_current(&self, share: f64) -> PyResult<String> {
        let place = "within_current: the problem with spends near `current`";
        let near = self.problem.within_current(share);
        let near = near.map_err(|errors| errors::problem(place, &errors))?;
        serde_json::to_string(&near).map_err(|error| ProblemError::new_err(error.to_string()))
    }

    /// The problem with the limits in the text of a file, as JSON.
    fn _with_limits(&self, text: &str, is_toml: bool, place: &str) -> PyResult<String> {
        let form = if is_toml { LimitsForm::Toml } else { LimitsForm::Csv };
        let limited = self.problem.with_limits(text, form, place);
        let limited = limited.map_err(|errors| errors::problem(place, &errors))?;
        serde_json::to_string(&limited).map_err(|error| ProblemError::new_err(error.to_string()))
    }

    fn __len__(&self) -> usize {
        self.problem.tasks().len()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.problem == other.problem
    }

    fn __hash__(&self) -> PyResult<u64> {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.to_json()?.hash(&mut hasher);
        Ok(hasher.finish())
    }

    #[pyo3(signature = (values, budget, asked, unit))]
    fn _allocate(
        &self,
        py: Python<'_>,
        values: Option<&Bound<'_, PyAny>>,
        budget: Option<f64>,
        asked: Asked,
        unit: Option<f64>,
    ) -> PyResult<Allocation> {
        let values = values::values(&self.problem, values)?;
        let (options, budget) = (self.options(&asked)?, budget.unwrap_or(self.problem.budget()));
        let mut oracle = self.take_oracle();
        oracle.use_threads(asked.threads());
        let solved = py.detach(|| oracle.allocate(&values, budget, &options).cloned());
        self.put_back(oracle);
        let mut allocation = solved.map_err(|error| errors::allocation(&error))?;
        let rounded = match unit {
            None => None,
            Some(unit) => {
                let rounded = py.detach(|| round(&self.problem, &values, &allocation, unit));
                Some(rounded.map_err(|error| errors::rounding(&error))?)
            }
        };
        if let Some(rounded) = &rounded {
            // Bound, price and status stay what was proved before rounding.
            allocation.set_spend(&self.problem, &rounded.spend);
            allocation.value = rounded.value;
            allocation.upper_bound = allocation.upper_bound.max(rounded.value);
            allocation.unspent = rounded.unspent;
        }
        Ok(Allocation::new(Arc::clone(&self.problem), values, allocation, rounded))
    }

    /// The split for a target: the allocation; whether it is reached; the target reached, and the
    /// ends of the bracket; the lines of the proof.
    #[allow(clippy::type_complexity, reason = "the fields of a Python class")]
    fn _for_target(
        &self,
        py: Python<'_>,
        target: (String, f64),
        values: Option<&Bound<'_, PyAny>>,
        limit: Option<f64>,
        asked: Asked,
    ) -> PyResult<(Allocation, bool, [f64; 3], Vec<[f64; 3]>)> {
        let (kind, number) = target;
        let (target, problem) = match kind.as_str() {
            "target_value" => (Target::Value(number), Arc::clone(&self.problem)),
            "target_roas" => (Target::ReturnOnSpend(number), Arc::clone(&self.problem)),
            "marginal_return" => (Target::MarginalReturn(number), Arc::clone(&self.problem)),
            _ => {
                let problem = Arc::new(self.problem.with_reward_unit("completions"));
                (Target::CostPerCompletion(number), problem)
            }
        };
        let values = match target {
            Target::CostPerCompletion(_) => target.objective(&problem, &[]).into_owned(),
            _ => values::values(&problem, values)?,
        };
        let options = self.options(&asked)?;
        let plan = py
            .detach(|| for_target(&problem, &values, target, limit, &options))
            .map_err(|error| errors::target(&error))?;
        let lines = plan.proof.iter().map(|line| [line.budget, line.upper_bound, line.price]);
        let (lines, ends) = (lines.collect(), [plan.reached, plan.low, plan.high]);
        let allocation = Allocation::new(problem, values, plan.allocation, None);
        Ok((allocation, plan.is_reached, ends, lines))
    }

    #[pyo3(signature = (plan, values, budget, asked))]
    fn _evaluate(
        &self,
        py: Python<'_>,
        plan: Option<&Bound<'_, PyAny>>,
        values: Option<&Bound<'_, PyAny>>,
        budget: Option<f64>,
        asked: Asked,
    ) -> PyResult<Evaluation> {
        let (values, plan) =
            (values::values(&self.problem, values)?, values::plan(&self.problem, plan)?);
        let (options, budget) = (self.options(&asked)?, budget.unwrap_or(self.problem.budget()));
        let found = py
            .detach(|| evaluate(&self.problem, &values, budget, &plan, &options))
            .map_err(|error| errors::plan(&error))?;
        Evaluation::new(&self.problem, &values, asked, found)
    }

    #[pyo3(signature = (values, span, points, asked, each))]
    fn _frontier(
        &self,
        py: Python<'_>,
        values: Option<&Bound<'_, PyAny>>,
        span: (Option<f64>, Option<f64>),
        points: usize,
        asked: Asked,
        each: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<Allocation>> {
        let values = values::values(&self.problem, values)?;
        let options = self.options(&asked)?;
        let needed: f64 = self.problem.tasks().iter().map(|task| task.bounds().min).sum();
        let start = span.0.unwrap_or((self.problem.budget() / 10.0).max(needed));
        let end = span.1.unwrap_or(2.0 * self.problem.budget());
        if !(start < end) {
            return Err(AllocationError::new_err(format!(
                "start {start} must be less than end {end}"
            )));
        }
        if !(2..=10_000).contains(&points) {
            return Err(AllocationError::new_err(format!(
                "points: must be between 2 and 10000, not {points}"
            )));
        }
        let mut found = Vec::with_capacity(points);
        let budgets = evenly_spaced(start, end, points);
        // Ctrl-C takes effect between budgets.
        let (mut signal, each) = (Ok(()), each.clone().unbind());
        let solved = py.detach(|| {
            frontier(&self.problem, &values, &budgets, &options, |_| {
                signal = Python::attach(|py| {
                    py.check_signals().and_then(|()| each.call0(py).map(|_| ()))
                });
                if signal.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })
        });
        signal?;
        for allocation in solved.map_err(|error| errors::allocation(&error))? {
            found.push(Allocation::new(
                Arc::clone(&self.problem),
                values.clone(),
                allocation,
                None,
            ));
        }
        Ok(found)
    }
}

impl Problem {
    fn of_instance(text: &str, changes: &[(String, f64)]) -> PyResult<Self> {
        let refuse =
            |error: outlay::instance::InstanceError| ProblemError::new_err(error.to_string());
        let mut text = text.to_owned();
        for (parameter, value) in changes {
            text = with_parameter(&text, parameter, *value);
        }
        let problem = text
            .parse::<Instance>()
            .and_then(|instance| instance.problem(DEFAULT_HORIZON, DEFAULT_SEED))
            .map_err(refuse)?;
        Ok(Self { problem: Arc::new(problem), instance: Some(text), oracle: Mutex::new(None) })
    }

    fn options(&self, asked: &Asked) -> PyResult<Options> {
        let leftover = match asked.leftover.as_deref() {
            None => self.problem.leftover(),
            Some("keep") => Leftover::Keep,
            Some("spend") => Leftover::Spend,
            Some(other) => {
                return Err(AllocationError::new_err(format!(
                    "leftover: must be keep or spend, not {other}"
                )));
            }
        };
        let default = Options::default();
        Ok(Options { tolerance: asked.tolerance.unwrap_or(default.tolerance), leftover, ..default })
    }

    /// An oracle that starts as a new one would: a split never depends on what was asked before.
    fn take_oracle(&self) -> Oracle {
        let kept = self.oracle.lock().ok().and_then(|mut kept| kept.take());
        let mut oracle = kept.unwrap_or_else(|| Oracle::new(&self.problem));
        oracle.reset();
        oracle
    }

    fn put_back(&self, oracle: Oracle) {
        if let Ok(mut kept) = self.oracle.lock() {
            *kept = Some(oracle);
        }
    }
}

impl Asked {
    /// By default as many as there are cores. The result does not depend on it.
    fn threads(&self) -> NonZeroUsize {
        static CORES: OnceLock<NonZeroUsize> = OnceLock::new();
        let cores = || {
            *CORES.get_or_init(|| std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
        };
        self.threads.and_then(NonZeroUsize::new).unwrap_or_else(cores)
    }
}

/// The instance with another value of a parameter.
fn with_parameter(text: &str, parameter: &str, value: f64) -> String {
    let (name, parameters) = text.split_once(':').unwrap_or((text, ""));
    let is_other = |part: &&str| {
        !part.trim().is_empty() && part.split('=').next().map(str::trim) != Some(parameter)
    };
    let mut parts = vec![format!("{parameter}={value}")];
    parts.extend(parameters.split(',').filter(is_other).map(|part| part.trim().to_owned()));
    format!("{name}:{}", parts.join(","))
}
