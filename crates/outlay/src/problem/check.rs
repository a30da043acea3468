//! Checks a [`ProblemSpec`] and turns it into a [`Problem`].

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::environment::{check_environment, lower_bounds};
use super::errors::ErrorList;
use super::{Bounds, Problem, ProblemErrors, ProblemSpec, RewardLaw, Task, TaskSpec, covers};
use crate::curve::{AMOUNT_RANGE, OUT_OF_RANGE};
use crate::numeric::compensated::sum;
use crate::text::{listed, one_line};

impl ProblemSpec {
    /// Checks everything and returns the problem, or every error at once.
    ///
    /// # Errors
    /// Every invalid field with its path: numbers out of range, missing or duplicate names, bounds
    /// that contradict each other or cannot all be met.
    pub fn check(self) -> Result<Problem, ProblemErrors> {
        let mut errors = ErrorList::default();
        let problem = check_into(self, &mut errors);
        errors.into_result(problem)
    }
}

/// The problem, to be used only if there are no errors. ErrorList known before are not repeated.
pub(super) fn check_into(spec: ProblemSpec, errors: &mut ErrorList) -> Problem {
    if !errors.has("budget") {
        require_positive(errors, "budget", spec.budget);
        if spec.budget > 0.0 {
            require_in_range(errors, || "budget".to_owned(), spec.budget);
        }
    }
    if spec.horizon == Some(0) {
        errors.add("horizon", "must be at least 1, not 0");
    }
    if !errors.has("reward_max") {
        require_positive(errors, "reward_max", spec.reward_max);
    }
    if spec.tasks.is_empty() && !["task", "tasks", "tasks.file"].iter().any(|path| errors.has(path))
    {
        errors.add("task", "there is none: a problem needs at least one task");
    }
    check_names(&spec.tasks, errors);
    // Without a valid maximum no reward can be checked against it.
    let reward_max = if errors.has("reward_max") { f64::INFINITY } else { spec.reward_max };
    let bounds: Vec<Bounds> = spec
        .tasks
        .iter()
        .enumerate()
        .map(|(position, task)| check_task(task, position, reward_max, errors))
        .collect();
    if !errors.has("budget") {
        check_lower_bounds(&spec, &bounds, errors);
    }
    check_environment(&spec.environment, lower_bounds(&bounds), errors);
    let tasks = spec.tasks.into_iter().zip(bounds).map(|(task, bounds)| Task {
        name: task.name,
        curve: task.curve,
        value: task.value,
        reward: task.reward,
        bounds,
        current: task.current,
    });
    Problem {
        budget: spec.budget,
        horizon: spec.horizon,
        reward_max: spec.reward_max,
        leftover: spec.leftover,
        environment: spec.environment,
        tasks: tasks.collect(),
    }
}

/// The position of a task in its file.
fn origin(task: &TaskSpec, position: usize) -> String {
    if task.origin.is_empty() { format!("task[{position}]") } else { one_line(&task.origin) }
}

/// The path of a task's field.
fn path(task: &TaskSpec, position: usize, field: &str) -> String {
    let origin = origin(task, position);
    let between = if origin.ends_with(']') { "." } else { ", " };
    format!("{origin}{between}{field}")
}

fn check_names(tasks: &[TaskSpec], errors: &mut ErrorList) {
    let mut owners: HashMap<&str, usize> = HashMap::with_capacity(tasks.len());
    for (position, task) in tasks.iter().enumerate() {
        let name = task.name.as_str();
        if name.trim().is_empty() {
            errors.add(path(task, position, "name"), "must not be empty");
            continue;
        }
        if name.contains(char::is_control) {
            errors.add(path(task, position, "name"), "must be one line without control characters");
        }
        match owners.entry(name) {
            Entry::Vacant(entry) => {
                entry.insert(position);
            }
            Entry::Occupied(entry) => {
                let owner = *entry.get();
                let first = tasks.get(owner).map(|first| origin(first, owner)).unwrap_or_default();
                let message = format!(
                    "`{}` is already the name of {first}: names must differ",
                    one_line(name)
                );
                errors.add(path(task, position, "name"), message);
            }
        }
    }
}

/// Checks one task and returns its bounds; no bounds if they are wrong.
fn check_task(task: &TaskSpec, position: usize, reward_max: f64, errors: &mut ErrorList) -> Bounds {
    let field_path = |field: &str| path(task, position, field);
    for (field, number) in [("value", task.value), ("current", task.current)] {
        require_amount(errors, || field_path(field), number);
    }
    if let Some(law) = &task.reward {
        check_reward(law, reward_max, &mut |field, message| {
            errors.add(field_path(&format!("reward.{field}")), message)
        });
    }
    let mut is_valid = true;
    for (field, number) in
        [("min", task.min), ("max", task.max), ("fixed", task.fixed), ("at_least", task.at_least)]
    {
        is_valid &= require_amount(errors, || field_path(field), number)
            && require_in_range(errors, || field_path(field), number.unwrap_or(0.0));
    }
    if !is_valid {
        return Bounds::NONE;
    }
    match contradiction(task) {
        None => bounds_of(task),
        Some((field, message)) => {
            errors.add(field_path(field), message);
            Bounds::NONE
        }
    }
}

/// A contradiction between bounds: the field to change and the message.
fn contradiction(task: &TaskSpec) -> Option<(&'static str, String)> {
    let (min, at_least, max) =
        (task.min.unwrap_or(0.0), task.at_least.unwrap_or(0.0), task.max.unwrap_or(f64::INFINITY));
    if let Some(fixed) = task.fixed {
        let given = [
            ("min", task.min.is_some()),
            ("max", task.max.is_some()),
            ("exclude", task.exclude),
            ("at_least", task.at_least.is_some()),
        ];
        let others: Vec<String> = given
            .iter()
            .filter(|(_, given)| *given)
            .map(|(field, _)| format!("`{field}`"))
            .collect();
        return (!others.is_empty())
            .then(|| ("fixed", format!("{fixed} cannot go with {}: keep one", others.join(", "))));
    }
    if task.exclude {
        return (min > 0.0).then(|| ("exclude", format!("cannot go with `min` = {min}: keep one")));
    }
    if min > max {
        return Some(("min", format!("must be at most `max`: {min} > {max}")));
    }
    (at_least > max).then(|| {
        (
            "at_least",
            format!("must be at most `max`: {at_least} > {max} (to spend nothing write `exclude`)"),
        )
    })
}

/// The bounds of a task without contradictions.
fn bounds_of(task: &TaskSpec) -> Bounds {
    if task.exclude {
        return Bounds { min: 0.0, max: 0.0, at_least: 0.0 };
    }
    // Adding zero turns -0 into 0.
    let amount = |number: Option<f64>, default: f64| number.unwrap_or(default) + 0.0;
    if task.fixed.is_some() {
        let fixed = amount(task.fixed, 0.0);
        return Bounds { min: fixed, max: fixed, at_least: 0.0 };
    }
    let (min, max, at_least) =
        (amount(task.min, 0.0), amount(task.max, f64::INFINITY), amount(task.at_least, 0.0));
    // With a positive minimum the spend cannot be zero, so `at_least` is a plain minimum.
    if min > 0.0 {
        Bounds { min: min.max(at_least), max, at_least: 0.0 }
    } else {
        Bounds { min, max, at_least }
    }
}

/// Adds an error if the lower bounds exceed the budget, with the largest lower bounds.
fn check_lower_bounds(spec: &ProblemSpec, bounds: &[Bounds], errors: &mut ErrorList) {
    let lower_bounds = || bounds.iter().map(|bounds| bounds.min);
    if covers(spec.budget, lower_bounds()) {
        return;
    }
    let total = sum(lower_bounds());
    let mut largest_lower_bounds: Vec<(&TaskSpec, f64)> = spec
        .tasks
        .iter()
        .zip(bounds)
        .map(|(task, bounds)| (task, bounds.min))
        .filter(|(_, min)| *min > 0.0)
        .collect();
    largest_lower_bounds.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let keys = if largest_lower_bounds.iter().all(|(task, _)| task.fixed.is_some()) {
        "fixed adds"
    } else if largest_lower_bounds.iter().any(|(task, _)| task.fixed.is_some()) {
        "min and fixed add"
    } else {
        "min adds"
    };
    let list =
        largest_lower_bounds.iter().map(|(task, min)| format!("{} {min}", one_line(&task.name)));
    let list = listed(&list.collect::<Vec<_>>());
    let budget = spec.budget;
    errors.add("budget", format!("{keys} up to {total}, more than the budget {budget}: {list}"));
}

/// Checks a reward distribution; `fault` takes the field and the message.
fn check_reward(law: &RewardLaw, reward_max: f64, fault: &mut dyn FnMut(&str, String)) {
    let mut in_range = |field: &str, number: f64| {
        let is_valid = number.is_finite() && (0.0..=reward_max).contains(&number);
        if !is_valid && reward_max.is_finite() {
            fault(field, format!("must be between 0 and reward_max = {reward_max}, not {number}"));
        } else if !is_valid {
            fault(field, format!("must be finite and not negative, not {number}"));
        }
        is_valid
    };
    match law {
        RewardLaw::Bernoulli { mean } | RewardLaw::Constant { mean } => {
            in_range("mean", *mean);
        }
        RewardLaw::Beta { mean, concentration } => {
            in_range("mean", *mean);
            if let Some(concentration) =
                concentration.filter(|number| !(*number > 0.0 && number.is_finite()))
            {
                fault("concentration", format!("must be positive and finite, not {concentration}"));
            }
        }
        RewardLaw::Uniform { low, high } => {
            let is_valid = [in_range("low", *low), in_range("high", *high)] == [true; 2];
            if is_valid && low > high {
                fault("low", format!("must be at most `high`: {low} > {high}"));
            }
        }
        RewardLaw::Empirical { samples } if samples.is_empty() => {
            fault("samples", "must have at least one number".to_owned())
        }
        RewardLaw::Empirical { samples } => {
            // The first error is enough: a file in the wrong unit is wrong in every row.
            let _ = samples
                .iter()
                .enumerate()
                .all(|(position, sample)| in_range(&format!("samples[{position}]"), *sample));
        }
    }
}

fn require_positive(errors: &mut ErrorList, path: &str, number: f64) {
    if !(number > 0.0 && number.is_finite()) {
        errors.add(path, format!("must be positive and finite, not {number}"));
    }
}

/// Whether an amount is zero or in the range of amounts; adds an error if it is not. Infinite ones
/// are reported elsewhere.
fn require_in_range(errors: &mut ErrorList, path: impl Fn() -> String, amount: f64) -> bool {
    let is_valid = amount == 0.0 || amount.is_infinite() || AMOUNT_RANGE.contains(&amount);
    if !is_valid {
        errors.add(path(), format!("{OUT_OF_RANGE}, not {amount}"));
    }
    is_valid
}

/// Whether a number, if given, is finite and not negative; adds an error if it is not.
fn require_amount(errors: &mut ErrorList, path: impl Fn() -> String, number: Option<f64>) -> bool {
    let Some(number) = number.filter(|number| !(*number >= 0.0 && number.is_finite())) else {
        return true;
    };
    errors.add(path(), format!("must be finite and not negative, not {number}"));
    false
}
