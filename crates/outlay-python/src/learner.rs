//! A learner in use: it issues allocations and observes outcomes.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use outlay::campaign::{Campaign, CampaignOptions, CampaignState, Guards};
use outlay::feedback::{Completion, Feedback, Outcome, Reward};
use outlay::learner::LearnerChoice;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyMapping;

use crate::arrays::{flag, flags, numbers};
use crate::custom_learner::Failure;
use crate::errors::{self, ObservationError, StateError};
use crate::labels::{Argument, aligned, aligned_columns, is_frame};
use crate::observations::rows;
use crate::problem::Problem;
use crate::round::Round;
use crate::simulation::{feedback as feedback_of, learner as choice_of};

/// From this many tasks on, a search takes long enough to let other threads run.
const MANY_TASKS: usize = 2000;

const MASK: Argument =
    Argument { name: "mask", column: "mask", error: ObservationError::new_err::<String> };
const COMPLETED: Argument =
    Argument { name: "completed", column: "completed", error: ObservationError::new_err::<String> };
const REWARD: Argument =
    Argument { name: "reward", column: "reward", error: ObservationError::new_err::<String> };

/// Tells the rounds of one learner from those of another.
///
/// A learner in memory has a number. Saved and pickled ones have none: then only the settings are
/// compared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Issuer {
    number: Option<u64>,
    settings: u64,
}

impl Issuer {
    pub(crate) fn saved(settings: u64) -> Self {
        Self { number: None, settings }
    }

    pub(crate) fn settings(self) -> u64 {
        self.settings
    }

    fn new(is_loaded: bool, settings: u64) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = (!is_loaded).then(|| NEXT.fetch_add(1, Ordering::Relaxed));
        Self { number, settings }
    }

    fn is_same(self, other: Self) -> bool {
        let numbers = self.number.zip(other.number);
        self.settings == other.settings && numbers.is_none_or(|(one, two)| one == two)
    }
}

/// A campaign, and a buffer for the completions of a round.
struct Work {
    campaign: Campaign,
    completed: Vec<Completion>,
}

/// A learner and its rounds. `outlay.Learner` adds files and tables.
#[pyclass(subclass, frozen, module = "outlay._outlay")]
pub(crate) struct Learner {
    problem: Arc<outlay::Problem>,
    choice: LearnerChoice,
    /// Whether it writes spends; then it has no weights.
    chooses_allocation: bool,
    failure: Failure,
    horizon: Option<u64>,
    feedback: Feedback,
    seed: u64,
    always_cold: bool,
    issuer: Issuer,
    work: Mutex<Work>,
}

#[pymethods]
impl Learner {
    #[new]
    #[pyo3(signature = (problem, learner=None, horizon=None, *, feedback=None, seed=1,
        max_change=None, floor=None, min_move=None, always_cold=false, state=None))]
    #[allow(clippy::too_many_arguments, reason = "keywords")]
    fn new(
        problem: PyRef<'_, Problem>,
        learner: Option<&Bound<'_, PyAny>>,
        horizon: Option<u64>,
        feedback: Option<&str>,
        seed: u64,
        max_change: Option<f64>,
        floor: Option<f64>,
        min_move: Option<f64>,
        always_cold: bool,
        state: Option<&str>,
    ) -> PyResult<Self> {
        let failure = Failure::default();
        let choice = learner.map(|learner| choice_of(learner, &failure)).transpose()?;
        let (choice, chooses_allocation) = choice.unwrap_or_default();
        let problem = Arc::clone(&problem.problem);
        let feedback = feedback_of(feedback)?.unwrap_or(choice.feedback());
        let options = CampaignOptions {
            learner: choice.clone(),
            horizon,
            feedback: Some(feedback),
            seed,
            guards: Guards { max_change, floor, min_move },
            always_cold,
            ..CampaignOptions::default()
        };
        let campaign = match state {
            None => Campaign::new(&problem, options),
            Some(state) => {
                let state = CampaignState::from_json(state)
                    .map_err(|error| StateError::new_err(error.to_string()))?;
                Campaign::load_with(&problem, choice.clone(), &state)
            }
        };
        failure.raise()?;
        let mut campaign = campaign.map_err(|error| errors::campaign(&error))?;
        if always_cold {
            campaign.set_always_cold();
        }
        let settings = settings_hash(&problem, &choice, horizon, feedback, seed);
        let issuer = Issuer::new(state.is_some(), settings);
        let work = Mutex::new(Work { campaign, completed: Vec::new() });
        Ok(Self {
            problem,
            choice,
            chooses_allocation,
            failure,
            horizon,
            feedback,
            seed,
            always_cold,
            issuer,
            work,
        })
    }

    /// Issues the next round.
    ///
    /// Parameters
    /// ----------
    /// budget : float, optional
    ///     The budget of the round; by default that of the problem.
    /// mask : sequence of bool, numpy.ndarray or Series, optional
    ///     Which tasks are available; by default all. A Series with labels is aligned by name.
    ///
    /// Returns
    /// -------
    /// Round
    ///     The spend of each task.
    ///
    /// Raises
    /// ------
    /// AllocationError
    ///     If the budget does not cover the lower bounds of the tasks.
    /// ObservationError
    ///     If the mask does not fit the tasks.
    ///
    /// Examples
    /// --------
    /// >>> import outlay
    /// >>> learner = outlay.Learner(outlay.Problem.load("power"))
    /// >>> learner.allocate(budget=0.5).budget
    /// 0.5
    #[pyo3(signature = (budget=None, mask=None))]
    fn allocate(
        &self,
        py: Python<'_>,
        budget: Option<f64>,
        mask: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Round> {
        let budget = budget.unwrap_or(self.problem.budget());
        let mask = match mask {
            None => None,
            Some(mask) => {
                let mask = aligned(&self.problem, mask, MASK)?;
                Some(flags(&mask, "mask", ObservationError::new_err)?.as_slice().to_vec())
            }
        };
        let ask = |work: &mut Work| {
            let issued = work.campaign.allocate(budget, mask.as_deref());
            self.failure.raise()?;
            let issued = issued.map_err(|error| errors::campaign(&error))?;
            Ok((issued.round, issued.allocation.clone(), issued.guards.copied()))
        };
        let (round, allocation, guards) = self.with_campaign(py, ask)?;
        let problem = Arc::clone(&self.problem);
        Ok(Round::new(problem, round, allocation, mask, guards, self.issuer))
    }

    /// Reports the outcomes of a round.
    ///
    /// Parameters
    /// ----------
    /// round : Round, int or DataFrame
    ///     The round or its number. A data frame with the columns round, task, completed and
    ///     reward reports several rounds; it is then the only argument.
    /// completed : sequence of bool, Series, mapping or DataFrame, optional
    ///     Whether each task completed. A mapping from names, or a data frame with the columns
    ///     task, completed and reward, may report only some of the tasks. A Series with labels is
    ///     aligned by name.
    /// reward : sequence of float, Series or mapping, optional
    ///     The reward of each completed task, between 0 and reward_max. The reward of a task that
    ///     failed is unknown: 0 or NaN.
    /// gain : float, optional
    ///     The total reward of the round, in place of the two, for learners with bandit feedback.
    ///
    /// Raises
    /// ------
    /// ObservationError
    ///     If an outcome is impossible, the round is not open, or another learner issued it.
    ///     Nothing was learnt then.
    ///
    /// Examples
    /// --------
    /// >>> import outlay
    /// >>> learner = outlay.Learner(outlay.Problem.load("power:tasks=2"))
    /// >>> first = learner.allocate()
    /// >>> learner.observe(first, completed=[True, False], reward=[0.8, 0])
    /// >>> learner.open_rounds
    /// 0
    #[pyo3(signature = (round, completed=None, reward=None, *, gain=None))]
    fn observe(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        round: &Bound<'_, PyAny>,
        completed: Option<&Bound<'_, PyAny>>,
        reward: Option<&Bound<'_, PyAny>>,
        gain: Option<f64>,
    ) -> PyResult<()> {
        let this = slf.get();
        if completed.is_none() && gain.is_none() && is_frame(round) {
            if reward.is_some() {
                let message = "reward: the data frame has the rewards; leave this argument out";
                return Err(ObservationError::new_err(message));
            }
            return this.observe_frame(py, round, None);
        }
        let (number, mask) = this.number(round)?;
        let Some(completed) = completed else {
            let Some(gain) = gain else {
                return Err(ObservationError::new_err(
                    "observe: give completed and reward, or gain",
                ));
            };
            let share = gain / this.problem.reward_max();
            return this.with_campaign(py, |work| {
                work.campaign.observe_gain(number, share).map_err(|error| errors::campaign(&error))
            });
        };
        if gain.is_some() {
            return Err(ObservationError::new_err(
                "observe: give completed and reward, or gain, not both",
            ));
        }
        if reward.is_none() && is_frame(completed) {
            return this.observe_frame(py, completed, Some(number));
        }
        if let Ok(named) = completed.cast::<PyMapping>() {
            let outcomes = this.named_outcomes(named, reward)?;
            return this.with_campaign(py, |work| {
                work.campaign
                    .observe_round(number, &outcomes)
                    .map_err(|error| errors::campaign(&error))
            });
        }
        let completed = aligned(&this.problem, completed, COMPLETED)?;
        let completed = flags(&completed, "completed", ObservationError::new_err)?;
        let reward = reward.map(|reward| aligned(&this.problem, reward, REWARD)).transpose()?;
        let reward = reward
            .as_ref()
            .map(|reward| numbers(reward, "reward", ObservationError::new_err))
            .transpose()?;
        let report = Report {
            completed: completed.as_slice(),
            reward: reward.as_ref().map(|reward| reward.as_slice()),
            mask,
        };
        this.with_campaign(py, |work| this.take(work, number, &report))
    }

    /// Reports the outcomes of many rounds.
    ///
    /// The effect is that of `observe` on each row in turn, up to the first invalid one.
    ///
    /// Parameters
    /// ----------
    /// rounds : iterable of Round or int
    ///     The rounds.
    /// completed : array_like of bool or DataFrame
    ///     One row per round and one column per task. The columns of a data frame are aligned by
    ///     name.
    /// reward : array_like of float or DataFrame, optional
    ///     The rewards, in the same shape.
    ///
    /// Raises
    /// ------
    /// ObservationError
    ///     If the shapes do not fit, or `observe` would raise.
    ///
    /// Examples
    /// --------
    /// >>> import outlay
    /// >>> learner = outlay.Learner(outlay.Problem.load("power:tasks=2"))
    /// >>> rounds = [learner.allocate() for _ in range(2)]
    /// >>> learner.observe_many(rounds, [[True, False], [True, True]], [[1, 0], [0, 1]])
    /// >>> learner.open_rounds
    /// 0
    #[pyo3(signature = (rounds, completed, reward=None))]
    fn observe_many(
        &self,
        py: Python<'_>,
        rounds: &Bound<'_, PyAny>,
        completed: &Bound<'_, PyAny>,
        reward: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let completed = aligned_columns(&self.problem, completed, COMPLETED)?;
        let reward =
            reward.map(|reward| aligned_columns(&self.problem, reward, REWARD)).transpose()?;
        let completed: PyReadonlyArray2<'_, bool> = matrix(&completed, "bool", "completed")?;
        let reward: Option<PyReadonlyArray2<'_, f64>> =
            reward.map(|reward| matrix(&reward, "float64", "reward")).transpose()?;
        let rounds: Vec<Bound<'_, PyAny>> = rounds.try_iter()?.collect::<PyResult<_>>()?;
        let (rows, columns) = completed.as_array().dim();
        let shape = reward.as_ref().map_or((rows, columns), |reward| reward.as_array().dim());
        if rows != rounds.len() || columns != self.problem.tasks().len() || shape != (rows, columns)
        {
            let message = format!(
                "observe_many: {} rounds and {} tasks need completed and reward of that shape, \
                 not {rows} by {columns} and {} by {}",
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
        self.with_campaign(py, |work| {
            for (row, (number, mask)) in rounds.iter().enumerate() {
                let cells = row * columns..(row + 1) * columns;
                let report = Report {
                    completed: &completed[cells.clone()],
                    reward: reward.map(|reward| &reward[cells]),
                    mask: *mask,
                };
                self.take(work, *number, &report)?;
            }
            Ok(())
        })
    }

    /// The learner with its parameters, such as "epsilon-greedy:epsilon=0.1".
    #[getter]
    fn learner(&self) -> String {
        self.choice.to_string()
    }

    /// The number of rounds planned, None if unknown.
    #[getter]
    fn horizon(&self) -> Option<u64> {
        self.horizon
    }

    /// The feedback that the learner observes: "censored", "full" or "bandit".
    #[getter]
    fn feedback(&self) -> &'static str {
        self.feedback.as_str()
    }

    /// The seed of the learner's own random draws.
    #[getter]
    fn seed(&self) -> u64 {
        self.seed
    }

    /// Whether every search starts cold, as in the service.
    #[getter]
    fn always_cold(&self) -> bool {
        self.always_cold
    }

    /// The names of the tasks.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.problem.tasks().iter().map(|task| task.name().to_owned()).collect()
    }

    /// The largest reward of a completion.
    #[getter]
    fn reward_max(&self) -> f64 {
        self.problem.reward_max()
    }

    /// The guards with their amounts; empty without guards.
    #[getter]
    fn guards(&self, py: Python<'_>) -> PyResult<BTreeMap<&'static str, f64>> {
        self.with_campaign(py, |work| {
            let guards = work.campaign.guards().named().into_iter();
            Ok(guards.filter_map(|(name, amount)| Some((name, amount?))).collect())
        })
    }

    /// The number of rounds issued so far.
    #[getter]
    fn rounds(&self, py: Python<'_>) -> PyResult<u64> {
        self.with_campaign(py, |work| Ok(work.campaign.rounds()))
    }

    /// The number of rounds with missing outcomes.
    #[getter]
    fn open_rounds(&self, py: Python<'_>) -> PyResult<usize> {
        self.with_campaign(py, |work| Ok(work.campaign.open_rounds()))
    }

    /// The weight of each task in the last round, in the unit of the rewards. None before the
    /// first round and for learners that choose the allocation itself.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        let (chooses, scale) = (self.chooses_allocation, self.problem.reward_max());
        let weights = self.with_campaign(py, |work| {
            let known = !chooses && work.campaign.rounds() > 0;
            let weights = work.campaign.weights();
            Ok(known.then(|| weights.iter().map(|weight| weight * scale).collect()))
        })?;
        Ok(weights.map(|weights: Vec<f64>| PyArray1::from_vec(py, weights)))
    }

    /// The learner's state as JSON: what it has learnt from the outcomes.
    fn learnt(&self, py: Python<'_>) -> PyResult<String> {
        self.with_campaign(py, |work| {
            serde_json::to_string(&work.campaign.learner_state())
                .map_err(|error| StateError::new_err(error.to_string()))
        })
    }

    /// The saved state of the campaign as JSON.
    fn state(&self, py: Python<'_>) -> PyResult<String> {
        self.with_campaign(py, |work| Ok(work.campaign.save().to_json()))
    }

    /// The problem as JSON.
    fn problem_json(&self) -> PyResult<String> {
        serde_json::to_string(self.problem.as_ref())
            .map_err(|error| StateError::new_err(error.to_string()))
    }
}

/// The reported outcomes of a round, one entry per task.
struct Report<'a> {
    completed: &'a [bool],
    reward: Option<&'a [f64]>,
    /// Unavailable tasks have no outcome.
    mask: Option<&'a [bool]>,
}

impl Report<'_> {
    fn has(&self, task: usize) -> bool {
        self.mask.is_none_or(|mask| mask[task])
    }
}

/// Tells learners with different settings apart.
fn settings_hash(
    problem: &outlay::Problem,
    choice: &LearnerChoice,
    horizon: Option<u64>,
    feedback: Feedback,
    seed: u64,
) -> u64 {
    let mut hasher = DefaultHasher::new();
    problem.tasks().iter().for_each(|task| task.name().hash(&mut hasher));
    (problem.budget().to_bits(), problem.reward_max().to_bits()).hash(&mut hasher);
    (choice.to_string(), horizon, feedback.as_str(), seed).hash(&mut hasher);
    hasher.finish()
}

impl Learner {
    /// Runs `ask` with the campaign locked; long searches let other threads run.
    fn with_campaign<T: Send>(
        &self,
        py: Python<'_>,
        ask: impl FnOnce(&mut Work) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        let mut work = match self.work.lock_py_attached(py) {
            Ok(work) => work,
            Err(poisoned) => poisoned.into_inner(),
        };
        let work = &mut *work;
        let many = self.problem.tasks().len() >= MANY_TASKS;
        let result = if many { py.detach(|| ask(work)) } else { ask(work) };
        self.failure.raise()?;
        result
    }

    /// The number of a round and its mask.
    fn number<'a>(&self, round: &'a Bound<'_, PyAny>) -> PyResult<(u64, Option<&'a [bool]>)> {
        if let Ok(round) = round.cast::<Round>() {
            let round = round.get();
            if !round.issuer.is_same(self.issuer) {
                return Err(ObservationError::new_err(format!(
                    "round: round {} was issued by another learner; its outcomes belong there",
                    round.round
                )));
            }
            return Ok((round.round, round.mask.as_deref()));
        }
        let number = round.extract::<u64>();
        number.map(|number| (number, None)).map_err(|_| {
            ObservationError::new_err("round: must be a Round, or its number from 1 on")
        })
    }

    /// Learns from the rows of a data frame, all of them or none.
    fn observe_frame(
        &self,
        py: Python<'_>,
        frame: &Bound<'_, PyAny>,
        round: Option<u64>,
    ) -> PyResult<()> {
        let rows = rows(&self.problem, frame, round)?;
        let mut rounds: BTreeMap<u64, Vec<Outcome>> = BTreeMap::new();
        let tasks = self.problem.tasks().len();
        for row in &rows {
            let outcomes = rounds.entry(row.round).or_insert_with(|| vec![Outcome::Missing; tasks]);
            if outcomes[row.task] != Outcome::Missing {
                return Err(ObservationError::new_err(format!(
                    "row {}: task {} occurs twice in round {}",
                    row.row,
                    self.problem.tasks()[row.task].name(),
                    row.round
                )));
            }
            outcomes[row.task] = self.outcome(row.task, row.completed, row.reward)?;
        }
        self.with_campaign(py, |work| {
            let before = (rounds.len() > 1).then(|| work.campaign.save());
            for (number, outcomes) in &rounds {
                if let Err(error) = work.campaign.observe_round(*number, outcomes) {
                    if let Some(before) = &before {
                        let back = Campaign::load_with(&self.problem, self.choice.clone(), before);
                        work.campaign = back.map_err(|error| errors::campaign(&error))?;
                        if self.always_cold {
                            work.campaign.set_always_cold();
                        }
                    }
                    return Err(errors::campaign(&error));
                }
            }
            Ok(())
        })
    }

    fn take(&self, work: &mut Work, round: u64, report: &Report<'_>) -> PyResult<()> {
        let tasks = self.problem.tasks().len();
        let counts = [
            ("completed", Some(report.completed.len())),
            ("reward", report.reward.map(<[f64]>::len)),
            ("mask", report.mask.map(<[bool]>::len)),
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
            let outcome = |task: usize| match report.has(task) {
                true => self.outcome(
                    task,
                    report.completed[task],
                    report.reward.map(|reward| reward[task]),
                ),
                false => Ok(Outcome::Missing),
            };
            let outcomes = (0..tasks).map(outcome).collect::<PyResult<Vec<Outcome>>>()?;
            return campaign
                .observe_round(round, &outcomes)
                .map_err(|error| errors::campaign(&error));
        }
        completed.clear();
        for (task, &is_done) in report.completed.iter().enumerate() {
            let reward = report.reward.map(|reward| reward[task]);
            if is_done {
                completed.push(Completion { task, reward: self.reward(task, reward)? });
            } else if let Some(reward) = reward.filter(|reward| *reward != 0.0 && !reward.is_nan())
            {
                return Err(self.forbidden(task, reward));
            }
        }
        campaign.observe_completed(round, completed).map_err(|error| errors::campaign(&error))
    }

    /// What came back of some tasks; of the others nothing has been report.
    fn named_outcomes(
        &self,
        completed: &Bound<'_, PyMapping>,
        reward: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<Outcome>> {
        if self.choice.feedback() == Feedback::Bandit {
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
                        "task {name} has a reward, but completed does not name it"
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
                format!("task {name}: its reward is missing; {} is shown every reward", self.choice)
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

/// A contiguous matrix, copied only if necessary.
fn matrix<'py, T: numpy::Element>(
    given: &Bound<'py, PyAny>,
    kind: &str,
    what: &str,
) -> PyResult<PyReadonlyArray2<'py, T>> {
    let array = given.py().import("numpy")?.call_method1("ascontiguousarray", (given, kind));
    let array = array.and_then(|array| Ok(array.cast_into::<PyArray2<T>>()?.readonly()));
    array.map_err(|_| {
        ObservationError::new_err(format!(
            "{what}: must be a matrix with one row per round and one column per task"
        ))
    })
}
