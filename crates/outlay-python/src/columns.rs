//! Problems from arrays: one entry per task, without a Python object per task.

use std::collections::HashMap;

use outlay::{Curve, Leftover, ProblemSpec, RewardOverMax, TaskSpec};
use pyo3::prelude::*;

use crate::arrays::{List, numbers};
use crate::errors::{self, ProblemError};

/// The parameters of the families that arrays can describe.
const FAMILIES: [(&str, &[&str]); 6] = [
    ("power", &["exponent", "scale"]),
    ("saturating", &["full_at"]),
    ("exponential", &["scale"]),
    ("hill", &["half_at", "steepness"]),
    ("logistic", &["mid", "width"]),
    ("threshold", &["at"]),
];

/// The arrays of a problem.
#[derive(FromPyObject)]
pub(crate) struct Columns<'py> {
    budget: f64,
    horizon: Option<u64>,
    reward_max: Option<f64>,
    reward_over_max: Option<String>,
    leftover: Option<String>,
    /// The names of the tasks; without them, task-1, task-2 and so on.
    names: Option<Vec<String>>,
    /// The family of every task, or of each.
    family: Families,
    /// The other arrays by name: parameters of curves, values and bounds. NaN means unset.
    numbers: HashMap<String, Bound<'py, PyAny>>,
    tasks: usize,
}

#[derive(FromPyObject)]
enum Families {
    One(String),
    Each(Vec<String>),
}

impl Families {
    fn of(&self, task: usize) -> &str {
        match self {
            Self::One(family) => family,
            Self::Each(families) => &families[task],
        }
    }
}

/// The problem of these arrays.
pub(crate) fn problem(columns: &Columns<'_>) -> PyResult<outlay::Problem> {
    let tasks = columns.tasks;
    let lengths = [
        ("names", columns.names.as_ref().map(Vec::len)),
        (
            "family",
            match &columns.family {
                Families::One(_) => None,
                Families::Each(families) => Some(families.len()),
            },
        ),
    ];
    for (name, length) in lengths {
        check_length(name, length.unwrap_or(tasks), tasks)?;
    }
    let mut lists: HashMap<&str, List<'_, f64>> = HashMap::new();
    for (name, given) in &columns.numbers {
        let list = numbers(given, name, ProblemError::new_err)?;
        check_length(name, list.as_slice().len(), tasks)?;
        lists.insert(name, list);
    }
    let row = |task: usize| Row { lists: &lists, task, budget: columns.budget };
    let mut specs = Vec::with_capacity(tasks);
    let mut wrong = Vec::new();
    for task in 0..tasks {
        let name = columns.names.as_ref().map(|names| names[task].clone());
        let name = name.unwrap_or_else(|| format!("task-{}", task + 1));
        match row(task).curve(columns.family.of(task)) {
            Ok(curve) => specs.push(row(task).spec(name, curve)),
            Err(message) => wrong.push(format!("{message} (task {name})")),
        }
    }
    if !wrong.is_empty() {
        return Err(many(&wrong));
    }
    let default = ProblemSpec::default();
    let spec = ProblemSpec {
        budget: columns.budget,
        horizon: columns.horizon,
        reward_max: columns.reward_max.unwrap_or(default.reward_max),
        reward_over_max: match columns.reward_over_max.as_deref() {
            None => default.reward_over_max,
            Some("refuse") => RewardOverMax::Refuse,
            Some("clip") => RewardOverMax::Clip,
            Some(other) => {
                let message = format!("reward_over_max: must be refuse or clip, not {other}");
                return Err(ProblemError::new_err(message));
            }
        },
        leftover: match columns.leftover.as_deref() {
            None => default.leftover,
            Some("keep") => Leftover::Keep,
            Some("spend") => Leftover::Spend,
            Some(other) => {
                let message = format!("leftover: must be keep or spend, not {other}");
                return Err(ProblemError::new_err(message));
            }
        },
        tasks: specs,
        ..default
    };
    spec.check().map_err(|errors| errors::problem("the problem", &errors))
}

fn check_length(name: &str, length: usize, tasks: usize) -> PyResult<()> {
    if length == tasks {
        return Ok(());
    }
    Err(ProblemError::new_err(format!("{name}: {length} entries for {tasks} tasks")))
}

fn many(wrong: &[String]) -> PyErr {
    let shown = outlay::ProblemErrors::SHOWN;
    let count =
        if wrong.len() == 1 { "1 error".to_owned() } else { format!("{} errors", wrong.len()) };
    let mut text = format!("the problem has {count}");
    for line in wrong.iter().take(shown) {
        text.push_str(&format!("\n  {line}"));
    }
    if wrong.len() > shown {
        text.push_str(&format!("\n  and {} more", wrong.len() - shown));
    }
    ProblemError::new_err(text)
}

/// The numbers of one task.
struct Row<'a, 'py> {
    lists: &'a HashMap<&'a str, List<'py, f64>>,
    task: usize,
    budget: f64,
}

impl Row<'_, '_> {
    /// The number of a column; NaN means unset.
    fn get(&self, name: &str) -> Option<f64> {
        let number = self.lists.get(name)?.as_slice()[self.task];
        (!number.is_nan()).then_some(number)
    }

    fn needed(&self, family: &str, name: &str) -> Result<f64, String> {
        self.get(name).ok_or_else(|| format!("{name}: is missing; family {family} needs it"))
    }

    fn curve(&self, family: &str) -> Result<Curve, String> {
        let need = |name: &str| self.needed(family, name);
        let place = |error: outlay::curve::CurveError| format!("{error}");
        let curve = match family {
            "power" => Curve::power(need("exponent")?, self.get("scale").unwrap_or(self.budget)),
            "saturating" => Curve::saturating(need("full_at")?),
            "exponential" => Curve::exponential(need("scale")?),
            "hill" => Curve::hill(need("half_at")?, need("steepness")?),
            "logistic" => Curve::logistic(need("mid")?, need("width")?),
            "threshold" => Curve::threshold(need("at")?),
            other => {
                let known: Vec<&str> = FAMILIES.iter().map(|(name, _)| *name).collect();
                return Err(format!("family: must be one of {}, not {other}", known.join(", ")));
            }
        };
        let mut curve = curve.map_err(place)?;
        if let Some(ceiling) = self.get("ceiling") {
            curve = curve.with_ceiling(ceiling).map_err(place)?;
        }
        if let Some(floor) = self.get("floor") {
            curve = curve.with_floor(floor).map_err(place)?;
        }
        Ok(curve)
    }

    fn spec(&self, name: String, curve: Curve) -> TaskSpec {
        TaskSpec {
            value: self.get("value"),
            min: self.get("min"),
            max: self.get("max").filter(|max| *max < f64::INFINITY),
            at_least: self.get("at_least"),
            current: self.get("current"),
            volume: self.get("volume"),
            ..TaskSpec::new(name, curve)
        }
    }
}
