//! From what was written to what can be solved.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::environment::{check_environment, lower_bounds};
use super::errors::{Faults, one_line};
use super::{Bounds, Problem, ProblemErrors, ProblemSpec, RewardLaw, Task, TaskSpec};
use crate::numeric::compensated::sum;

/// Bounds that add up to the budget in decimals may miss it by a rounding.
const BUDGET_SLACK: f64 = 1e-12;
/// How many tasks an infeasible problem names.
const MOST_CULPRITS: usize = 5;

impl ProblemSpec {
    /// Checks everything and returns the problem, or every error at once.
    ///
    /// # Errors
    /// Every field that is wrong, with its path: numbers out of range, names missing or taken,
    /// bounds that contradict each other or cannot all be met.
    pub fn check(self) -> Result<Problem, ProblemErrors> {
        let mut faults = Faults::default();
        let problem = check_into(self, &mut faults);
        faults.settle(problem)
    }
}

/// The problem, to be used only if there are no faults. Faults known before are not repeated.
pub(super) fn check_into(spec: ProblemSpec, faults: &mut Faults) -> Problem {
    if !faults.has("budget") {
        require_positive(faults, "budget", spec.budget);
    }
    if spec.horizon == Some(0) {
        faults.add("horizon", "must be at least 1, not 0");
    }
    if !faults.has("reward_max") {
        require_positive(faults, "reward_max", spec.reward_max);
    }
    if spec.tasks.is_empty() && !["task", "tasks", "tasks.file"].iter().any(|path| faults.has(path))
    {
        faults.add("task", "there is none: a problem needs at least one task");
    }
    check_names(&spec.tasks, faults);
    // Against a wrong limit every reward would be wrong.
    let reward_max = if faults.has("reward_max") { f64::INFINITY } else { spec.reward_max };
    let bounds: Vec<Bounds> = spec
        .tasks
        .iter()
        .enumerate()
        .map(|(position, task)| check_task(task, position, reward_max, faults))
        .collect();
    if !faults.has("budget") {
        check_lower_bounds(&spec, &bounds, faults);
    }
    check_environment(&spec.environment, lower_bounds(&bounds), faults);
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

/// Where a task was written.
fn origin(task: &TaskSpec, position: usize) -> String {
    if task.origin.is_empty() { format!("task[{position}]") } else { one_line(&task.origin) }
}

/// The path of a task's field.
fn path(task: &TaskSpec, position: usize, field: &str) -> String {
    let origin = origin(task, position);
    let between = if origin.ends_with(']') { "." } else { ", " };
    format!("{origin}{between}{field}")
}

fn check_names(tasks: &[TaskSpec], faults: &mut Faults) {
    let mut owners: HashMap<&str, usize> = HashMap::with_capacity(tasks.len());
    for (position, task) in tasks.iter().enumerate() {
        let name = task.name.as_str();
        if name.trim().is_empty() {
            faults.add(path(task, position, "name"), "must not be empty");
            continue;
        }
        if name.contains(char::is_control) {
            faults.add(path(task, position, "name"), "must be one line without control characters");
        }
        match owners.entry(name) {
            Entry::Vacant(entry) => {
                entry.insert(position);
            }
            Entry::Occupied(entry) => {
                let owner = *entry.get();
                let place = tasks.get(owner).map(|first| origin(first, owner)).unwrap_or_default();
                let message = format!(
                    "`{}` is already the name of {place}: names must differ",
                    one_line(name)
                );
                faults.add(path(task, position, "name"), message);
            }
        }
    }
}

/// Checks one task and returns its bounds; no bounds if they are wrong.
fn check_task(task: &TaskSpec, position: usize, reward_max: f64, faults: &mut Faults) -> Bounds {
    let place = |field: &str| path(task, position, field);
    for (field, number) in [("value", task.value), ("current", task.current)] {
        require_amount(faults, || place(field), number);
    }
    if let Some(law) = &task.reward {
        check_reward(law, reward_max, &mut |field, message| {
            faults.add(place(&format!("reward.{field}")), message)
        });
    }
    let mut sound = true;
    for (field, number) in
        [("min", task.min), ("max", task.max), ("fixed", task.fixed), ("at_least", task.at_least)]
    {
        sound &= require_amount(faults, || place(field), number);
    }
    if !sound {
        return Bounds::NONE;
    }
    match contradiction(task) {
        None => bounds_of(task),
        Some((field, message)) => {
            faults.add(place(field), message);
            Bounds::NONE
        }
    }
}

/// The bounds that contradict each other: the field to change, and why.
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

/// The bounds of a task whose bounds are sound.
fn bounds_of(task: &TaskSpec) -> Bounds {
    if task.exclude {
        return Bounds { min: 0.0, max: 0.0, at_least: 0.0 };
    }
    // Adding zero makes one zero of two: -0 is nobody's bound.
    let amount = |number: Option<f64>, default: f64| number.unwrap_or(default) + 0.0;
    if task.fixed.is_some() {
        let fixed = amount(task.fixed, 0.0);
        return Bounds { min: fixed, max: fixed, at_least: 0.0 };
    }
    let (min, max, at_least) =
        (amount(task.min, 0.0), amount(task.max, f64::INFINITY), amount(task.at_least, 0.0));
    // Who must be given something cannot be given nothing: "nothing or at least" is then a plain
    // minimum.
    if min > 0.0 {
        Bounds { min: min.max(at_least), max, at_least: 0.0 }
    } else {
        Bounds { min, max, at_least }
    }
}

/// Refuses what must be spent if it is more than there is, naming who asks for it.
fn check_lower_bounds(spec: &ProblemSpec, bounds: &[Bounds], faults: &mut Faults) {
    let total = sum(bounds.iter().map(|bounds| bounds.min));
    if total <= spec.budget * (1.0 + BUDGET_SLACK) {
        return;
    }
    let mut culprits: Vec<(&TaskSpec, f64)> = spec
        .tasks
        .iter()
        .zip(bounds)
        .map(|(task, bounds)| (task, bounds.min))
        .filter(|(_, min)| *min > 0.0)
        .collect();
    culprits.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let what = if culprits.iter().all(|(task, _)| task.fixed.is_some()) {
        "fixed"
    } else if culprits.iter().any(|(task, _)| task.fixed.is_some()) {
        "min and fixed"
    } else {
        "min"
    };
    let mut list: Vec<String> = culprits
        .iter()
        .take(MOST_CULPRITS)
        .map(|(task, min)| format!("{} {min}", one_line(&task.name)))
        .collect();
    if culprits.len() > MOST_CULPRITS {
        list.push(format!("and {} more", culprits.len() - MOST_CULPRITS));
    }
    faults.add(
        "budget",
        format!("sum of {what} = {total} > budget {}: {}", spec.budget, list.join(", ")),
    );
}

/// Checks a law of rewards; `fault` takes the field and what is wrong with it.
fn check_reward(law: &RewardLaw, reward_max: f64, fault: &mut dyn FnMut(&str, String)) {
    let mut in_range = |field: &str, number: f64| {
        let sound = number.is_finite() && (0.0..=reward_max).contains(&number);
        if !sound && reward_max.is_finite() {
            fault(field, format!("must be between 0 and reward_max = {reward_max}, not {number}"));
        } else if !sound {
            fault(field, format!("must be finite and not negative, not {number}"));
        }
        sound
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
            let sound = [in_range("low", *low), in_range("high", *high)] == [true; 2];
            if sound && low > high {
                fault("low", format!("must be at most `high`: {low} > {high}"));
            }
        }
        RewardLaw::Empirical { samples } if samples.is_empty() => {
            fault("samples", "must have at least one number".to_owned())
        }
        RewardLaw::Empirical { samples } => {
            // One is enough: a file in the wrong unit is wrong in every row.
            let _ = samples
                .iter()
                .enumerate()
                .all(|(position, sample)| in_range(&format!("samples[{position}]"), *sample));
        }
    }
}

fn require_positive(faults: &mut Faults, path: &str, number: f64) {
    if !(number > 0.0 && number.is_finite()) {
        faults.add(path, format!("must be positive and finite, not {number}"));
    }
}

/// Whether a number, if given, is finite and not negative; a fault if it is not.
fn require_amount(faults: &mut Faults, path: impl Fn() -> String, number: Option<f64>) -> bool {
    let Some(number) = number.filter(|number| !(*number >= 0.0 && number.is_finite())) else {
        return true;
    };
    faults.add(path(), format!("must be finite and not negative, not {number}"));
    false
}
