//! A learner at work: splits out, outcomes in. The loop of these two calls is as short as it can
//! be.

use std::sync::{Arc, Mutex};

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use outlay::campaign::{Campaign, CampaignOptions, CampaignState, Guards};
use outlay::feedback::{Completion, Feedback, Outcome, Reward};
use outlay::learner::LearnerSpec;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyMapping;

use crate::allocation::shown;
use crate::arrays::{LazyArray, flag, flags, numbers};
use crate::errors::{self, ObservationError, StateError};
use crate::problem::Problem;
use crate::simulation::{feedback as feedback_of, learner as spec_of};

/// From so many tasks on, a split takes long enough to let other threads run.
const MANY_TASKS: usize = 2000;

/// A round that was handed out: what each task gets.
#[pyclass(frozen, module = "outlay")]
pub(crate) struct Round {
    problem: Arc<outlay::Problem>,
    round: u64,
    allocation: outlay::Allocation,
    mask: Option<Vec<bool>>,
    spend: LazyArray,
    success: LazyArray,
}

#[pymethods]
impl Round {
    /// Its number, counted from 1.
    #[getter]
    fn round(&self) -> u64 {
        self.round
    }

    /// What it may spend.
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

    /// Each task's chance of success; 0 for those that are not there. Read-only.
    #[getter]
    fn success(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        self.success.get(py, || {
            let there = |task: usize| self.mask.as_ref().is_none_or(|mask| mask[task]);
            let success = self.allocation.success.iter().enumerate();
            success.map(|(task, success)| if there(task) { *success } else { 0.0 }).collect()
        })
    }

    /// Which tasks are in it; None if all are.
    #[getter]
    fn mask<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<bool>>> {
        self.mask.as_ref().map(|mask| PyArray1::from_slice(py, mask))
    }

    /// What the split is worth by the learner's weights; 0 if the learner named it itself.
    #[getter]
    fn value(&self) -> f64 {
        self.allocation.value * self.problem.reward_max()
    }

    /// No split is worth more by these weights.
    #[getter]
    fn upper_bound(&self) -> f64 {
        self.allocation.upper_bound * self.problem.reward_max()
    }

    /// No split is better by more than this share.
    #[getter]
    fn gap(&self) -> f64 {
        self.allocation.gap()
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
        shown(slf, "round_text", (slf,))
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "round_html", (slf,))
    }
}

/// A campaign and room for what is told of a round.
struct Work {
    campaign: Campaign,
    completed: Vec<Completion>,
}

/// A learner and its rounds. `outlay.Learner` is this with Python's conveniences.
#[pyclass(subclass, frozen, module = "outlay._outlay")]
pub(crate) struct Learner {
    problem: Arc<outlay::Problem>,
    spec: LearnerSpec,
    horizon: Option<u64>,
    feedback: Feedback,
    seed: u64,
    always_cold: bool,
    work: Mutex<Work>,
}

#[pymethods]
impl Learner {
    /// A learner for a problem; with `state`, one that goes on where that was saved.
    #[new]
    #[pyo3(signature = (problem, learner="kl-ucb-plus", horizon=None, *, feedback=None, seed=1, max_change=None, floor=None, min_move=None,
        always_cold=false, state=None))]
    #[allow(clippy::too_many_arguments, reason = "keywords")]
    fn new(
        problem: PyRef<'_, Problem>,
        learner: &str,
        horizon: Option<u64>,
        feedback: Option<&str>,
        seed: u64,
        max_change: Option<f64>,
        floor: Option<f64>,
        min_move: Option<f64>,
        always_cold: bool,
        state: Option<&str>,
    ) -> PyResult<Self> {
        let spec = spec_of(learner)?;
        let problem = Arc::clone(&problem.problem);
        let feedback = feedback_of(feedback)?.unwrap_or(spec.entry().feedback);
        let options = CampaignOptions {
            learner: spec.into(),
            horizon,
            feedback: Some(feedback),
            seed,
            guards: Guards { max_change, floor, min_move },
            always_cold,
        };
        let mut campaign = match state {
            None => Campaign::new(&problem, options),
            Some(state) => {
                let state = CampaignState::from_json(state)
                    .map_err(|error| StateError::new_err(error.to_string()))?;
                Campaign::load(&problem, &state)
            }
        }
        .map_err(|error| errors::campaign(&error))?;
        if always_cold {
            campaign.set_always_cold();
        }
        let work = Mutex::new(Work { campaign, completed: Vec::new() });
        Ok(Self { problem, spec, horizon, feedback, seed, always_cold, work })
    }

    /// The split of the next round.
    ///
    /// budget: what it may spend; the problem's, if nobody says. mask: which tasks are there, a
    /// list of true and false; all, if nobody says.
    #[pyo3(signature = (budget=None, mask=None))]
    fn allocate(
        &self,
        py: Python<'_>,
        budget: Option<f64>,
        mask: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Round> {
        let budget = budget.unwrap_or(self.problem.budget());
        let mask = mask.map(|mask| flags(mask, "mask", ObservationError::new_err)).transpose()?;
        let mask: Option<Vec<bool>> = mask.map(|mask| mask.as_slice().to_vec());
        let ask = |work: &mut Work| {
            let ticket = work
                .campaign
                .allocate(budget, mask.as_deref())
                .map_err(|error| errors::campaign(&error))?;
            Ok((ticket.round, ticket.allocation.clone()))
        };
        let (round, allocation) = self.at_work(py, ask)?;
        let (spend, success) = (LazyArray::new(), LazyArray::new());
        Ok(Round { problem: Arc::clone(&self.problem), round, allocation, mask, spend, success })
    }

    /// What came back of a round.
    ///
    /// completed: for each task whether it completed, or a mapping from names if only some are
    /// known yet. reward: what each completed task brought, between 0 and reward_max. gain: instead
    /// of both, what all brought together, for learners that see no more.
    #[pyo3(signature = (round, completed=None, reward=None, *, gain=None))]
    fn observe(
        &self,
        py: Python<'_>,
        round: &Bound<'_, PyAny>,
        completed: Option<&Bound<'_, PyAny>>,
        reward: Option<&Bound<'_, PyAny>>,
        gain: Option<f64>,
    ) -> PyResult<()> {
        let (number, mask) = self.number(round)?;
        let Some(completed) = completed else {
            let Some(gain) = gain else {
                return Err(ObservationError::new_err(
                    "observe: give completed and reward, or gain",
                ));
            };
            let share = gain / self.problem.reward_max();
            return self.at_work(py, |work| {
                work.campaign.observe_gain(number, share).map_err(|error| errors::campaign(&error))
            });
        };
        if gain.is_some() {
            return Err(ObservationError::new_err(
                "observe: give completed and reward, or gain, not both",
            ));
        }
        if let Ok(named) = completed.cast::<PyMapping>() {
            let outcomes = self.named_outcomes(named, reward)?;
            return self.at_work(py, |work| {
                work.campaign
                    .observe_round(number, &outcomes)
                    .map_err(|error| errors::campaign(&error))
            });
        }
        let completed = flags(completed, "completed", ObservationError::new_err)?;
        let reward = reward
            .map(|reward| numbers(reward, "reward", ObservationError::new_err))
            .transpose()?;
        let told = Told {
            completed: completed.as_slice(),
            reward: reward.as_ref().map(|reward| reward.as_slice()),
            mask,
        };
        self.at_work(py, |work| self.take(work, number, &told))
    }

    /// What came back of many rounds, a row each: the same as `observe` on each, in this order,
    /// until one is refused.
    #[pyo3(signature = (rounds, completed, reward=None))]
    fn observe_many(
        &self,
        py: Python<'_>,
        rounds: &Bound<'_, PyAny>,
        completed: &Bound<'_, PyAny>,
        reward: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let completed: PyReadonlyArray2<'_, bool> = matrix(completed, "bool", "completed")?;
        let reward: Option<PyReadonlyArray2<'_, f64>> =
            reward.map(|reward| matrix(reward, "float64", "reward")).transpose()?;
        let rounds: Vec<Bound<'_, PyAny>> = rounds.try_iter()?.collect::<PyResult<_>>()?;
        let (rows, columns) = completed.as_array().dim();
        let shape = reward.as_ref().map_or((rows, columns), |reward| reward.as_array().dim());
        if rows != rounds.len() || columns != self.problem.tasks().len() || shape != (rows, columns)
        {
            let message = format!(
                "observe_many: {} rounds and {} tasks need completed and reward of that shape, not {rows} by {columns} and {} by {}",
                rounds.len(),
                self.problem.tasks().len(),
                shape.0,
                shape.1
            );
            return Err(ObservationError::new_err(message));
        }
        let rounds = rounds.iter().map(|round| self.number(round)).collect::<PyResult<Vec<_>>>()?;
        let completed =
            completed.as_slice().map_err(|error| ObservationError::new_err(error.to_string()))?;
        let reward = reward.as_ref().map(|reward| reward.as_slice()).transpose();
        let reward = reward.map_err(|error| ObservationError::new_err(error.to_string()))?;
        self.at_work(py, |work| {
            for (row, (number, mask)) in rounds.iter().enumerate() {
                let cells = row * columns..(row + 1) * columns;
                let told = Told {
                    completed: &completed[cells.clone()],
                    reward: reward.map(|reward| &reward[cells]),
                    mask: *mask,
                };
                self.take(work, *number, &told)?;
            }
            Ok(())
        })
    }

    /// The learner as asked for.
    #[getter]
    fn learner(&self) -> String {
        self.spec.to_string()
    }

    /// Rounds planned, if said.
    #[getter]
    fn horizon(&self) -> Option<u64> {
        self.horizon
    }

    /// What it is shown: censored, full or bandit.
    #[getter]
    fn feedback(&self) -> &'static str {
        self.feedback.as_str()
    }

    /// For its own draws.
    #[getter]
    fn seed(&self) -> u64 {
        self.seed
    }

    /// Whether every split is found afresh, as the service does.
    #[getter]
    fn always_cold(&self) -> bool {
        self.always_cold
    }

    /// The tasks' names.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.problem.tasks().iter().map(|task| task.name().to_owned()).collect()
    }

    /// The largest reward of one completion.
    #[getter]
    fn reward_max(&self) -> f64 {
        self.problem.reward_max()
    }

    /// Rounds handed out so far.
    #[getter]
    fn rounds(&self, py: Python<'_>) -> PyResult<u64> {
        self.at_work(py, |work| Ok(work.campaign.rounds()))
    }

    /// Rounds of which something is still to be told.
    #[getter]
    fn open_rounds(&self, py: Python<'_>) -> PyResult<usize> {
        self.at_work(py, |work| Ok(work.campaign.open_rounds()))
    }

    /// What the learner wrote for the last round: weights as shares of the largest reward, or a
    /// split of its own.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        self.at_work(py, |work| Ok(work.campaign.weights().to_vec()))
            .map(|weights| PyArray1::from_vec(py, weights))
    }

    /// What the learner has learnt, as JSON.
    fn learnt(&self, py: Python<'_>) -> PyResult<String> {
        self.at_work(py, |work| {
            serde_json::to_string(&work.campaign.learner_state())
                .map_err(|error| StateError::new_err(error.to_string()))
        })
    }

    /// Everything it knows, as JSON: the library's saved state.
    fn state(&self, py: Python<'_>) -> PyResult<String> {
        self.at_work(py, |work| Ok(work.campaign.save().to_json()))
    }

    /// The problem as JSON.
    fn problem_json(&self) -> PyResult<String> {
        serde_json::to_string(self.problem.as_ref())
            .map_err(|error| StateError::new_err(error.to_string()))
    }
}

/// The reported outcomes of a round, one entry per task.
struct Told<'a> {
    completed: &'a [bool],
    reward: Option<&'a [f64]>,
    /// Tasks that were not there: nothing is told of them.
    mask: Option<&'a [bool]>,
}

impl Told<'_> {
    fn is_there(&self, task: usize) -> bool {
        self.mask.is_none_or(|mask| mask[task])
    }
}

impl Learner {
    /// With the campaign to oneself; long splits let other threads run meanwhile.
    fn at_work<T: Send>(
        &self,
        py: Python<'_>,
        ask: impl FnOnce(&mut Work) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        let mut work = match self.work.lock_py_attached(py) {
            Ok(work) => work,
            Err(poisoned) => poisoned.into_inner(),
        };
        let work = &mut *work;
        if self.problem.tasks().len() < MANY_TASKS { ask(work) } else { py.detach(|| ask(work)) }
    }

    /// The number of a round, and which tasks were in it.
    fn number<'a>(&self, round: &'a Bound<'_, PyAny>) -> PyResult<(u64, Option<&'a [bool]>)> {
        if let Ok(round) = round.cast::<Round>() {
            let round = round.get();
            return Ok((round.round, round.mask.as_deref()));
        }
        let number = round.extract::<u64>();
        number.map(|number| (number, None)).map_err(|_| {
            ObservationError::new_err("round: must be a Round, or its number from 1 on")
        })
    }

    fn take(&self, work: &mut Work, round: u64, told: &Told<'_>) -> PyResult<()> {
        let tasks = self.problem.tasks().len();
        let counts = [
            ("completed", Some(told.completed.len())),
            ("reward", told.reward.map(<[f64]>::len)),
            ("mask", told.mask.map(<[bool]>::len)),
        ];
        if let Some((what, Some(got))) =
            counts.into_iter().find(|(_, count)| count.is_some_and(|count| count != tasks))
        {
            return Err(ObservationError::new_err(format!(
                "{what}: {got} entries for {tasks} tasks"
            )));
        }
        let Work { campaign, completed } = work;
        if self.feedback == Feedback::Full {
            let outcome = |task: usize| match told.is_there(task) {
                true => {
                    self.outcome(task, told.completed[task], told.reward.map(|reward| reward[task]))
                }
                false => Ok(Outcome::Missing),
            };
            let outcomes = (0..tasks).map(outcome).collect::<PyResult<Vec<Outcome>>>()?;
            return campaign
                .observe_round(round, &outcomes)
                .map_err(|error| errors::campaign(&error));
        }
        completed.clear();
        for (task, &is_done) in told.completed.iter().enumerate() {
            let reward = told.reward.map(|reward| reward[task]);
            if is_done {
                completed.push(Completion { task, reward: self.reward(task, reward)? });
            } else if let Some(reward) = reward.filter(|reward| *reward != 0.0 && !reward.is_nan())
            {
                return Err(self.forbidden(task, reward));
            }
        }
        campaign.observe_completed(round, completed).map_err(|error| errors::campaign(&error))
    }

    /// What came back of some tasks; of the others nothing has been told.
    fn named_outcomes(
        &self,
        completed: &Bound<'_, PyMapping>,
        reward: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<Outcome>> {
        if self.spec.entry().feedback == Feedback::Bandit {
            return Err(ObservationError::new_err(
                "this learner needs the gain of a round, not the outcome of a task",
            ));
        }
        let mut outcomes = vec![Outcome::Missing; self.problem.tasks().len()];
        let find = |name: &str, what: &str| {
            self.problem
                .task_position(name)
                .map_err(|unknown| ObservationError::new_err(format!("{what}: {unknown}")))
        };
        let mut rewards: Vec<Option<f64>> = vec![None; outcomes.len()];
        if let Some(reward) = reward {
            let message = "reward: must be a mapping from names, as completed is";
            let reward =
                reward.cast::<PyMapping>().map_err(|_| ObservationError::new_err(message))?;
            for item in reward.items()?.iter() {
                let (name, number): (String, Bound<'_, PyAny>) = item.extract()?;
                let task = find(&name, "reward")?;
                if !completed.contains(&name)? {
                    return Err(ObservationError::new_err(format!(
                        "task {name} has a reward, but nothing is said of whether it completed"
                    )));
                }
                let number = number.extract::<f64>();
                rewards[task] = Some(number.map_err(|_| {
                    ObservationError::new_err(format!("reward of {name}: is not a number"))
                })?);
            }
        }
        for item in completed.items()?.iter() {
            let (name, is_done): (String, Bound<'_, PyAny>) = item.extract()?;
            let task = find(&name, "completed")?;
            let is_done = flag(&is_done);
            let is_done = is_done.ok_or_else(|| {
                ObservationError::new_err(format!(
                    "completed: {name} must be true or false (or 1, 0)"
                ))
            })?;
            outcomes[task] = self.outcome(task, is_done, rewards[task])?;
        }
        Ok(outcomes)
    }

    fn outcome(&self, task: usize, is_done: bool, reward: Option<f64>) -> PyResult<Outcome> {
        if is_done {
            return Ok(Outcome::Done(self.reward(task, reward)?));
        }
        if self.feedback == Feedback::Full {
            let name = self.problem.tasks()[task].name();
            let message = || {
                format!("task {name}: its reward is missing; {} is shown every reward", self.spec)
            };
            let reward = reward
                .filter(|reward| !reward.is_nan())
                .ok_or_else(|| ObservationError::new_err(message()))?;
            return Ok(Outcome::Forgone(self.reward(task, Some(reward))?));
        }
        match reward.filter(|reward| *reward != 0.0 && !reward.is_nan()) {
            Some(reward) => Err(self.forbidden(task, reward)),
            None => Ok(Outcome::Failed),
        }
    }

    fn forbidden(&self, task: usize, reward: f64) -> PyErr {
        let name = self.problem.tasks()[task].name();
        ObservationError::new_err(format!(
            "task {name} failed, but has the reward {reward}: only a success shows its reward"
        ))
    }

    /// A reward in the problem's unit, as a share of the largest.
    fn reward(&self, task: usize, reward: Option<f64>) -> PyResult<Reward> {
        let most = self.problem.reward_max();
        let name = || self.problem.tasks()[task].name();
        match reward {
            Some(reward) if reward >= 0.0 && reward <= most => {
                Ok(Reward::from_share(reward / most))
            }
            Some(reward) if !reward.is_nan() => Err(ObservationError::new_err(format!(
                "reward of {}: must be between 0 and reward_max {most}, not {reward}",
                name()
            ))),
            _ => {
                let message = format!(
                    "task {} completed, but its reward is missing: give its reward, or 0",
                    name()
                );
                Err(ObservationError::new_err(message))
            }
        }
    }
}

/// A matrix without gaps, copied only if it is none yet.
fn matrix<'py, T: numpy::Element>(
    given: &Bound<'py, PyAny>,
    kind: &str,
    what: &str,
) -> PyResult<PyReadonlyArray2<'py, T>> {
    let array = given.py().import("numpy")?.call_method1("ascontiguousarray", (given, kind));
    let array = array.and_then(|array| Ok(array.cast_into::<PyArray2<T>>()?.readonly()));
    array.map_err(|_| {
        ObservationError::new_err(format!(
            "{what}: must be a matrix, a row a round and a column a task"
        ))
    })
}
