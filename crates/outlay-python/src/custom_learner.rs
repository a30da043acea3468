//! Learners that are Python classes, run by the engine beside the built-in ones.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use numpy::PyArray1;
use outlay::feedback::{Feedback, Outcome, Reward};
use outlay::learner::{
    Decision, Learner, LearnerChoice, LearnerInputs, LearnerState, PlayedRound, RoundContext,
    StateError as EngineStateError,
};
use pyo3::prelude::*;
use pyo3::types::PyType;
use serde::{Deserialize, Serialize};

use crate::arrays::numbers;
use crate::errors::LearnerError;

/// The exception that Python code raised inside the engine, until it is raised to the caller.
#[derive(Debug, Clone, Default)]
pub(crate) struct Failure(Arc<(AtomicBool, Mutex<Option<PyErr>>)>);

impl Failure {
    pub(crate) fn set(&self, error: PyErr) {
        let (is_set, slot) = &*self.0;
        if let Ok(mut slot) = slot.lock() {
            slot.get_or_insert(error);
            is_set.store(true, Ordering::Release);
        }
    }

    fn is_set(&self) -> bool {
        self.0.0.load(Ordering::Acquire)
    }

    /// Raises the exception, if there is one, and forgets it.
    pub(crate) fn raise(&self) -> PyResult<()> {
        if !self.is_set() {
            return Ok(());
        }
        let (is_set, slot) = &*self.0;
        is_set.store(false, Ordering::Release);
        let error = slot.lock().ok().and_then(|mut slot| slot.take());
        error.map_or(Ok(()), Err)
    }
}

/// The completions and rewards of each task so far, as `index` and `decide` get them.
///
/// Attributes
/// ----------
/// completions, reward_sum, mean : numpy.ndarray
///     Number of completions, sum of rewards and mean reward of each task.
/// reward_max : float
///     The largest reward of a completion.
///
/// Examples
/// --------
/// >>> import outlay
/// >>> class Greedy:
/// ...     def index(self, counts, round):
/// ...         return counts.mean if counts.completions.all() else [1.0] * len(counts)
/// >>> learner = outlay.Learner(outlay.Problem.load("square-roots:means=0.6;0.8"), Greedy)
/// >>> learner.allocate().spend.round(9).tolist()
/// [0.5, 0.5]
#[pyclass(frozen, module = "outlay")]
pub(crate) struct Counts {
    completions: Vec<u64>,
    reward_sum: Vec<u64>,
    reward_max: f64,
}

#[pymethods]
impl Counts {
    /// The number of completions of each task.
    #[getter]
    fn completions<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_iter(py, self.completions.iter().map(|&count| count as f64))
    }

    /// The sum of the rewards of each task.
    #[getter]
    fn reward_sum<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let unit = Reward::UNITS as f64;
        let sums = self.reward_sum.iter().map(|&sum| sum as f64 / unit * self.reward_max);
        PyArray1::from_iter(py, sums)
    }

    /// The mean reward of each task's completions; 0 before the first.
    #[getter]
    fn mean<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let mean = |(&count, &sum): (&u64, &u64)| match count {
            0 => 0.0,
            count => sum as f64 / (Reward::UNITS as f64 * count as f64) * self.reward_max,
        };
        PyArray1::from_iter(py, self.completions.iter().zip(&self.reward_sum).map(mean))
    }

    /// The largest reward of a completion.
    #[getter]
    fn reward_max(&self) -> f64 {
        self.reward_max
    }

    fn __len__(&self) -> usize {
        self.completions.len()
    }

    fn __repr__(&self) -> String {
        format!("Counts(completions={:?})", self.completions)
    }
}

/// What a Python class offers.
#[derive(Debug, Clone)]
struct Methods {
    name: String,
    feedback: Feedback,
    decision: Decision,
    starts: bool,
    observes: bool,
    observes_gain: bool,
    saves: bool,
}

impl Methods {
    fn of(learner: &Bound<'_, PyAny>) -> PyResult<Self> {
        let has = |method: &str| learner.hasattr(method);
        let decision = match (has("index")?, has("decide")?) {
            (true, false) => Decision::Weights,
            (false, true) => Decision::Allocation,
            (true, true) => {
                let message = "learner: has both index and decide; define one of them";
                return Err(LearnerError::new_err(message));
            }
            (false, false) => {
                return Err(LearnerError::new_err(format!(
                    "learner: must be a name, or a class with a method index(counts, round) or \
                     decide(counts, round, budget, available), not {}",
                    learner.repr()?
                )));
            }
        };
        let class = match learner.cast::<PyType>() {
            Ok(class) => class.clone(),
            Err(_) => learner.get_type(),
        };
        let name = match learner.getattr("name").and_then(|name| name.extract::<String>()) {
            Ok(name) => name,
            Err(_) => class.name()?.to_string(),
        };
        let feedback = match learner.getattr("feedback").and_then(|word| word.extract::<String>()) {
            Ok(word) => word.parse().map_err(|error: outlay::UnknownName| {
                LearnerError::new_err(format!("learner {name}: {error}"))
            })?,
            Err(_) => Feedback::Censored,
        };
        let methods = Self {
            name,
            feedback,
            decision,
            starts: has("start")?,
            observes: has("observe")?,
            observes_gain: has("observe_gain")?,
            saves: has("save")? && has("load")?,
        };
        if feedback == Feedback::Bandit && !methods.observes_gain {
            return Err(LearnerError::new_err(format!(
                "learner {}: bandit feedback needs a method observe_gain(round, spend, success, gain)",
                methods.name
            )));
        }
        Ok(methods)
    }
}

/// A learner of the caller, and whether it chooses allocations instead of weights.
pub(crate) fn custom(
    learner: &Bound<'_, PyAny>,
    failure: &Failure,
) -> PyResult<(LearnerChoice, bool)> {
    let methods = Methods::of(learner)?;
    let (name, feedback) = (methods.name.clone(), methods.feedback);
    let chooses = methods.decision == Decision::Allocation;
    let (learner, failure) = (learner.clone().unbind(), failure.clone());
    let choice = LearnerChoice::custom_with_feedback(name, feedback, move |inputs| {
        CustomLearner::new(&learner, methods.clone(), inputs, failure.clone())
    });
    Ok((choice, chooses))
}

/// One instance of a Python class at work.
#[derive(Debug)]
struct CustomLearner {
    /// Absent if it could not be made; then no round can be decided.
    object: Option<Py<PyAny>>,
    methods: Methods,
    saved: Saved,
    reward_max: f64,
    failure: Failure,
}

/// The saved state.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Saved {
    completions: Vec<u64>,
    reward_sum: Vec<u64>,
    /// What the object's method `save` returned, as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    own: Option<String>,
}

impl CustomLearner {
    fn new(
        learner: &Py<PyAny>,
        methods: Methods,
        inputs: &LearnerInputs<'_>,
        failure: Failure,
    ) -> Self {
        let object = Python::attach(|py| start(learner.bind(py), &methods, inputs));
        let object = object.map_err(|error| failure.set(error)).ok();
        let tasks = inputs.problem.tasks().len();
        let saved = Saved { completions: vec![0; tasks], reward_sum: vec![0; tasks], own: None };
        Self { object, methods, saved, reward_max: inputs.problem.reward_max(), failure }
    }

    fn count(&mut self, task: usize, outcome: Outcome) {
        let (count, sum) = match outcome {
            Outcome::Done(reward) => (1, reward.units()),
            Outcome::Counted(completions) => (completions.count(), completions.reward_sum()),
            Outcome::Forgone(reward) if self.methods.feedback == Feedback::Full => {
                (1, reward.units())
            }
            Outcome::Forgone(_) | Outcome::Failed | Outcome::Missing => return,
        };
        self.saved.completions[task] = self.saved.completions[task].saturating_add(count);
        self.saved.reward_sum[task] = self.saved.reward_sum[task].saturating_add(sum);
    }

    /// Calls a method of the object unless something has failed before.
    fn call<T>(&self, ask: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Option<T> {
        if self.failure.is_set() {
            return None;
        }
        let object = self.object.as_ref()?;
        Python::attach(|py| ask(object.bind(py)).map_err(|error| self.failure.set(error)).ok())
    }

    fn ask(
        &self,
        object: &Bound<'_, PyAny>,
        context: &RoundContext<'_>,
        out: &mut [f64],
    ) -> PyResult<()> {
        let py = object.py();
        let counts = Counts {
            completions: self.saved.completions.clone(),
            reward_sum: self.saved.reward_sum.clone(),
            reward_max: self.reward_max,
        };
        let (method, answer, scale) = match self.methods.decision {
            Decision::Weights => {
                let answer = object.call_method1("index", (counts, context.round))?;
                ("index", answer, self.reward_max)
            }
            Decision::Allocation => {
                let available = context.available.map(|mask| PyArray1::from_slice(py, mask));
                let arguments = (counts, context.round, context.budget, available);
                ("decide", object.call_method1("decide", arguments)?, 1.0)
            }
        };
        let what = format!("learner {}: {method}", self.methods.name);
        let answer = numbers(&answer, &what, LearnerError::new_err)?;
        let answer = answer.as_slice();
        if answer.len() != out.len() {
            let message =
                format!("{what} returned {} numbers for {} tasks", answer.len(), out.len());
            return Err(LearnerError::new_err(message));
        }
        for (task, (number, out)) in answer.iter().zip(out).enumerate() {
            if !(*number >= 0.0 && number.is_finite()) {
                return Err(LearnerError::new_err(format!(
                    "{what} returned {number} for task {task} in round {}: numbers must be finite \
                     and not negative",
                    context.round
                )));
            }
            *out = number / scale;
        }
        Ok(())
    }
}

/// A fresh instance: a class is called, an instance copied, and `start` called if it is defined.
fn start(
    learner: &Bound<'_, PyAny>,
    methods: &Methods,
    inputs: &LearnerInputs<'_>,
) -> PyResult<Py<PyAny>> {
    let py = learner.py();
    let object = match learner.cast::<PyType>() {
        Ok(class) => class.call0()?,
        Err(_) => copied(learner)?,
    };
    if methods.starts {
        let problem = python_problem(py, inputs.problem)?;
        object.call_method1("start", (problem, inputs.horizon, inputs.seed))?;
    }
    Ok(object.unbind())
}

fn copied<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    object.py().import("copy")?.call_method1("deepcopy", (object,))
}

/// The problem as an `outlay.Problem`.
pub(crate) fn python_problem<'py>(
    py: Python<'py>,
    problem: &outlay::Problem,
) -> PyResult<Bound<'py, PyAny>> {
    let text =
        serde_json::to_string(problem).map_err(|error| LearnerError::new_err(error.to_string()))?;
    py.import("outlay.problem")?.getattr("Problem")?.call_method1("from_json", (text,))
}

impl Learner for CustomLearner {
    fn decide(&mut self, context: &RoundContext<'_>, numbers: &mut [f64]) -> Decision {
        let decided = self.call(|object| self.ask(object, context, numbers));
        if decided.is_none() {
            // The engine rejects these, so no round is issued; the exception is raised then.
            numbers.fill(f64::NAN);
        }
        self.methods.decision
    }

    fn observe(&mut self, task: usize, outcome: Outcome) {
        self.count(task, outcome);
    }

    fn needs_spends(&self) -> bool {
        self.methods.observes
    }

    fn observe_spent(&mut self, task: usize, spend: f64, outcome: Outcome) {
        self.count(task, outcome);
        let (completed, reward) = match outcome {
            Outcome::Done(reward) => (true, Some(reward)),
            Outcome::Forgone(reward) => (false, Some(reward)),
            Outcome::Failed => (false, None),
            // The number of completions and the sum of their rewards.
            Outcome::Counted(completions) => {
                let share = completions.reward_sum() as f64 / Reward::UNITS as f64;
                let (count, sum) = (completions.count(), share * self.reward_max);
                self.call(|object| {
                    object.call_method1("observe", (task, spend, count, sum)).map(drop)
                });
                return;
            }
            Outcome::Missing => return,
        };
        let reward = reward.map(|reward| reward.share() * self.reward_max);
        self.call(|object| {
            object.call_method1("observe", (task, spend, completed, reward)).map(drop)
        });
    }

    fn observe_gain(&mut self, played: &PlayedRound<'_>, gain: f64) {
        let gain = gain * self.reward_max;
        self.call(|object| {
            let spend = PyArray1::from_slice(object.py(), played.spend);
            let success = PyArray1::from_slice(object.py(), played.success);
            object.call_method1("observe_gain", (played.round, spend, success, gain)).map(drop)
        });
    }

    fn save(&self) -> LearnerState {
        let own = self.methods.saves.then(|| {
            self.call(|object| {
                let state = object.call_method0("save")?;
                let text = object.py().import("json")?.call_method1("dumps", (state,))?;
                text.extract::<String>()
            })
        });
        LearnerState::other(&Saved { own: own.flatten(), ..self.saved.clone() })
    }

    fn load(&mut self, state: &LearnerState) -> Result<(), EngineStateError> {
        let saved: Saved = state.read()?;
        let tasks = self.saved.completions.len();
        for (field, found) in
            [("completions", saved.completions.len()), ("reward_sum", saved.reward_sum.len())]
        {
            if found != tasks {
                return Err(EngineStateError::Length { field, found, tasks });
            }
        }
        if let Some(own) = &saved.own {
            self.call(|object| {
                let state = object.py().import("json")?.call_method1("loads", (own,))?;
                object.call_method1("load", (state,)).map(drop)
            });
        }
        self.saved = saved;
        Ok(())
    }
}

impl Clone for CustomLearner {
    fn clone(&self) -> Self {
        let object = self.call(|object| copied(object).map(Bound::unbind));
        Self {
            object,
            methods: self.methods.clone(),
            saved: self.saved.clone(),
            reward_max: self.reward_max,
            failure: self.failure.clone(),
        }
    }
}
