//! The environment of a simulation: the built-in one, and Python classes in its place.

use numpy::PyArray1;
use outlay::feedback::{Feedback, Outcome, Reward};
use outlay::simulation::{DrawOutcomes, EnvironmentError};
use pyo3::prelude::*;

use crate::arrays::{flags, numbers};
use crate::custom_learner::{Failure, python_problem};
use crate::errors::SimulationError;
use crate::problem::Problem;

/// The environment that `simulate` uses for a problem: completions, rewards and budgets.
///
/// Subclass it to change what is drawn, and pass the subclass as ``environment`` to `simulate`.
///
/// Parameters
/// ----------
/// problem : Problem
///     The problem; every task needs a value or a reward.
/// seed : int
///     The seed of the replication.
///
/// Raises
/// ------
/// SimulationError
///     If a task has neither a value nor a reward.
///
/// Examples
/// --------
/// >>> import outlay
/// >>> problem = outlay.Problem.load("power:tasks=2")
/// >>> best = problem.allocate()
/// >>> completed, reward = outlay.Environment(problem, seed=1).draw(1, best.spend, best.success)
/// >>> completed.tolist()
/// [True, True]
#[pyclass(subclass, frozen, module = "outlay")]
pub(crate) struct Environment {
    environment: outlay::simulation::Environment,
    reward_max: f64,
    tasks: usize,
}

#[pymethods]
impl Environment {
    #[new]
    #[pyo3(signature = (problem, seed=1))]
    fn new(problem: PyRef<'_, Problem>, seed: u64) -> PyResult<Self> {
        let problem = &problem.problem;
        let environment = outlay::simulation::Environment::new(problem, seed)
            .map_err(|error| SimulationError::new_err(error.to_string()))?;
        let (reward_max, tasks) = (problem.reward_max(), problem.tasks().len());
        Ok(Self { environment, reward_max, tasks })
    }

    /// The mean reward of each task's completions in a round.
    ///
    /// Parameters
    /// ----------
    /// round : int
    ///     The round, counted from 1. The means of a problem are the same in every round.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray
    ///     One mean per task.
    fn means<'py>(&self, py: Python<'py>, round: u64) -> Bound<'py, PyArray1<f64>> {
        let _ = round;
        let means = self.environment.means().iter().map(|mean| mean * self.reward_max);
        PyArray1::from_iter(py, means)
    }

    /// The budget of a round.
    ///
    /// Parameters
    /// ----------
    /// round : int
    ///     The round, counted from 1.
    ///
    /// Returns
    /// -------
    /// float
    ///     The budget.
    fn budget(&self, round: u64) -> f64 {
        self.environment.budget(round)
    }

    /// Draws the outcomes of a round.
    ///
    /// Parameters
    /// ----------
    /// round : int
    ///     The round, counted from 1.
    /// spend : array_like of float
    ///     The spend of each task.
    /// success : array_like of float
    ///     The success probability of each task at its spend.
    ///
    /// Returns
    /// -------
    /// completed : numpy.ndarray of bool
    ///     Whether each task completed.
    /// reward : numpy.ndarray of float
    ///     The reward of each task, also of those that failed.
    ///
    /// Raises
    /// ------
    /// SimulationError
    ///     If there is not one probability per task, or the problem has volumes.
    #[allow(clippy::type_complexity, reason = "a pair of arrays")]
    fn draw<'py>(
        &self,
        py: Python<'py>,
        round: u64,
        spend: &Bound<'py, PyAny>,
        success: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyArray1<bool>>, Bound<'py, PyArray1<f64>>)> {
        let _ = spend;
        if self.environment.has_counts() {
            return Err(SimulationError::new_err(
                "environment: draws single completions, but the problem has volumes",
            ));
        }
        let success = numbers(success, "success", SimulationError::new_err)?;
        if success.as_slice().len() != self.tasks {
            return Err(SimulationError::new_err(format!(
                "success: {} numbers for {} tasks",
                success.as_slice().len(),
                self.tasks
            )));
        }
        let mut outcomes = vec![Outcome::Missing; self.tasks];
        self.environment.play(round, success.as_slice(), Feedback::Full, &mut outcomes);
        let completed = outcomes.iter().map(|outcome| matches!(outcome, Outcome::Done(_)));
        let reward = outcomes.iter().map(|outcome| match outcome {
            Outcome::Done(reward) | Outcome::Forgone(reward) => reward.share() * self.reward_max,
            Outcome::Counted(_) | Outcome::Failed | Outcome::Missing => f64::NAN,
        });
        Ok((PyArray1::from_iter(py, completed), PyArray1::from_iter(py, reward)))
    }
}

/// A Python object with a method `draw`, in place of the built-in environment.
#[derive(Debug)]
pub(crate) struct CustomEnvironment {
    object: Py<PyAny>,
    has_means: bool,
    reward_max: f64,
    feedback: Feedback,
    failure: Failure,
}

impl CustomEnvironment {
    /// Calls `factory(problem, seed)`.
    pub(crate) fn new(
        factory: &Bound<'_, PyAny>,
        problem: &outlay::Problem,
        seed: u64,
        feedback: Feedback,
        failure: Failure,
    ) -> PyResult<Self> {
        let object = factory.call1((python_problem(factory.py(), problem)?, seed))?;
        if !object.hasattr("draw")? {
            return Err(SimulationError::new_err(format!(
                "environment: {} has no method draw(round, spend, success)",
                object.get_type().name()?
            )));
        }
        let has_means = object.hasattr("means")?;
        let reward_max = problem.reward_max();
        Ok(Self { object: object.unbind(), has_means, reward_max, feedback, failure })
    }

    fn call(
        &self,
        ask: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>,
    ) -> Result<(), EnvironmentError> {
        Python::attach(|py| {
            ask(self.object.bind(py)).map_err(|error| {
                let text = error.to_string();
                self.failure.set(error);
                EnvironmentError::Custom(text)
            })
        })
    }
}

impl DrawOutcomes for CustomEnvironment {
    fn means(&mut self, round: u64, means: &mut [f64]) -> Result<(), EnvironmentError> {
        if !self.has_means {
            return Ok(());
        }
        self.call(|object| {
            let found = object.call_method1("means", (round,))?;
            let what = "environment: means";
            let found = numbers(&found, what, SimulationError::new_err)?;
            let list = found.as_slice();
            let is_valid = |mean: &f64| *mean >= 0.0 && *mean <= self.reward_max;
            if list.len() != means.len() || !list.iter().all(is_valid) {
                return Err(SimulationError::new_err(format!(
                    "{what} must return {} numbers between 0 and reward_max {}",
                    means.len(),
                    self.reward_max
                )));
            }
            means.iter_mut().zip(list).for_each(|(mean, found)| *mean = found / self.reward_max);
            Ok(())
        })
    }

    fn draw(
        &mut self,
        round: u64,
        spend: &[f64],
        success: &[f64],
        outcomes: &mut [Outcome],
    ) -> Result<(), EnvironmentError> {
        let (most, feedback) = (self.reward_max, self.feedback);
        self.call(|object| {
            let py = object.py();
            let arguments =
                (round, PyArray1::from_slice(py, spend), PyArray1::from_slice(py, success));
            let drawn = object.call_method1("draw", arguments)?;
            let pair: (Bound<'_, PyAny>, Bound<'_, PyAny>) = drawn.extract().map_err(|_| {
                SimulationError::new_err("environment: draw must return (completed, reward)")
            })?;
            let refuse = SimulationError::new_err::<String>;
            let completed = flags(&pair.0, "environment: completed", refuse)?;
            let reward = numbers(&pair.1, "environment: reward", refuse)?;
            let (completed, reward) = (completed.as_slice(), reward.as_slice());
            if completed.len() != outcomes.len() || reward.len() != outcomes.len() {
                return Err(SimulationError::new_err(format!(
                    "environment: draw returned {} and {} entries for {} tasks",
                    completed.len(),
                    reward.len(),
                    outcomes.len()
                )));
            }
            for (task, outcome) in outcomes.iter_mut().enumerate() {
                let is_needed = completed[task] || feedback == Feedback::Full;
                if is_needed && !(reward[task] >= 0.0 && reward[task] <= most) {
                    return Err(SimulationError::new_err(format!(
                        "environment: draw returned the reward {} for task {task} in round \
                         {round}: must be between 0 and reward_max {most}",
                        reward[task]
                    )));
                }
                *outcome = match (completed[task], feedback) {
                    (true, _) => Outcome::Done(Reward::from_share(reward[task] / most)),
                    (false, Feedback::Full) => {
                        Outcome::Forgone(Reward::from_share(reward[task] / most))
                    }
                    (false, _) => Outcome::Failed,
                };
            }
            Ok(())
        })
    }
}
