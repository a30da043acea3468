//! Reported outcomes: completions, rewards and spends as the user gave them, one entry per task.

pub(crate) mod frame;

use outlay::{Problem, Task};
use pyo3::prelude::*;
use pyo3::types::PyMapping;

use crate::arrays::{flag, flags, numbers};
use crate::errors::ObservationError;
use crate::labels::{Argument, aligned, is_frame};

const fn argument(name: &'static str) -> Argument {
    Argument { name, column: name, error: ObservationError::new_err::<String> }
}

pub(crate) const COMPLETED: Argument = argument("completed");
pub(crate) const COMPLETIONS: Argument = argument("completions");
pub(crate) const REWARD: Argument = argument("reward");
pub(crate) const SPEND: Argument = argument("spend");

/// The reported outcome of a task in a round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TaskReport {
    pub(crate) completions: u64,
    /// The sum of the rewards; absent if unknown.
    pub(crate) reward: Option<f64>,
    /// The amount that was really spent; absent if unknown.
    pub(crate) spend: Option<f64>,
}

/// The arguments of a report of one round.
#[derive(Clone, Copy)]
pub(crate) struct Arguments<'a, 'py> {
    pub(crate) completed: Option<&'a Bound<'py, PyAny>>,
    pub(crate) completions: Option<&'a Bound<'py, PyAny>>,
    pub(crate) reward: Option<&'a Bound<'py, PyAny>>,
    pub(crate) spend: Option<&'a Bound<'py, PyAny>>,
}

impl<'a, 'py> Arguments<'a, 'py> {
    /// The argument that has the completions, if one does.
    pub(crate) fn counts(&self) -> PyResult<Option<(&'a Bound<'py, PyAny>, Argument)>> {
        match (self.completed, self.completions) {
            (Some(_), Some(_)) => {
                Err(ObservationError::new_err("give completed or completions, not both"))
            }
            (Some(completed), None) => Ok(Some((completed, COMPLETED))),
            (None, Some(completions)) => Ok(Some((completions, COMPLETIONS))),
            (None, None) => Ok(None),
        }
    }

    /// The data frame with all columns of a report, if that is what was given.
    pub(crate) fn frame(&self) -> PyResult<Option<&'a Bound<'py, PyAny>>> {
        let given = self.counts()?.map(|(given, _)| given);
        let Some(frame) = given.filter(|given| is_frame(given)) else { return Ok(None) };
        self.refuse_beside_frame()?;
        Ok(Some(frame))
    }

    /// A data frame has all columns, so the other arguments must be absent.
    pub(crate) fn refuse_beside_frame(&self) -> PyResult<()> {
        for (argument, given) in [(REWARD, self.reward), (SPEND, self.spend)] {
            if given.is_some() {
                return Err(ObservationError::new_err(format!(
                    "{}: the data frame has this column; leave the argument out",
                    argument.name
                )));
            }
        }
        Ok(())
    }

    /// The reports of the tasks; absent where nothing was reported. `available` marks the available
    /// tasks; unavailable ones may be given as failed.
    pub(crate) fn tasks(
        &self,
        problem: &Problem,
        available: Option<&[bool]>,
    ) -> PyResult<Vec<Option<TaskReport>>> {
        let Some((given, argument)) = self.counts()? else {
            return Err(ObservationError::new_err("give completed or completions"));
        };
        let Ok(named) = given.cast::<PyMapping>() else {
            let counts = in_order(problem, given, argument)?;
            let optional = |given: Option<&Bound<'py, PyAny>>, argument| {
                given.map(|given| in_order(problem, given, argument)).transpose()
            };
            let (reward, spend) = (optional(self.reward, REWARD)?, optional(self.spend, SPEND)?);
            let (reward, spend) = (reward.as_deref(), spend.as_deref());
            let cells = Cells { counts: &counts, argument, reward, spend, available };
            return cells.reports(problem);
        };
        let counts = by_name(problem, named, argument)?;
        let optional = |given: Option<&Bound<'py, PyAny>>, other: Argument| {
            given.map(|given| beside(problem, given, other, (named, argument))).transpose()
        };
        let (reward, spend) = (optional(self.reward, REWARD)?, optional(self.spend, SPEND)?);
        let (reward, spend) = (reward.as_deref(), spend.as_deref());
        Cells { counts: &counts, argument, reward, spend, available }.reports(problem)
    }
}

/// The numbers of one round, one entry per task; NaN means unknown.
pub(crate) struct Cells<'a> {
    pub(crate) counts: &'a [f64],
    /// The argument of the counts: `completed` or `completions`.
    pub(crate) argument: Argument,
    pub(crate) reward: Option<&'a [f64]>,
    pub(crate) spend: Option<&'a [f64]>,
    pub(crate) available: Option<&'a [bool]>,
}

impl Cells<'_> {
    /// The reports of the tasks; absent where the number of completions is unknown.
    pub(crate) fn reports(&self, problem: &Problem) -> PyResult<Vec<Option<TaskReport>>> {
        let tasks = problem.tasks().len();
        let lengths = [
            (self.argument.name, Some(self.counts.len())),
            (REWARD.name, self.reward.map(<[f64]>::len)),
            (SPEND.name, self.spend.map(<[f64]>::len)),
            ("mask", self.available.map(<[bool]>::len)),
        ];
        for (name, length) in lengths {
            check_length(name, length.unwrap_or(tasks), tasks)?;
        }
        problem.tasks().iter().enumerate().map(|(task, entry)| self.report(task, entry)).collect()
    }

    fn report(&self, task: usize, entry: &Task) -> PyResult<Option<TaskReport>> {
        let known = |cells: Option<&[f64]>| {
            cells.map(|cells| cells[task]).filter(|number| !number.is_nan())
        };
        let (reward, spend) = (known(self.reward), known(self.spend));
        let count = self.counts[task];
        if count.is_nan() {
            return match reward.filter(|reward| *reward != 0.0) {
                None => Ok(None),
                Some(_) => Err(ObservationError::new_err(format!(
                    "reward of {} is given, but its {} is unknown",
                    entry.name(),
                    self.argument.name
                ))),
            };
        }
        let completions = whole(count).ok_or_else(|| not_whole(self.argument, entry, count))?;
        // An unavailable task has no outcome; a completion of it is an error of the campaign.
        let is_available = self.available.is_none_or(|available| available[task]);
        if !is_available && completions == 0 {
            return Ok(None);
        }
        Ok(Some(TaskReport { completions, reward, spend }))
    }
}

pub(crate) fn check_length(name: &str, length: usize, tasks: usize) -> PyResult<()> {
    if length == tasks {
        return Ok(());
    }
    Err(ObservationError::new_err(format!("{name}: {length} entries for {tasks} tasks")))
}

/// A whole number from 0 on.
fn whole(number: f64) -> Option<u64> {
    (number >= 0.0 && number.fract() == 0.0 && number < 9e15).then_some(number as u64)
}

fn not_whole(argument: Argument, task: &Task, number: f64) -> PyErr {
    ObservationError::new_err(format!(
        "{} of {}: must be a whole number from 0 on, not {number}",
        argument.name,
        task.name()
    ))
}

/// One number per task, in the order of the tasks or by label.
fn in_order(problem: &Problem, given: &Bound<'_, PyAny>, argument: Argument) -> PyResult<Vec<f64>> {
    let given = aligned(problem, given, argument)?;
    if argument.name == COMPLETED.name {
        let flags = flags(&given, argument.name, argument.error)?;
        return Ok(flags.as_slice().iter().map(|&is_done| f64::from(u8::from(is_done))).collect());
    }
    Ok(numbers(&given, argument.name, argument.error)?.as_slice().to_vec())
}

/// The numbers of a mapping from names; NaN for tasks that it does not name.
fn by_name(
    problem: &Problem,
    named: &Bound<'_, PyMapping>,
    argument: Argument,
) -> PyResult<Vec<f64>> {
    let mut found = vec![f64::NAN; problem.tasks().len()];
    for item in named.items()?.iter() {
        let (name, given): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let name = name.str()?.to_string();
        let position = problem
            .task_position(&name)
            .map_err(|unknown| (argument.error)(format!("{}: {unknown}", argument.name)))?;
        found[position] = number(&given, &name, argument)?;
    }
    Ok(found)
}

/// One number of a mapping; None is NaN.
fn number(given: &Bound<'_, PyAny>, name: &str, argument: Argument) -> PyResult<f64> {
    if given.is_none() {
        return Ok(f64::NAN);
    }
    if argument.name == COMPLETED.name {
        return flag(given).map(|is_done| f64::from(u8::from(is_done))).ok_or_else(|| {
            (argument.error)(format!("completed: {name} must be true or false (or 1, 0)"))
        });
    }
    let number = given.extract::<f64>();
    number.map_err(|_| (argument.error)(format!("{} of {name}: is not a number", argument.name)))
}

/// The rewards or spends beside a mapping of completions. They may only name tasks of it.
fn beside(
    problem: &Problem,
    given: &Bound<'_, PyAny>,
    argument: Argument,
    (counts, of): (&Bound<'_, PyMapping>, Argument),
) -> PyResult<Vec<f64>> {
    let named = given.cast::<PyMapping>().map_err(|_| {
        let text = format!("{}: must be a mapping from names, as {} is", argument.name, of.name);
        (argument.error)(text)
    })?;
    let found = by_name(problem, named, argument)?;
    for name in named.keys()?.iter() {
        if !counts.contains(&name)? {
            let (name, what) = (name.str()?, argument.name);
            let text = format!("task {name} has a {what}, but {} does not name it", of.name);
            return Err((argument.error)(text));
        }
    }
    Ok(found)
}
