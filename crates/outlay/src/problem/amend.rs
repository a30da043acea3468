//! Amendments: the problem of a running campaign is replaced by another one.
//!
//! Tasks are matched by name and keep their positions for ever, because rounds and outcomes on
//! record refer to them. Tasks that the new problem lacks are retired, and new ones come last.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::{Bounds, Problem, Seen, Task, TaskExtras, UnknownTask};

/// The difference between a problem and its amended form.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Amendment {
    /// The names of the new tasks.
    pub added: Vec<String>,
    /// The names of the tasks that are now retired.
    pub retired: Vec<String>,
    /// The names of the tasks that were retired and are not any more.
    pub returned: Vec<String>,
    /// The changed fields, those of the problem first.
    pub changed: Vec<FieldChange>,
    /// The names of the tasks whose `seen` differs and stays as it was: their learners have started
    /// from it.
    pub kept_seen: Vec<String>,
}

/// A field that an amendment changes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FieldChange {
    /// The task; `None`: a field of the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The key in problem files. `fixed` appears as equal `min` and `max`.
    pub field: &'static str,
    /// Its value before; null if it was unset.
    pub old: Value,
    /// Its value now; null if it is unset.
    pub new: Value,
}

impl Amendment {
    /// Whether the amended problem is the same.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { added, retired, returned, changed, kept_seen: _ } = self;
        added.is_empty() && retired.is_empty() && returned.is_empty() && changed.is_empty()
    }
}

/// A problem that cannot be amended in this way.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AmendError {
    /// The largest reward of a completion decreases.
    #[error(
        "reward_max: cannot decrease from {old} to {new}, because rewards up to {old} may be on \
         record"
    )]
    RewardMax {
        /// The present largest reward.
        old: f64,
        /// The smaller one.
        new: f64,
    },
    /// No task has the name.
    #[error(transparent)]
    UnknownTask(#[from] UnknownTask),
    /// No task is left.
    #[error("every task would be retired: at least one must stay")]
    NoTaskLeft,
    /// The learner's observations do not fit the amended problem.
    #[error(
        "learner `{learner}` cannot continue with another problem: {reason}; start a new campaign"
    )]
    Learner {
        /// The learner.
        learner: String,
        /// The reason.
        reason: &'static str,
    },
}

impl Problem {
    /// This problem replaced by `new`, and the difference. Tasks are matched by name:
    ///
    /// - Tasks of both problems keep their positions and are as in `new`, except for `seen`, the
    ///   evidence that their learner has started from.
    /// - Tasks that `new` lacks are [retired](Task::is_retired) and keep their positions.
    /// - Other tasks of `new` are appended.
    ///
    /// ```
    /// use outlay::{Problem, problem::NoFiles};
    /// let curve = "curve = { family = 'exponential', scale = 5.0 }";
    /// let read = |names: [&str; 2]| {
    ///     let task = |name: &str| format!("[[task]]\nname = '{name}'\n{curve}\n");
    ///     Problem::from_toml(&names.map(task).concat(), &NoFiles)
    /// };
    /// let (amended, difference) = read(["search", "radio"])?.amended(&read(["video", "search"])?)?;
    /// assert_eq!(difference.added, ["video"]);
    /// assert_eq!(difference.retired, ["radio"]);
    /// let names: Vec<&str> = amended.tasks().iter().map(|task| task.name()).collect();
    /// assert_eq!(names, ["search", "radio", "video"]);
    /// assert!(amended.tasks()[1].is_retired());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If `reward_max` decreases.
    pub fn amended(&self, new: &Self) -> Result<(Self, Amendment), AmendError> {
        if new.reward_max < self.reward_max {
            return Err(AmendError::RewardMax { old: self.reward_max, new: new.reward_max });
        }
        let mut rest: HashMap<&str, &Task> =
            new.tasks.iter().map(|task| (task.name(), task)).collect();
        let other_seen =
            |old: &&Task| rest.get(old.name()).is_some_and(|new| new.seen() != old.seen());
        let kept_seen = self.tasks.iter().filter(other_seen).map(|task| task.name().to_owned());
        let mut amendment = Amendment {
            changed: problem_changes(self, new),
            kept_seen: kept_seen.collect(),
            ..Amendment::default()
        };
        let mut tasks: Vec<Task> = Vec::with_capacity(self.tasks.len());
        for old in self.tasks.iter() {
            let task = match rest.remove(old.name()) {
                Some(new) => new.with_seen(old.seen()),
                None => old.with_retired(true),
            };
            amendment.compare(old, &task);
            tasks.push(task);
        }
        for task in new.tasks.iter().filter(|task| rest.contains_key(task.name())) {
            amendment.added.push(task.name().to_owned());
            tasks.push(task.clone());
        }
        Ok((Self { tasks: tasks.into(), ..new.clone() }, amendment))
    }

    /// The same problem with these tasks retired. Tasks may be retired already.
    ///
    /// # Errors
    /// If no task has a name, or no task is left.
    pub fn with_retired(&self, names: &[impl AsRef<str>]) -> Result<Self, AmendError> {
        let mut tasks: Vec<Task> = self.tasks.to_vec();
        for name in names {
            let position = self.task_position(name.as_ref())?;
            tasks[position] = tasks[position].with_retired(true);
        }
        if tasks.iter().all(Task::is_retired) {
            return Err(AmendError::NoTaskLeft);
        }
        Ok(Self { tasks: tasks.into(), ..self.clone() })
    }
}

impl Task {
    fn with_retired(&self, retired: bool) -> Self {
        self.with_extras(|extras| extras.retired = retired)
    }

    fn with_seen(&self, seen: Option<Seen>) -> Self {
        self.with_extras(|extras| extras.seen = seen)
    }

    /// The fields that an amendment may change, as files have them; null if unset.
    fn fields(&self) -> [(&'static str, Value); 9] {
        let extras = self.extras.as_deref().unwrap_or(&TaskExtras::NONE);
        // A retired task keeps its bounds, although they do not apply.
        let Bounds { min, max, at_least } = extras.bounds;
        let positive = |amount: f64| Some(amount).filter(|amount| *amount > 0.0);
        [
            ("curve", serde_json::to_value(&self.curve).unwrap_or_else(|_| json!("a function"))),
            ("value", json!(self.value)),
            ("volume", json!(extras.volume)),
            ("reward", json!(extras.reward)),
            ("min", json!(positive(min))),
            ("max", json!(Some(max).filter(|max| max.is_finite()))),
            ("at_least", json!(positive(at_least))),
            ("current", json!(extras.current)),
            ("covers", json!(extras.covers)),
        ]
    }
}

impl Amendment {
    /// Adds the changes of a task.
    fn compare(&mut self, old: &Task, new: &Task) {
        if old == new {
            return;
        }
        match (old.is_retired(), new.is_retired()) {
            (false, true) => self.retired.push(old.name().to_owned()),
            (true, false) => self.returned.push(old.name().to_owned()),
            _ => {}
        }
        for ((field, before), (_, after)) in old.fields().into_iter().zip(new.fields()) {
            // All functions look the same.
            if before != after || (field == "curve" && old.curve != new.curve) {
                let task = Some(old.name().to_owned());
                self.changed.push(FieldChange { task, field, old: before, new: after });
            }
        }
    }
}

/// The changed fields of the problem itself.
fn problem_changes(old: &Problem, new: &Problem) -> Vec<FieldChange> {
    let environment = |problem: &Problem| {
        if problem.environment.is_constant() { Value::Null } else { json!(problem.environment) }
    };
    let fields = [
        ("budget", json!(old.budget), json!(new.budget)),
        ("horizon", json!(old.horizon), json!(new.horizon)),
        ("reward_max", json!(old.reward_max), json!(new.reward_max)),
        ("reward_over_max", json!(old.reward_over_max), json!(new.reward_over_max)),
        ("leftover", json!(old.leftover), json!(new.leftover)),
        ("environment", environment(old), environment(new)),
    ];
    let units = old.units.words().into_iter().zip(new.units.words());
    let units = units.map(|((key, old), (_, new))| (key, json!(old), json!(new)));
    let is_changed = |(_, old, new): &(&str, Value, Value)| old != new;
    let change = |(field, old, new)| FieldChange { task: None, field, old, new };
    fields.into_iter().chain(units).filter(is_changed).map(change).collect()
}
