//! Checks a [`ProblemSpec`] and turns it into a [`Problem`].

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::environment::check_environment;
use super::errors::{ErrorList, FieldPath, LowerBoundKeys, ProblemErrorKind};
use super::origins::Origins;
use super::profile::check_profiles;
use super::{
    Bounds, ClippedSamples, CompletionLaw, Problem, ProblemErrors, ProblemSpec, RewardLaw, Seen,
    Task, TaskExtras, TaskSpec, covers,
};
use crate::curve::{AMOUNT_RANGE, NumberRange};
use crate::feedback::Completions;
use crate::numeric::compensated::sum;

/// The largest volume.
pub(super) const MAX_VOLUME: f64 = 1e9;

impl ProblemSpec {
    /// Checks everything and returns the problem, or every error at once.
    ///
    /// # Errors
    /// Every invalid field with its path: numbers out of range, missing or duplicate names, bounds
    /// that contradict each other or cannot all be met.
    pub fn check(mut self) -> Result<Problem, ProblemErrors> {
        let errors = ErrorList::default();
        let mut tasks = TaskChecker::new(&self, &errors);
        for (position, mut task) in std::mem::take(&mut self.tasks).into_iter().enumerate() {
            let origin = std::mem::take(&mut task.origin);
            let is_listed = origin.is_empty();
            let path =
                if is_listed { FieldPath::task(position) } else { FieldPath::Origin(&origin) };
            tasks.check(task, path);
        }
        check_into(self, tasks, errors)
    }
}

/// Checks tasks one at a time, so that they need not all be kept in their unchecked form.
pub(super) struct TaskChecker {
    reward_max: f64,
    /// Whether recorded rewards above the maximum are clipped, and how many were.
    clips: bool,
    clipped: u64,
    tasks: Vec<Task>,
    origins: Origins,
    /// The tasks with a positive lower bound, and those of them whose spend is fixed.
    lower_bounds: usize,
    fixed: usize,
    /// The errors of all fields but names, which come before them.
    errors: ErrorList,
}

impl TaskChecker {
    /// For the tasks of `spec`, which has these errors.
    pub(super) fn new(spec: &ProblemSpec, errors: &ErrorList) -> Self {
        // Without a valid maximum no reward can be checked against it.
        let is_valid = is_positive(spec.reward_max) && !errors.has("reward_max");
        Self {
            reward_max: if is_valid { spec.reward_max } else { f64::INFINITY },
            clips: spec.reward_over_max.clips(),
            clipped: 0,
            tasks: Vec::with_capacity(spec.tasks.len()),
            origins: Origins::default(),
            lower_bounds: 0,
            fixed: 0,
            errors: ErrorList::default(),
        }
    }

    pub(super) fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// Checks and takes the task at `path`.
    pub(super) fn check(&mut self, mut task: TaskSpec, path: FieldPath<'_>) {
        self.origins.add(self.tasks.len(), path);
        if self.clips
            && let Some(RewardLaw::Empirical { samples }) = &mut task.reward
        {
            self.clipped += clip(samples, self.reward_max);
        }
        let bounds = check_task(&task, path, self.reward_max, &mut self.errors);
        let has_lower_bound = bounds.min > 0.0 && !task.retired;
        self.lower_bounds += usize::from(has_lower_bound);
        self.fixed += usize::from(has_lower_bound && task.fixed.is_some());
        self.tasks.push(Task {
            name: task.name.into_boxed_str(),
            curve: task.curve,
            value: task.value,
            extras: TaskExtras {
                volume: task.volume.unwrap_or(1.0),
                reward: task.reward,
                bounds,
                current: task.current,
                covers: task.covers,
                seen: task.seen,
                retired: task.retired,
            }
            .boxed(),
        });
    }
}

/// The problem, or all its errors. Errors that are already known are not repeated.
pub(super) fn check_into(
    spec: ProblemSpec,
    checked: TaskChecker,
    mut known: ErrorList,
) -> Result<Problem, ProblemErrors> {
    let errors = &mut known;
    if !errors.has("budget") {
        require_positive(errors, "budget", spec.budget);
        if spec.budget > 0.0 {
            require_in_range(errors, "budget", spec.budget);
        }
    }
    if spec.horizon == Some(0) {
        errors.out_of_range("horizon", 0.0, NumberRange::AtLeastOne);
    }
    if !errors.has("reward_max") {
        require_positive(errors, "reward_max", spec.reward_max);
    }
    spec.units.check(errors);
    let tasks = &checked.tasks;
    if tasks.is_empty() && !["task", "tasks", "tasks.file"].iter().any(|path| errors.has(path)) {
        errors.add("task", ProblemErrorKind::NoTasks);
    }
    if !tasks.is_empty() && tasks.iter().all(Task::is_retired) {
        errors.add("task", ProblemErrorKind::AllRetired);
    }
    check_names(tasks, &checked.origins, errors);
    errors.append(checked.errors);
    let needed = sum(tasks.iter().map(|task| task.bounds().min));
    let lower_bounds = tasks.iter().map(|task| task.bounds().min);
    if !errors.has("budget") && !covers(spec.budget, lower_bounds) {
        let keys = match checked.fixed {
            0 => LowerBoundKeys::Min,
            fixed if fixed == checked.lower_bounds => LowerBoundKeys::Fixed,
            _ => LowerBoundKeys::MinAndFixed,
        };
        let (budget, lower_bounds) = (spec.budget, largest_lower_bounds(tasks));
        let kind = ProblemErrorKind::BudgetTooSmall { keys, needed, budget, lower_bounds };
        errors.add("budget", kind);
    }
    check_environment(&spec.environment, needed, errors);
    check_profiles(&spec.environment, tasks, errors);
    check_completions(spec.environment.completions, tasks, &checked.origins, errors);
    known.into_result(Problem {
        budget: spec.budget,
        horizon: spec.horizon,
        reward_max: spec.reward_max,
        reward_over_max: spec.reward_over_max,
        leftover: spec.leftover,
        clipped_samples: ClippedSamples(checked.clipped),
        units: spec.units,
        environment: spec.environment,
        tasks: checked.tasks.into(),
    })
}

/// Checks that the volumes suit the law of completions.
fn check_completions(
    law: Option<CompletionLaw>,
    tasks: &[Task],
    origins: &Origins,
    errors: &mut ErrorList,
) {
    let law = match law {
        Some(law @ (CompletionLaw::Single | CompletionLaw::Binomial)) => law,
        Some(CompletionLaw::NegativeBinomial { dispersion })
            if !(dispersion > 1.0 && dispersion.is_finite()) =>
        {
            let path = "environment.completions.dispersion";
            return errors.out_of_range(path, dispersion, NumberRange::AboveOne);
        }
        _ => return,
    };
    let fits = |volume: f64| match law {
        CompletionLaw::Single => volume == 1.0,
        _ => volume.fract() == 0.0,
    };
    // Retired tasks have no completions.
    let is_unfit = |task: &Task| !task.is_retired() && !fits(task.volume());
    if let Some(position) = tasks.iter().position(is_unfit) {
        let (path, volume) = (origins.path(position), tasks[position].volume());
        let kind = ProblemErrorKind::VolumeOfLaw { volume, law };
        errors.add(FieldPath::Key(&path, "volume"), kind);
    }
}

fn check_names(tasks: &[Task], origins: &Origins, errors: &mut ErrorList) {
    if are_valid_and_different(tasks) {
        return;
    }
    let mut owners: HashMap<&str, usize> = HashMap::with_capacity(tasks.len());
    for (position, task) in tasks.iter().enumerate() {
        let (name, path) = (&*task.name, origins.path(position));
        let path = FieldPath::Key(&path, "name");
        if name.trim().is_empty() {
            errors.add(path, ProblemErrorKind::EmptyName);
            continue;
        }
        if name.contains(char::is_control) {
            errors.add(path, ProblemErrorKind::ControlCharacterInName);
        }
        match owners.entry(name) {
            Entry::Vacant(entry) => {
                entry.insert(position);
            }
            Entry::Occupied(entry) => {
                let first = origins.path(*entry.get()).to_string();
                let name = name.to_owned();
                errors.add(path, ProblemErrorKind::DuplicateName { name, first });
            }
        }
    }
}

/// Whether all names are valid and different. Only hashes are compared, which takes a fraction of
/// the time and memory of a map: false if two of them happen to be equal.
fn are_valid_and_different(tasks: &[Task]) -> bool {
    let is_valid = |name: &str| !name.trim().is_empty() && !name.contains(char::is_control);
    let hash = |task: &Task| {
        let mut hasher = DefaultHasher::new();
        task.name.hash(&mut hasher);
        hasher.finish()
    };
    let mut hashes: Vec<u64> = tasks.iter().map(hash).collect();
    hashes.sort_unstable();
    hashes.is_sorted_by(|one, next| one < next) && tasks.iter().all(|task| is_valid(&task.name))
}

/// Checks one task and returns its bounds; no bounds if they are wrong.
pub(super) fn check_task(
    task: &TaskSpec,
    path: FieldPath<'_>,
    reward_max: f64,
    errors: &mut ErrorList,
) -> Bounds {
    for (field, number) in [("value", task.value), ("current", task.current)] {
        require_amount(errors, FieldPath::Key(&path, field), number);
    }
    if let Some(volume) = task.volume.filter(|volume| !(*volume > 0.0 && *volume <= MAX_VOLUME)) {
        let expected = NumberRange::Volume { max: MAX_VOLUME };
        errors.out_of_range(FieldPath::Key(&path, "volume"), volume, expected);
    }
    check_log(task, path, reward_max, errors);
    if let Some(law) = &task.reward {
        let path = FieldPath::Key(&path, "reward");
        check_reward(law, reward_max, &mut |field, kind| {
            errors.add(FieldPath::Key(&path, field), kind)
        });
    }
    let mut is_valid = true;
    for (field, number) in
        [("min", task.min), ("max", task.max), ("fixed", task.fixed), ("at_least", task.at_least)]
    {
        let path = FieldPath::Key(&path, field);
        is_valid &= require_amount(errors, path, number)
            && require_in_range(errors, path, number.unwrap_or(0.0));
    }
    if !is_valid {
        return Bounds::NONE;
    }
    match contradiction(task) {
        None => bounds_of(task),
        Some((field, kind)) => {
            errors.add(FieldPath::Key(&path, field), kind);
            Bounds::NONE
        }
    }
}

/// Checks the summary of the log that the curve was fitted to.
fn check_log(task: &TaskSpec, path: FieldPath<'_>, reward_max: f64, errors: &mut ErrorList) {
    if let Some([low, high]) = task.covers {
        let path = FieldPath::Key(&path, "covers");
        let is_valid = [low, high].iter().all(|&spend| require_amount(errors, path, Some(spend)));
        if is_valid && low > high {
            errors.add(path, ProblemErrorKind::DecreasingRange { low, high });
        }
    }
    if let Some(Seen { completions, reward }) = task.seen {
        let path = FieldPath::Key(&path, "seen");
        if completions > Completions::MAX {
            let expected = NumberRange::Completions { max: Completions::MAX };
            errors.out_of_range(FieldPath::Key(&path, "completions"), completions as f64, expected);
        }
        let path = FieldPath::Key(&path, "reward");
        let max = completions as f64 * reward_max;
        // Sums of rewards have rounding errors.
        if require_amount(errors, path, Some(reward)) && reward > max * (1.0 + 1e-9) {
            errors.add(path, ProblemErrorKind::SeenAboveMax { reward, completions, reward_max });
        }
    }
}

/// A contradiction between bounds: the field to change and the error.
fn contradiction(task: &TaskSpec) -> Option<(&'static str, ProblemErrorKind)> {
    let (min, at_least, max) =
        (task.min.unwrap_or(0.0), task.at_least.unwrap_or(0.0), task.max.unwrap_or(f64::INFINITY));
    if let Some(fixed) = task.fixed {
        let given = [
            ("min", task.min.is_some()),
            ("max", task.max.is_some()),
            ("exclude", task.exclude),
            ("at_least", task.at_least.is_some()),
        ];
        let others: Vec<&'static str> =
            given.iter().filter(|(_, given)| *given).map(|(field, _)| *field).collect();
        return (!others.is_empty())
            .then_some(("fixed", ProblemErrorKind::FixedWithOthers { fixed, others }));
    }
    if task.exclude {
        return (min > 0.0).then_some(("exclude", ProblemErrorKind::ExcludeWithMin { min }));
    }
    if min > max {
        return Some(("min", above_limit(min, "max", max)));
    }
    (at_least > max).then_some(("at_least", ProblemErrorKind::AtLeastAboveMax { at_least, max }))
}

/// The error of a number above the one of the key that limits it.
pub(super) fn above_limit(number: f64, limited_by: &'static str, limit: f64) -> ProblemErrorKind {
    ProblemErrorKind::AboveLimit { number, limited_by, limit }
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

/// The tasks with their lower bounds, the largest first.
fn largest_lower_bounds(tasks: &[Task]) -> Vec<(String, f64)> {
    let mut bound: Vec<&Task> = tasks.iter().filter(|task| task.bounds().min > 0.0).collect();
    bound.sort_by(|one, other| other.bounds().min.total_cmp(&one.bounds().min));
    bound.iter().map(|task| (task.name.to_string(), task.bounds().min)).collect()
}

/// Checks a reward distribution; `fault` takes the field and the error.
fn check_reward(law: &RewardLaw, reward_max: f64, fault: &mut dyn FnMut(&str, ProblemErrorKind)) {
    let mut in_range = |field: &str, number: f64| {
        let is_valid = number.is_finite() && (0.0..=reward_max).contains(&number);
        if !is_valid {
            let expected = if reward_max.is_finite() {
                NumberRange::Reward { max: reward_max }
            } else {
                NumberRange::NonNegative
            };
            fault(field, ProblemErrorKind::OutOfRange { number, expected });
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
                let expected = NumberRange::Positive;
                let kind = ProblemErrorKind::OutOfRange { number: concentration, expected };
                fault("concentration", kind);
            }
        }
        RewardLaw::Uniform { low, high } => {
            let is_valid = [in_range("low", *low), in_range("high", *high)] == [true; 2];
            if is_valid && low > high {
                fault("low", above_limit(*low, "high", *high));
            }
        }
        RewardLaw::Empirical { samples } if samples.is_empty() => {
            fault("samples", ProblemErrorKind::Empty)
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

/// Clips recorded rewards and returns their number. Infinite ones are errors.
fn clip(samples: &mut [f64], reward_max: f64) -> u64 {
    let mut clipped = 0;
    for sample in samples.iter_mut().filter(|sample| **sample > reward_max && sample.is_finite()) {
        *sample = reward_max;
        clipped += 1;
    }
    clipped
}

fn is_positive(number: f64) -> bool {
    number > 0.0 && number.is_finite()
}

fn require_positive(errors: &mut ErrorList, path: &str, number: f64) {
    if !is_positive(number) {
        errors.out_of_range(path, number, NumberRange::Positive);
    }
}

/// Whether an amount is zero or in the range of amounts; adds an error if it is not. Infinite ones
/// are reported elsewhere.
fn require_in_range(errors: &mut ErrorList, path: impl std::fmt::Display, amount: f64) -> bool {
    let is_valid = amount == 0.0 || amount.is_infinite() || AMOUNT_RANGE.contains(&amount);
    if !is_valid {
        errors.out_of_range(path, amount, NumberRange::Amount);
    }
    is_valid
}

/// Whether a number, if given, is finite and not negative; adds an error if it is not.
fn require_amount(errors: &mut ErrorList, path: FieldPath<'_>, number: Option<f64>) -> bool {
    let Some(number) = number.filter(|number| !(*number >= 0.0 && number.is_finite())) else {
        return true;
    };
    errors.out_of_range(path, number, NumberRange::NonNegative);
    false
}
