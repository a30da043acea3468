//! Outcomes that a learner observes: flags, counts, data frames and matrices.

use std::collections::BTreeMap;

use numpy::{PyArray2, PyArrayMethods, PyReadonlyArray2};
use outlay::campaign::Campaign;
use outlay::feedback::{Completion, Completions, Feedback, Outcome, Reward};
use outlay::ledger::EntryError;
use pyo3::prelude::*;
use pyo3::types::PyMapping;

use super::{Learner, Work};
use crate::arrays::{flags, numbers};
use crate::errors::{self, ObservationError};
use crate::labels::{Argument, aligned, aligned_columns, is_frame};
use crate::report::frame::rows;
use crate::report::{Arguments, COMPLETED, Cells, REWARD, SPEND, TaskReport, check_length};

/// The flags of a round, one entry per task: the common case, which makes no outcome of a failure.
struct Flags<'a> {
    completed: &'a [bool],
    reward: Option<&'a [f64]>,
    /// Unavailable tasks have no outcome.
    mask: Option<&'a [bool]>,
}

/// The outcomes of a round and the spends that were reported with them, one entry per task.
#[derive(Clone)]
struct RoundOutcomes {
    outcomes: Vec<Outcome>,
    spend: Vec<Option<f64>>,
    /// The number of clipped rewards.
    clipped: u64,
}

impl RoundOutcomes {
    fn new(tasks: usize) -> Self {
        Self { outcomes: vec![Outcome::Missing; tasks], spend: vec![None; tasks], clipped: 0 }
    }
}

impl Learner {
    pub(super) fn observe_any(
        &self,
        py: Python<'_>,
        round: &Bound<'_, PyAny>,
        arguments: &Arguments<'_, '_>,
        gain: Option<f64>,
    ) -> PyResult<()> {
        let counts = arguments.counts()?;
        if counts.is_none() && gain.is_none() && is_frame(round) {
            arguments.refuse_beside_frame()?;
            return self.observe_frame(py, round, None);
        }
        let (number, mask) = self.number(round)?;
        let Some((given, argument)) = counts else {
            let Some(gain) = gain else {
                let message = "observe: give completed and reward, or gain";
                return Err(ObservationError::new_err(message));
            };
            let share = gain / self.problem.reward_max();
            return self.with_campaign(py, |work| {
                work.campaign.observe_gain(number, share).map_err(|error| errors::campaign(&error))
            });
        };
        if gain.is_some() {
            let message = "observe: give completed and reward, or gain, not both";
            return Err(ObservationError::new_err(message));
        }
        if let Some(frame) = arguments.frame()? {
            return self.observe_frame(py, frame, Some(number));
        }
        let is_simple = argument.name == COMPLETED.name && arguments.spend.is_none();
        if is_simple && given.cast::<PyMapping>().is_err() {
            return self.observe_flags(py, number, mask, (given, arguments.reward));
        }
        let outcomes = self.round_outcomes(&arguments.tasks(&self.problem, mask)?)?;
        self.check_whole(&outcomes, mask)?;
        self.with_campaign(py, |work| learn(work, number, &outcomes))
    }

    fn observe_flags(
        &self,
        py: Python<'_>,
        number: u64,
        mask: Option<&[bool]>,
        (completed, reward): (&Bound<'_, PyAny>, Option<&Bound<'_, PyAny>>),
    ) -> PyResult<()> {
        let completed = aligned(&self.problem, completed, COMPLETED)?;
        let refuse = |text: String| match self.has_counts {
            true => ObservationError::new_err(format!("{text}; give counts as completions")),
            false => ObservationError::new_err(text),
        };
        let completed = flags(&completed, COMPLETED.name, refuse)?;
        let reward = reward.map(|reward| aligned(&self.problem, reward, REWARD)).transpose()?;
        let reward = reward
            .as_ref()
            .map(|reward| numbers(reward, REWARD.name, ObservationError::new_err))
            .transpose()?;
        let report = Flags {
            completed: completed.as_slice(),
            reward: reward.as_ref().map(|reward| reward.as_slice()),
            mask,
        };
        self.with_campaign(py, |work| self.take(work, number, &report))
    }

    pub(super) fn observe_matrices(
        &self,
        py: Python<'_>,
        rounds: &Bound<'_, PyAny>,
        arguments: &Arguments<'_, '_>,
    ) -> PyResult<()> {
        let Some((given, argument)) = arguments.counts()? else {
            return Err(ObservationError::new_err("observe_many: give completed or completions"));
        };
        let rounds: Vec<Bound<'_, PyAny>> = rounds.try_iter()?.collect::<PyResult<_>>()?;
        let shape = (rounds.len(), self.problem.tasks().len());
        let numbers = |given: Option<&Bound<'_, PyAny>>, argument: Argument| {
            given.map(|given| self.matrix::<f64>(given, shape, argument)).transpose()
        };
        let (reward, spend) =
            (numbers(arguments.reward, REWARD)?, numbers(arguments.spend, SPEND)?);
        let numbered =
            rounds.iter().map(|round| self.number(round)).collect::<PyResult<Vec<_>>>()?;
        if argument.name == COMPLETED.name && spend.is_none() {
            let completed = self.flag_matrix(given, shape)?;
            return self.with_campaign(py, |work| {
                for (place, (number, mask)) in numbered.iter().enumerate() {
                    let completed = &completed[place * shape.1..(place + 1) * shape.1];
                    let report =
                        Flags { completed, reward: row(&reward, place, shape.1), mask: *mask };
                    self.take(work, *number, &report)?;
                }
                Ok(())
            });
        }
        let counts = self.matrix::<f64>(given, shape, argument)?;
        for (place, (number, available)) in numbered.into_iter().enumerate() {
            let (reward, spend) = (row(&reward, place, shape.1), row(&spend, place, shape.1));
            let counts = &counts[place * shape.1..(place + 1) * shape.1];
            let cells = Cells { counts, argument, reward, spend, available };
            let outcomes = self.round_outcomes(&cells.reports(&self.problem)?)?;
            self.check_whole(&outcomes, available)?;
            self.with_campaign(py, |work| learn(work, number, &outcomes))?;
        }
        Ok(())
    }

    /// The cells of a matrix with one row per round and one column per task, row by row.
    fn matrix<T: numpy::Element + Clone>(
        &self,
        given: &Bound<'_, PyAny>,
        (rows, columns): (usize, usize),
        argument: Argument,
    ) -> PyResult<Vec<T>> {
        let given = aligned_columns(&self.problem, given, argument)?;
        let array: PyReadonlyArray2<'_, T> = contiguous(&given, argument.name)?;
        let (found_rows, found_columns) = array.as_array().dim();
        if (found_rows, found_columns) != (rows, columns) {
            return Err(ObservationError::new_err(format!(
                "{}: {rows} rounds and {columns} tasks need a matrix of that shape, not {found_rows} \
                 by {found_columns}",
                argument.name
            )));
        }
        array
            .as_slice()
            .map(<[T]>::to_vec)
            .map_err(|error| ObservationError::new_err(error.to_string()))
    }

    /// The same for flags; numbers other than one and zero are errors.
    fn flag_matrix(&self, given: &Bound<'_, PyAny>, shape: (usize, usize)) -> PyResult<Vec<bool>> {
        let kind = given.getattr("dtype").and_then(|dtype| dtype.getattr("kind"));
        if kind.is_ok_and(|kind| kind.eq("b").unwrap_or(false)) {
            return self.matrix::<bool>(given, shape, COMPLETED);
        }
        let is_done = |(place, number): (usize, f64)| match number {
            1.0 => Ok(true),
            0.0 => Ok(false),
            other => Err(ObservationError::new_err(format!(
                "completed: must be true or false (or 1, 0), not {other} for task {} in row {}",
                self.name_of(place % shape.1),
                place / shape.1
            ))),
        };
        let cells = self.matrix::<f64>(given, shape, COMPLETED)?;
        cells.into_iter().enumerate().map(is_done).collect()
    }

    /// Learns from the rows of a data frame, all of them or none.
    fn observe_frame(
        &self,
        py: Python<'_>,
        frame: &Bound<'_, PyAny>,
        round: Option<u64>,
    ) -> PyResult<()> {
        let rows = rows(&self.problem, frame, round)?;
        let mut rounds: BTreeMap<u64, RoundOutcomes> = BTreeMap::new();
        let tasks = self.problem.tasks().len();
        for row in &rows {
            let known = rounds.entry(row.round).or_insert_with(|| RoundOutcomes::new(tasks));
            if known.outcomes[row.task] != Outcome::Missing {
                return Err(ObservationError::new_err(format!(
                    "row {}: task {} occurs twice in round {}",
                    row.row,
                    self.problem.tasks()[row.task].name(),
                    row.round
                )));
            }
            known.outcomes[row.task] = self.outcome(row.task, row.report)?;
            known.spend[row.task] = row.report.spend;
            known.clipped += self.count_clipped(row.report);
        }
        rounds.values().try_for_each(|known| self.check_whole(known, None))?;
        self.with_campaign(py, |work| {
            let before = (rounds.len() > 1).then(|| work.campaign.save());
            for (number, outcomes) in &rounds {
                if let Err(error) = learn(work, *number, outcomes) {
                    if let Some(before) = &before {
                        let back = Campaign::load_with(&self.problem, self.choice.clone(), before);
                        work.campaign = back.map_err(|error| errors::campaign(&error))?;
                        if self.always_cold {
                            work.campaign.set_always_cold();
                        }
                    }
                    return Err(error);
                }
            }
            Ok(())
        })
    }

    fn take(&self, work: &mut Work, round: u64, report: &Flags<'_>) -> PyResult<()> {
        let tasks = self.problem.tasks().len();
        check_length(COMPLETED.name, report.completed.len(), tasks)?;
        check_length(REWARD.name, report.reward.map_or(tasks, <[f64]>::len), tasks)?;
        check_length("mask", report.mask.map_or(tasks, <[bool]>::len), tasks)?;
        let Work { campaign, completed } = work;
        if self.feedback == Feedback::Full {
            let outcome = |task: usize| {
                let has = report.mask.is_none_or(|mask| mask[task]);
                let reward = report.reward.map(|reward| reward[task]);
                let reward = reward.filter(|reward| !reward.is_nan());
                let completions = u64::from(report.completed[task]);
                match has {
                    true => self.outcome(task, TaskReport { completions, reward, spend: None }),
                    false => Ok(Outcome::Missing),
                }
            };
            let outcomes = (0..tasks).map(outcome).collect::<PyResult<Vec<Outcome>>>()?;
            campaign.observe_round(round, &outcomes).map_err(|error| errors::campaign(&error))?;
            let report = |task: usize| TaskReport {
                completions: u64::from(report.completed[task]),
                reward: report.reward.map(|reward| reward[task]),
                spend: None,
            };
            let shown = (0..tasks).filter(|task| outcomes[*task] != Outcome::Missing);
            campaign.add_clipped(shown.map(|task| self.count_clipped(report(task))).sum());
            return Ok(());
        }
        completed.clear();
        let mut clipped = 0;
        for (task, &is_done) in report.completed.iter().enumerate() {
            let reward = report.reward.map(|reward| reward[task]);
            if is_done {
                clipped += self.count_clipped(TaskReport { completions: 1, reward, spend: None });
                completed.push(Completion { task, reward: self.reward(task, reward)? });
            } else if let Some(reward) = reward.filter(|reward| *reward != 0.0 && !reward.is_nan())
            {
                return Err(
                    self.refuse(EntryError::RewardOfFailure { task: self.name_of(task), reward })
                );
            }
        }
        campaign.observe_completed(round, completed).map_err(|error| errors::campaign(&error))?;
        campaign.add_clipped(clipped);
        Ok(())
    }

    /// A learner with bandit feedback observes the outcomes of a round only together.
    fn check_whole(&self, known: &RoundOutcomes, available: Option<&[bool]>) -> PyResult<()> {
        let is_missing = |(task, outcome): (usize, &Outcome)| {
            *outcome == Outcome::Missing && available.is_none_or(|available| available[task])
        };
        if self.choice.feedback() != Feedback::Bandit
            || !known.outcomes.iter().enumerate().any(is_missing)
        {
            return Ok(());
        }
        let message = "this learner needs the gain of a round, not the outcome of a task";
        Err(ObservationError::new_err(message))
    }

    fn round_outcomes(&self, reports: &[Option<TaskReport>]) -> PyResult<RoundOutcomes> {
        let mut found = RoundOutcomes::new(reports.len());
        for (task, report) in reports.iter().enumerate() {
            let Some(report) = *report else { continue };
            found.outcomes[task] = self.outcome(task, report)?;
            found.spend[task] = report.spend;
            found.clipped += self.count_clipped(report);
        }
        Ok(found)
    }

    /// The outcome of a task, with the checks of the ledger.
    fn outcome(&self, task: usize, report: TaskReport) -> PyResult<Outcome> {
        let TaskReport { completions, reward, spend } = report;
        if let Some(spend) = spend.filter(|spend| !(*spend >= 0.0 && spend.is_finite())) {
            return Err(self.refuse(EntryError::SpendRange { task: self.name_of(task), spend }));
        }
        let sees_all = self.feedback == Feedback::Full;
        let most = if sees_all || !self.has_counts { 1 } else { Completions::MAX };
        if completions > most {
            let task = self.name_of(task);
            return Err(self.refuse(EntryError::TooManyCompletions { task, completions, most }));
        }
        match (completions, reward) {
            (0, None) if sees_all => Err(ObservationError::new_err(format!(
                "task {}: its reward is missing; {} is shown every reward",
                self.name_of(task),
                self.choice
            ))),
            (0, Some(_)) if sees_all => Ok(Outcome::Forgone(self.reward(task, reward)?)),
            (0, Some(reward)) if reward != 0.0 => {
                Err(self.refuse(EntryError::RewardOfFailure { task: self.name_of(task), reward }))
            }
            (0, _) => Ok(Outcome::Failed),
            (1, reward) => Ok(Outcome::Done(self.reward(task, reward)?)),
            (count, reward) => Ok(Outcome::Counted(self.completions(task, count, reward)?)),
        }
    }

    /// A reward in the problem's unit, as a share of the largest.
    fn reward(&self, task: usize, reward: Option<f64>) -> PyResult<Reward> {
        let most = self.problem.reward_max();
        match reward.map(|reward| self.counted(1, reward)) {
            Some(reward) if reward >= 0.0 && reward <= most => {
                Ok(Reward::from_share(reward / most))
            }
            _ => Err(self.bad_reward(task, 1, reward)),
        }
    }

    /// Several completions with the sum of their rewards.
    fn completions(&self, task: usize, count: u64, reward: Option<f64>) -> PyResult<Completions> {
        let most = self.problem.reward_max();
        let counted = reward.map(|reward| self.counted(count, reward));
        let share = counted.filter(|reward| *reward >= 0.0 && *reward <= count as f64 * most);
        // The division may round the sum up.
        let share = share.map(|reward| (reward / most).min(count as f64));
        let completions = share.and_then(|share| Completions::from_share(count, share));
        completions.ok_or_else(|| self.bad_reward(task, count, reward))
    }

    /// Whether the problem clips the reward of a report: 1 or 0.
    fn count_clipped(&self, report: TaskReport) -> u64 {
        let clips = |reward| self.problem.clips_reward(report.completions, reward);
        u64::from(self.problem.reward_over_max().clips() && report.reward.is_some_and(clips))
    }

    /// A reward, clipped if the problem clips it.
    fn counted(&self, completions: u64, reward: f64) -> f64 {
        let is_clipped = self.problem.reward_over_max().clips()
            && self.problem.clips_reward(completions, reward);
        if is_clipped { self.problem.clipped_reward(completions, reward) } else { reward }
    }

    fn bad_reward(&self, task: usize, completions: u64, reward: Option<f64>) -> PyErr {
        let (task, reward_max) = (self.name_of(task), self.problem.reward_max());
        match reward.filter(|reward| !reward.is_nan()) {
            None => self.refuse(EntryError::NoReward(task)),
            Some(reward) => {
                self.refuse(EntryError::RewardRange { task, reward, completions, reward_max })
            }
        }
    }

    fn name_of(&self, task: usize) -> String {
        self.problem.tasks()[task].name().to_owned()
    }

    fn refuse(&self, error: EntryError) -> PyErr {
        ObservationError::new_err(error.to_string())
    }
}

/// A row of a matrix.
fn row(cells: &Option<Vec<f64>>, row: usize, columns: usize) -> Option<&[f64]> {
    cells.as_ref().map(|cells| &cells[row * columns..(row + 1) * columns])
}

fn learn(work: &mut Work, round: u64, known: &RoundOutcomes) -> PyResult<()> {
    work.campaign
        .observe_round_at(round, &known.outcomes, &known.spend)
        .map_err(|error| errors::campaign(&error))?;
    work.campaign.add_clipped(known.clipped);
    Ok(())
}

/// A contiguous matrix, copied only if necessary.
fn contiguous<'py, T: numpy::Element>(
    given: &Bound<'py, PyAny>,
    what: &str,
) -> PyResult<PyReadonlyArray2<'py, T>> {
    let kind = T::get_dtype(given.py());
    let array = given.py().import("numpy")?.call_method1("ascontiguousarray", (given, kind));
    let array = array.and_then(|array| Ok(array.cast_into::<PyArray2<T>>()?.readonly()));
    array.map_err(|_| {
        ObservationError::new_err(format!(
            "{what}: must be a matrix with one row per round and one column per task"
        ))
    })
}
