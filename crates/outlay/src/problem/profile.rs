//! Profiles: numbers by task and round, such as the traffic of each hour of a week.

use std::collections::BTreeMap;

use super::errors::{ErrorList, FieldPath, ProblemErrorKind, UnknownTask};
use super::{CompletionLaw, EnvironmentSpec, SCALE_RANGE, Task, check};
use crate::curve::NumberRange;

/// The numbers of each task by its name, in the order of the rounds. Each list is repeated.
pub type Profile = BTreeMap<String, Vec<f64>>;

/// The lists of a profile in the order of the tasks; empty for a task without one.
pub(crate) fn by_position(profile: &Profile, tasks: &[Task]) -> Vec<Vec<f64>> {
    let list = |task: &Task| profile.get(task.name()).cloned().unwrap_or_default();
    tasks.iter().map(list).collect()
}

/// Checks the scales and volumes of an environment.
pub(super) fn check_profiles(spec: &EnvironmentSpec, tasks: &[Task], errors: &mut ErrorList) {
    check_profile("scale", &spec.scale, tasks, errors, |task, scale| {
        if !SCALE_RANGE.contains(&scale) {
            let expected = NumberRange::Scale;
            return Some(ProblemErrorKind::OutOfRange { number: scale, expected });
        }
        let error = task.curve().scaled(scale).err()?;
        Some(ProblemErrorKind::ScaledCurve { scale, error })
    });
    check_profile("volume", &spec.volume, tasks, errors, |_, volume| {
        let max = check::MAX_VOLUME;
        if !(volume > 0.0 && volume <= max) {
            let expected = NumberRange::Volume { max };
            return Some(ProblemErrorKind::OutOfRange { number: volume, expected });
        }
        match spec.completions {
            Some(law @ CompletionLaw::Single) if volume != 1.0 => {
                Some(ProblemErrorKind::VolumeOfLaw { volume, law })
            }
            Some(law @ CompletionLaw::Binomial) if volume.fract() != 0.0 => {
                Some(ProblemErrorKind::VolumeOfLaw { volume, law })
            }
            _ => None,
        }
    });
}

/// Checks the lists of a profile; of each list the first error is kept.
fn check_profile(
    key: &str,
    profile: &Profile,
    tasks: &[Task],
    errors: &mut ErrorList,
    error: impl Fn(&Task, f64) -> Option<ProblemErrorKind>,
) {
    if profile.is_empty() {
        return;
    }
    let by_name: BTreeMap<&str, &Task> = tasks.iter().map(|task| (task.name(), task)).collect();
    let (top, environment) = (FieldPath::Top, "environment");
    let environment = FieldPath::Key(&top, environment);
    let path = FieldPath::Key(&environment, key);
    for (name, numbers) in profile {
        let path = FieldPath::Key(&path, name);
        let Some(task) = by_name.get(name.as_str()) else {
            let unknown = UnknownTask::of(name, tasks.iter().map(Task::name));
            errors.add(path, ProblemErrorKind::UnknownTask(unknown));
            continue;
        };
        if numbers.is_empty() {
            errors.add(path, ProblemErrorKind::Empty);
        }
        let wrong = numbers.iter().enumerate();
        let mut wrong = wrong.filter_map(|(round, &number)| Some((round, error(task, number)?)));
        if let Some((round, kind)) = wrong.next() {
            errors.add(FieldPath::Item(&path, round), kind);
        }
    }
}
