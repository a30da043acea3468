//! A learner in use: it issues allocations and observes outcomes.

mod issuer;
mod observe;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use numpy::PyArray1;
use outlay::campaign::{Campaign, CampaignOptions, CampaignState, Guards, RoundConditions};
use outlay::feedback::{Completion, Feedback};
use outlay::learner::LearnerChoice;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;

pub(crate) use self::issuer::Issuer;
use crate::arrays::flags;
use crate::custom_learner::Failure;
use crate::errors::{self, ObservationError, StateError};
use crate::labels::{Argument, aligned};
use crate::problem::Problem;
use crate::report::Arguments;
use crate::round::Round;
use crate::simulation::{feedback as feedback_of, learner as choice_of};
use crate::values::RoundCurves;

/// From this many tasks on, a search takes long enough to let other threads run.
const MANY_TASKS: usize = 2000;

const MASK: Argument =
    Argument { name: "mask", column: "mask", error: ObservationError::new_err::<String> };

/// A campaign, and a buffer for the completions of a round.
struct Work {
    campaign: Campaign,
    completed: Vec<Completion>,
}

/// A learner and its rounds. `outlay.Learner` adds files and tables.
#[pyclass(subclass, frozen, module = "outlay._outlay")]
pub(crate) struct Learner {
    problem: Arc<outlay::Problem>,
    /// Whether a task may complete more than once.
    has_counts: bool,
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
        max_change=None, floor=None, min_move=None, always_cold=false, ignore_seen=false,
        state=None))]
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
        ignore_seen: bool,
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
            ignore_seen,
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
        let settings = issuer::settings_hash(&problem, &choice, horizon, feedback, seed);
        let issuer = Issuer::new(state.is_some(), settings);
        let work = Mutex::new(Work { campaign, completed: Vec::new() });
        Ok(Self {
            has_counts: problem.has_counts(),
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
    /// scale : mapping, sequence of float or Series, optional
    ///     The scale of each task's curve in this round: a task with scale s has the curve F(x / s).
    ///     A mapping from names may set only some of them; the others are 1.
    /// volume : mapping, sequence of float or Series, optional
    ///     The volume of each task in this round; by default those of the problem.
    ///
    /// Returns
    /// -------
    /// Round
    ///     The spend of each task.
    ///
    /// Raises
    /// ------
    /// AllocationError
    ///     If the budget does not cover the lower bounds of the tasks, or a scale or volume is
    ///     invalid or unsuitable for the learner. No round is issued then.
    /// ObservationError
    ///     If the mask does not fit the tasks.
    ///
    /// Examples
    /// --------
    /// >>> import outlay
    /// >>> learner = outlay.Learner(outlay.Problem.load("power"))
    /// >>> learner.allocate(budget=0.5).budget
    /// 0.5
    /// >>> learner.allocate(scale={"task-1": 1.3}).scale.tolist()
    /// [1.3, 1.0, 1.0, 1.0, 1.0]
    #[pyo3(signature = (budget=None, mask=None, *, scale=None, volume=None))]
    fn allocate(
        &self,
        py: Python<'_>,
        budget: Option<f64>,
        mask: Option<&Bound<'_, PyAny>>,
        scale: Option<&Bound<'_, PyAny>>,
        volume: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Round> {
        let budget = budget.unwrap_or(self.problem.budget());
        let mask = match mask {
            None => None,
            Some(mask) => {
                let mask = aligned(&self.problem, mask, MASK)?;
                Some(flags(&mask, "mask", ObservationError::new_err)?.as_slice().to_vec())
            }
        };
        let curves = RoundCurves::new(&self.problem, scale, volume)?;
        let conditions = RoundConditions {
            budget,
            available: mask.as_deref(),
            scale: curves.scale.as_deref(),
            volume: curves.volume.as_deref(),
        };
        let ask = |work: &mut Work| {
            let issued = work.campaign.issue(&conditions);
            self.failure.raise()?;
            let issued = issued.map_err(|error| errors::campaign(&error))?;
            Ok((issued.round, issued.allocation.clone(), issued.guards.copied()))
        };
        let (round, allocation, guards) = self.with_campaign(py, ask)?;
        let problem = Arc::clone(&self.problem);
        let mut round = Round::new(problem, round, allocation, mask, guards, self.issuer);
        round.curves = curves;
        Ok(round)
    }

    /// Reports the outcomes of a round.
    ///
    /// Parameters
    /// ----------
    /// round : Round, int or DataFrame
    ///     The round or its number. A data frame with the columns round, task, completed (or
    ///     completions), reward and, if known, spend reports several rounds; it is then the only
    ///     argument.
    /// completed : sequence of bool, Series, mapping or DataFrame, optional
    ///     Whether each task completed. A mapping from names, or a data frame with the columns
    ///     task, completed and reward, may report only some of the tasks. A Series with labels is
    ///     aligned by name.
    /// reward : sequence of float, Series or mapping, optional
    ///     The reward of each completed task, between 0 and reward_max; with completions, the sum
    ///     of the rewards. The reward of a task that failed is unknown: 0 or NaN.
    /// completions : sequence of int, Series, mapping or DataFrame, optional
    ///     In place of completed: how often each task completed. Only a problem with volumes has
    ///     more than one completion. NaN means that the number is not known yet.
    /// spend : sequence of float, Series or mapping, optional
    ///     The amounts that were really spent; NaN means as allocated. Learners that learn from
    ///     spends use them: lattimore, and those of your own with a method observe.
    /// gain : float, optional
    ///     The total reward of the round, in place of the others, for learners with bandit
    ///     feedback.
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
    ///
    /// With counts:
    ///
    /// >>> curve = outlay.Exponential(scale=40)
    /// >>> tasks = [outlay.Task(name, curve=curve, volume=30) for name in ("search", "social")]
    /// >>> learner = outlay.Learner(outlay.Problem(tasks, budget=100, reward_max=50))
    /// >>> first = learner.allocate()
    /// >>> completions, reward = {"search": 24, "social": 3}, {"search": 410, "social": 66}
    /// >>> learner.observe(first, completions=completions, reward=reward)
    /// >>> learner.table()["completions"].tolist()
    /// [24, 3]
    #[pyo3(signature = (round, completed=None, reward=None, *, completions=None, spend=None,
        gain=None))]
    #[allow(clippy::too_many_arguments, reason = "keywords")]
    fn observe(
        &self,
        py: Python<'_>,
        round: &Bound<'_, PyAny>,
        completed: Option<&Bound<'_, PyAny>>,
        reward: Option<&Bound<'_, PyAny>>,
        completions: Option<&Bound<'_, PyAny>>,
        spend: Option<&Bound<'_, PyAny>>,
        gain: Option<f64>,
    ) -> PyResult<()> {
        let arguments = Arguments { completed, completions, reward, spend };
        self.observe_any(py, round, &arguments, gain)
    }

    /// Reports the outcomes of many rounds.
    ///
    /// The effect is that of `observe` on each row in turn, up to the first invalid one.
    ///
    /// Parameters
    /// ----------
    /// rounds : iterable of Round or int
    ///     The rounds.
    /// completed : array_like of bool or DataFrame, optional
    ///     One row per round and one column per task. The columns of a data frame are aligned by
    ///     name.
    /// reward : array_like of float or DataFrame, optional
    ///     The rewards, in the same shape.
    /// completions, spend : array_like of float or DataFrame, optional
    ///     As in `observe`, in the same shape.
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
    #[pyo3(signature = (rounds, completed=None, reward=None, *, completions=None, spend=None))]
    fn observe_many(
        &self,
        py: Python<'_>,
        rounds: &Bound<'_, PyAny>,
        completed: Option<&Bound<'_, PyAny>>,
        reward: Option<&Bound<'_, PyAny>>,
        completions: Option<&Bound<'_, PyAny>>,
        spend: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let arguments = Arguments { completed, completions, reward, spend };
        self.observe_matrices(py, rounds, &arguments)
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

    /// The number of reports whose reward was above the largest one and was clipped, for problems
    /// with reward_over_max="clip".
    #[getter]
    fn clipped(&self, py: Python<'_>) -> PyResult<u64> {
        self.with_campaign(py, |work| Ok(work.campaign.clipped()))
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

    /// The learner's state: what it has learnt from the outcomes.
    ///
    /// Returns
    /// -------
    /// str
    ///     JSON.
    ///
    /// Examples
    /// --------
    /// >>> import outlay
    /// >>> outlay.Learner(outlay.Problem.load("power:tasks=2")).learnt()
    /// '{"completions":[0,0],"reward_sum":[0,0]}'
    fn learnt(&self, py: Python<'_>) -> PyResult<String> {
        self.with_campaign(py, |work| {
            serde_json::to_string(&work.campaign.learner_state())
                .map_err(|error| StateError::new_err(error.to_string()))
        })
    }

    /// The learner, its state and its open rounds, without the problem; see `to_json`.
    ///
    /// Returns
    /// -------
    /// str
    ///     JSON.
    ///
    /// Examples
    /// --------
    /// >>> import json, outlay
    /// >>> json.loads(outlay.Learner(outlay.Problem.load("power")).state())["learner"]
    /// 'kl-ucb-plus'
    fn state(&self, py: Python<'_>) -> PyResult<String> {
        self.with_campaign(py, |work| Ok(work.campaign.save().to_json()))
    }

    fn _problem_json(&self) -> PyResult<String> {
        serde_json::to_string(self.problem.as_ref())
            .map_err(|error| StateError::new_err(error.to_string()))
    }
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
}
