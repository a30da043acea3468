//! The problem of one round: the same tasks with curves scaled by the traffic of the day, and with
//! the volumes of the day.

use std::ops::RangeInclusive;

use super::check::MAX_VOLUME;
use super::{CompletionLaw, Problem, Task, TaskExtras};
use crate::curve::{CurveError, NumberRange};
use crate::text::one_line;

/// The scales that a curve may have in a round.
pub const SCALE_RANGE: RangeInclusive<f64> = 1e-6..=1e6;

/// Scales or volumes that a round cannot have.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RoundCurvesError {
    /// A list does not have one entry per task.
    #[error("{what}: {got} entries for {expected} tasks")]
    Count {
        /// Which list.
        what: &'static str,
        /// The number of tasks of the problem.
        expected: usize,
        /// The number of entries.
        got: usize,
    },
    /// A scale or volume is out of range.
    #[error(
        "{what} of task {}: must be {expected}, not {number}{}",
        one_line(.task), hint(*.number)
    )]
    OutOfRange {
        /// `scale` or `volume`.
        what: &'static str,
        /// The task.
        task: String,
        /// The number.
        number: f64,
        /// The range.
        expected: NumberRange,
    },
    /// Every task completes at most once in a round.
    #[error(
        "volume: the tasks of this problem complete at most once in a round; give them a `volume` \
         in the problem, or set environment.completions"
    )]
    SingleCompletions,
    /// A binomial count needs a whole volume.
    #[error(
        "volume of task {}: must be whole if completions are binomial, not {volume}",
        one_line(.task)
    )]
    NotWhole {
        /// The task.
        task: String,
        /// Its volume.
        volume: f64,
    },
    /// The scaled curve leaves the range of amounts.
    #[error("scale of task {}: its curve cannot be scaled by {scale}: {error}", one_line(.task))]
    Curve {
        /// The task.
        task: String,
        /// Its scale.
        scale: f64,
        /// The error of the scaled curve.
        error: CurveError,
    },
}

/// The usual reason for a zero.
fn hint(number: f64) -> &'static str {
    if number == 0.0 { "; leave out a task that has no traffic" } else { "" }
}

impl Problem {
    /// The problem of a round with these scales and volumes, one per task; `None`: 1, and the
    /// volumes of the tasks. Task `k` has the curve `F_k(x / scale[k])`, and its `covers` is scaled
    /// alike. Bounds and budget stay.
    ///
    /// # Errors
    /// If a list does not have one entry per task, or an entry is out of range.
    pub fn in_round(
        &self,
        scale: Option<&[f64]>,
        volume: Option<&[f64]>,
    ) -> Result<Self, RoundCurvesError> {
        self.check_lists(scale, volume)?;
        let task = |(position, task): (usize, &Task)| -> Result<Task, RoundCurvesError> {
            let scale = scale.map_or(1.0, |scale| scale[position]);
            let volume = volume.map_or(task.volume(), |volume| volume[position]);
            task.in_round(scale, volume)
        };
        let tasks = self.tasks.iter().enumerate().map(task).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { tasks: tasks.into(), ..self.clone() })
    }

    /// Whether [`Problem::in_round`] accepts these scales and volumes.
    pub(crate) fn check_round(
        &self,
        scale: Option<&[f64]>,
        volume: Option<&[f64]>,
    ) -> Result<(), RoundCurvesError> {
        self.check_lists(scale, volume)?;
        let mut scaled = self.tasks.iter().zip(scale.unwrap_or_default());
        scaled.try_for_each(|(task, &scale)| task.scaled_curve(scale).map(drop))
    }

    fn check_lists(
        &self,
        scale: Option<&[f64]>,
        volume: Option<&[f64]>,
    ) -> Result<(), RoundCurvesError> {
        let expected = self.tasks.len();
        for (what, list) in [("scale", scale), ("volume", volume)] {
            if let Some(got) = list.map(<[f64]>::len).filter(|got| *got != expected) {
                return Err(RoundCurvesError::Count { what, expected, got });
            }
        }
        for (task, &scale) in self.tasks.iter().zip(scale.unwrap_or_default()) {
            check_scale(task, scale)?;
        }
        let Some(volume) = volume else { return Ok(()) };
        if !self.has_counts() {
            return Err(RoundCurvesError::SingleCompletions);
        }
        let mut volumes = self.tasks.iter().zip(volume);
        volumes.try_for_each(|(task, &volume)| self.check_volume(task, volume))
    }

    /// Checks the scale and the volume of one task.
    pub(crate) fn check_task(
        &self,
        task: &Task,
        scale: Option<f64>,
        volume: Option<f64>,
    ) -> Result<(), RoundCurvesError> {
        if let Some(scale) = scale {
            check_scale(task, scale)?;
            task.scaled_curve(scale)?;
        }
        match volume {
            None => Ok(()),
            Some(_) if !self.has_counts() => Err(RoundCurvesError::SingleCompletions),
            Some(volume) => self.check_volume(task, volume),
        }
    }

    fn check_volume(&self, task: &Task, volume: f64) -> Result<(), RoundCurvesError> {
        if !(volume > 0.0 && volume <= MAX_VOLUME) {
            let expected = NumberRange::Volume { max: MAX_VOLUME };
            return Err(out_of_range("volume", task, volume, expected));
        }
        let is_binomial = self.environment.completions == Some(CompletionLaw::Binomial);
        if is_binomial && volume.fract() != 0.0 {
            let task = task.name().to_owned();
            return Err(RoundCurvesError::NotWhole { task, volume });
        }
        Ok(())
    }
}

fn out_of_range(
    what: &'static str,
    task: &Task,
    number: f64,
    expected: NumberRange,
) -> RoundCurvesError {
    RoundCurvesError::OutOfRange { what, task: task.name().to_owned(), number, expected }
}

fn check_scale(task: &Task, scale: f64) -> Result<(), RoundCurvesError> {
    if SCALE_RANGE.contains(&scale) {
        return Ok(());
    }
    Err(out_of_range("scale", task, scale, NumberRange::Scale))
}

impl Task {
    fn scaled_curve(&self, scale: f64) -> Result<crate::curve::Curve, RoundCurvesError> {
        self.curve.scaled(scale).map_err(|error| {
            let task = self.name().to_owned();
            RoundCurvesError::Curve { task, scale, error }
        })
    }

    fn in_round(&self, scale: f64, volume: f64) -> Result<Self, RoundCurvesError> {
        let extras = self.extras.as_deref().unwrap_or(&TaskExtras::NONE).clone();
        let covers = extras.covers.map(|[low, high]| [scale * low, scale * high]);
        Ok(Self {
            curve: self.scaled_curve(scale)?,
            extras: TaskExtras { volume, covers, ..extras }.boxed(),
            name: self.name.clone(),
            value: self.value,
        })
    }
}
