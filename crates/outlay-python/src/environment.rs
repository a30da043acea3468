//! The environment of a simulation: the built-in one, and Python classes in its place.

use numpy::PyArray1;
use outlay::feedback::{Completions, Feedback, Outcome, Reward};
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
    ///
    /// Examples
    /// --------
    /// >>> import outlay
    /// >>> outlay.Environment(outlay.Problem.load("square-roots:means=0.6;0.8")).means(1).tolist()
    /// [0.6, 0.8]
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
    ///
    /// Examples
    /// --------
    /// >>> import outlay
    /// >>> outlay.Environment(outlay.Problem.load("power")).budget(1)
    /// 1.0
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
    /// completed : numpy.ndarray of bool or int
    ///     Whether each task completed; how often, if the problem has volumes.
    /// reward : numpy.ndarray of float
    ///     The reward of each task, also of those that failed; with volumes, the sum of the rewards.
    ///
    /// Raises
    /// ------
    /// SimulationError
    ///     If there is not one probability per task.
    ///
    /// Examples
    /// --------
    /// >>> import outlay
    /// >>> tasks = [outlay.Task(curve=outlay.Power(0.5), value=2.0, volume=40)]
    /// >>> law = {"completions": "poisson"}
    /// >>> problem = outlay.Problem(tasks, reward_max=2, environment=law)
    /// >>> completions, reward = outlay.Environment(problem, seed=1).draw(1, [0.25], [0.5])
    /// >>> completions.tolist(), reward.tolist()
    /// ([28], [56.0])
    #[allow(clippy::type_complexity, reason = "a pair of arrays")]
    fn draw<'py>(
        &self,
        py: Python<'py>,
        round: u64,
        spend: &Bound<'py, PyAny>,
        success: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyArray1<f64>>)> {
        let _ = spend;
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
        let completions = outcomes.iter().map(|outcome| outcome.completions());
        if self.environment.has_counts() {
            let sum = |one: Completions| one.reward_sum() as f64 / Reward::UNITS as f64;
            let reward = completions.clone().map(|one| sum(one) * self.reward_max);
            let counts = PyArray1::from_iter(py, completions.map(Completions::count));
            return Ok((counts.into_any(), PyArray1::from_iter(py, reward)));
        }
        let completed = PyArray1::from_iter(py, completions.map(|one| one.count() > 0));
        let reward = outcomes.iter().map(|outcome| match outcome {
            Outcome::Done(reward) | Outcome::Forgone(reward) => reward.share() * self.reward_max,
            Outcome::Counted(_) | Outcome::Failed | Outcome::Missing => f64::NAN,
        });
        Ok((completed.into_any(), PyArray1::from_iter(py, reward)))
    }
}

/// A Python object with a method `draw`, in place of the built-in environment.
#[derive(Debug)]
pub(crate) struct CustomEnvironment {
    object: Py<PyAny>,
    has_means: bool,
    /// Whether a task may complete more than once.
    has_counts: bool,
    reward_max: f64,
    /// Whether larger rewards are clipped.
    clips: bool,
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
        let (has_counts, reward_max) = (problem.has_counts(), problem.reward_max());
        let clips = problem.reward_over_max().clips();
        let object = object.unbind();
        Ok(Self { object, has_means, has_counts, reward_max, clips, feedback, failure })
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
        let drawing = Drawing {
            round,
            reward_max: self.reward_max,
            clips: self.clips,
            feedback: self.feedback,
            has_counts: self.has_counts,
        };
        self.call(|object| {
            let py = object.py();
            let arguments =
                (round, PyArray1::from_slice(py, spend), PyArray1::from_slice(py, success));
            let drawn = object.call_method1("draw", arguments)?;
            let pair: (Bound<'_, PyAny>, Bound<'_, PyAny>) = drawn.extract().map_err(|_| {
                SimulationError::new_err("environment: draw must return (completed, reward)")
            })?;
            let refuse = SimulationError::new_err::<String>;
            let counts = match self.has_counts {
                true => numbers(&pair.0, "environment: completions", refuse)?.as_slice().to_vec(),
                false => {
                    let completed = flags(&pair.0, "environment: completed", refuse)?;
                    completed.as_slice().iter().map(|one| f64::from(u8::from(*one))).collect()
                }
            };
            let reward = numbers(&pair.1, "environment: reward", refuse)?;
            let reward = reward.as_slice();
            if counts.len() != outcomes.len() || reward.len() != outcomes.len() {
                return Err(SimulationError::new_err(format!(
                    "environment: draw returned {} and {} entries for {} tasks",
                    counts.len(),
                    reward.len(),
                    outcomes.len()
                )));
            }
            for (task, outcome) in outcomes.iter_mut().enumerate() {
                *outcome = drawing.outcome(task, counts[task], reward[task])?;
            }
            Ok(())
        })
    }
}

/// What the numbers of `draw` mean.
struct Drawing {
    round: u64,
    reward_max: f64,
    clips: bool,
    feedback: Feedback,
    has_counts: bool,
}

impl Drawing {
    fn outcome(&self, task: usize, count: f64, reward: f64) -> PyResult<Outcome> {
        let (round, reward_max) = (self.round, self.reward_max);
        let sees_all = self.feedback == Feedback::Full && !self.has_counts;
        if !(count >= 0.0 && count.fract() == 0.0 && count <= Completions::MAX as f64) {
            return Err(SimulationError::new_err(format!(
                "environment: draw returned {count} completions for task {task} in round {round}: \
                 must be a whole number from 0 to {}",
                Completions::MAX
            )));
        }
        if count == 0.0 && !sees_all {
            return Ok(Outcome::Failed);
        }
        let most = count.max(1.0) * reward_max;
        let is_clipped = self.clips && reward > most && reward.is_finite();
        let reward = if is_clipped { most } else { reward };
        if !(reward >= 0.0 && reward <= most) {
            let times = if count > 1.0 { format!("{count} times ") } else { String::new() };
            return Err(SimulationError::new_err(format!(
                "environment: draw returned the reward {reward} for task {task} in round {round}: \
                 must be between 0 and {times}reward_max {reward_max}"
            )));
        }
        let share = reward / reward_max;
        if count == 0.0 {
            return Ok(Outcome::Forgone(Reward::from_share(share)));
        }
        // The division may round the sum up.
        let completions = Completions::from_share(count as u64, share.min(count));
        Ok(Outcome::of(completions.unwrap_or_default()))
    }
}
