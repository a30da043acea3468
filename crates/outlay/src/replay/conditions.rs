//! The conditions of replayed rounds: the scale of each task's curve and its volume.
//!
//! A row was recorded under the conditions of its own round. The record keeps it at scale 1 and at
//! the usual volume: a spend or threshold is divided by the scale, and a count weighs 1 / volume. A
//! replayed round has the conditions of a recorded one, and plays `F(x / scale)` with its volume.

use std::collections::HashMap;

use super::{Order, Record, RecordError, ReplayError, TaskRows};
use crate::campaign::CampaignError;
use crate::learner::LearnerSpec;
use crate::problem::{Problem, Profile, RoundCurvesError, Task, max_total};
use crate::simulation::ExperimentError;
use crate::text::one_line;

/// The curves of the rounds in which the rows of a task were recorded, one entry per row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RowConditions {
    /// The scales of the task's curve; empty: all 1.
    pub scale: Vec<f64>,
    /// The volumes of the task; empty: that of the problem.
    pub volume: Vec<f64>,
}

impl RowConditions {
    /// The conditions of each task's rows by the profiles of the problem's environment: row `r` of
    /// every task was recorded in round `r`. `None` if the problem has no profiles.
    #[must_use]
    pub fn of_profiles(problem: &Problem, tasks: &[TaskRows]) -> Option<Vec<Self>> {
        let environment = problem.environment();
        let numbers = |profile: &Profile, task: &Task, usual: f64, rows: usize| {
            if profile.is_empty() {
                return Vec::new();
            }
            match profile.get(task.name()) {
                Some(list) => list.iter().copied().cycle().take(rows).collect(),
                None => vec![usual; rows],
            }
        };
        let of_task = |(task, rows): (&Task, &TaskRows)| Self {
            scale: numbers(&environment.scale, task, 1.0, rows.len()),
            volume: numbers(&environment.volume, task, task.volume(), rows.len()),
        };
        let tasks = problem.tasks().iter().zip(tasks);
        environment.has_profiles().then(|| tasks.map(of_task).collect())
    }

    /// Checks that there is one entry per row, and that each is a possible condition of the task at
    /// this position.
    pub(super) fn check(
        &self,
        problem: &Problem,
        position: usize,
        rows: usize,
    ) -> Result<(), RecordError> {
        let task = || one_line(problem.tasks()[position].name());
        for (what, list) in [("scale", &self.scale), ("volume", &self.volume)] {
            if !list.is_empty() && list.len() != rows {
                let (task, got) = (task(), list.len());
                return Err(RecordError::ConditionCount { task, what, expected: rows, got });
            }
        }
        for row in 0..rows {
            let (scale, volume) = (self.scale.get(row).copied(), self.volume.get(row).copied());
            problem.check_task_in_round(position, scale, volume).map_err(|error| {
                RecordError::Condition { task: task(), row: row + 1, error: Box::new(error) }
            })?;
        }
        Ok(())
    }
}

impl Problem {
    /// Whether the task at this position can have this scale and volume in a round; `None`: the
    /// usual ones.
    ///
    /// # Errors
    /// If one of them is out of range.
    pub fn check_task_in_round(
        &self,
        position: usize,
        scale: Option<f64>,
        volume: Option<f64>,
    ) -> Result<(), RoundCurvesError> {
        let Some(task) = self.tasks().get(position) else { return Ok(()) };
        self.check_task(task, scale, volume)
    }
}

/// A spend as it is recorded: at scale 1. The quotient may have been rounded down.
pub(super) fn usual_spend(spend: f64, scale: f64) -> f64 {
    if scale == 1.0 { spend } else { max_total(spend / scale) }
}

/// The conditions of one round, one entry per task.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RoundCurves {
    /// Present if the record has scales.
    pub(super) scale: Option<Vec<f64>>,
    /// Present if the record has volumes.
    pub(super) volume: Option<Vec<f64>>,
    /// The volumes in multiples of the usual ones; all 1 without volumes.
    pub(super) ratio: Vec<f64>,
}

impl RoundCurves {
    /// The scale of a task.
    pub(super) fn scale(&self, task: usize) -> f64 {
        self.scale.as_ref().map_or(1.0, |scale| scale[task])
    }

    /// The problem of a round with these conditions.
    pub(super) fn problem(&self, problem: &Problem) -> Result<Problem, ReplayError> {
        let round = problem.in_round(self.scale.as_deref(), self.volume.as_deref());
        round.map_err(|error| ExperimentError::from(CampaignError::from(error)).into())
    }
}

/// The conditions of all rounds of a replay. Equal ones are kept once.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Season {
    pub(super) distinct: Vec<RoundCurves>,
    /// Positions in `distinct`: of each round in recorded order, or of every condition that a round
    /// draws with equal probability.
    pub(super) places: Vec<usize>,
    /// Whether learners and the model do not know them.
    pub(super) is_hidden: bool,
}

impl Season {
    /// The conditions of the rounds in this order; `None` if the record has none. A round takes the
    /// conditions of all tasks from the same position of the record, so that busy rounds of several
    /// tasks stay together. If tasks have different numbers of rows, drawn positions are
    /// proportional.
    pub(super) fn new(
        problem: &Problem,
        record: &Record,
        order: Order,
        rounds: u64,
    ) -> Option<Self> {
        let tasks = record.tasks();
        let has_scale = tasks.iter().any(|task| !task.conditions().scale.is_empty());
        let has_volume = tasks.iter().any(|task| !task.conditions().volume.is_empty());
        if !(has_scale || has_volume) {
            return None;
        }
        let longest = tasks.iter().map(|task| task.len()).max().unwrap_or(0) as u64;
        let count = match order {
            Order::Recorded => rounds,
            Order::Shuffled => longest,
        };
        let mut season = Self {
            distinct: Vec::new(),
            places: Vec::new(),
            is_hidden: problem.environment().hide_scale,
        };
        let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
        for position in 0..count {
            let row = |rows: u64| match order {
                Order::Recorded => (position % rows) as usize,
                Order::Shuffled => (position * rows / longest) as usize,
            };
            let rows = || tasks.iter().map(|task| row(task.len() as u64)).zip(tasks);
            let scale = || rows().map(|(row, task)| task.scale(row));
            let volumes = problem.tasks().iter().map(Task::volume);
            let ratio: Vec<f64> = rows().map(|(row, task)| task.ratio(row)).collect();
            let volume = rows().zip(volumes).map(|((row, task), usual)| {
                task.conditions().volume.get(row).copied().unwrap_or(usual)
            });
            let curves = RoundCurves {
                scale: has_scale.then(|| scale().collect()),
                volume: has_volume.then(|| volume.collect()),
                ratio,
            };
            let key = scale().chain(curves.ratio.iter().copied()).map(f64::to_bits).collect();
            let next = season.distinct.len();
            let place = *known.entry(key).or_insert(next);
            if place == next {
                season.distinct.push(curves);
            }
            season.places.push(place);
        }
        Some(season)
    }

    /// The conditions of a round, counted from 1. `uniform` draws them unless rounds are replayed in
    /// recorded order.
    pub(super) fn place(&self, round: u64, order: Order, uniform: f64) -> usize {
        let count = self.places.len();
        let position = match order {
            Order::Recorded => (round.wrapping_sub(1) % count as u64) as usize,
            Order::Shuffled => ((uniform * count as f64) as usize).min(count - 1),
        };
        self.places[position]
    }

    /// `scale` or `volume`, if the learner cannot use it and would see it.
    pub(super) fn refused_by(&self, learner: &LearnerSpec) -> Option<&'static str> {
        if self.is_hidden {
            return None;
        }
        let is_scaled = |curves: &RoundCurves| {
            curves.scale.as_ref().is_some_and(|scale| scale.iter().any(|scale| *scale != 1.0))
        };
        let refuses_scale = !learner.allows_scale() && self.distinct.iter().any(is_scaled);
        let has_volume = self.distinct.iter().any(|curves| curves.volume.is_some());
        let refuses_volume = !learner.allows_volume() && has_volume;
        refuses_scale.then_some("scale").or(refuses_volume.then_some("volume"))
    }

    /// The share of rounds with each of the distinct conditions.
    pub(super) fn shares(&self) -> Vec<f64> {
        let mut rounds = vec![0.0; self.distinct.len()];
        self.places.iter().for_each(|&place| rounds[place] += 1.0);
        let count = self.places.len() as f64;
        rounds.into_iter().map(|rounds| rounds / count).collect()
    }
}
