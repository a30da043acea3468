//! Problem files: TOML or JSON text into a [`ProblemSpec`](super::ProblemSpec).
//!
//! The text becomes a tree (`node`), the tree is walked to its end (`fields`, `task`, `curve`,
//! `reward`, `samples`), and what is wrong on the way is collected. What could not be read has a
//! stand-in, so that the rest is still checked.

mod change;
mod curve;
mod environment;
mod fields;
mod node;
mod reward;
mod samples;
mod sheet;
mod task;

pub use change::Document;
pub(super) use curve::curve_keys;
pub use environment::{BUDGET_LAWS, DELAY_LAWS};
pub(super) use fields::{Fields, Written};
pub use reward::REWARD_LAWS;
pub(super) use reward::reward_keys;
pub(super) use sheet::{Row, Sheet};
pub(super) use task::{TASK_KEYS, task_of, unreadable_task};

use super::check::check_into;
use super::errors::{Faults, Place, ProblemError, ProblemErrors};
use super::table::read_table;
use super::{Leftover, Problem, ProblemSpec};
use crate::curve::Curve;
use node::Node;
use sheet::Shelf;

/// Where the files that a problem names are read from. The library itself opens none.
pub trait Files {
    /// The text of the file at `path`, a path relative to the problem file.
    ///
    /// # Errors
    /// Why it could not be read, in one line.
    fn read(&self, path: &str) -> Result<String, String>;
}

/// For problems that name no file.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &str) -> Result<String, String> {
        Err("this problem was read without access to files".to_owned())
    }
}

/// The keys of a problem.
const PROBLEM_KEYS: [&str; 7] =
    ["budget", "horizon", "reward_max", "leftover", "environment", "task", "tasks"];
const LEFTOVERS: [(&str, Leftover); 2] = [("keep", Leftover::Keep), ("spend", Leftover::Spend)];

impl Problem {
    /// The problem written in a TOML document, checked. Files that it names are read through
    /// `files`, each once.
    ///
    /// ```
    /// use outlay::{Problem, problem::NoFiles};
    /// let problem = Problem::from_toml(
    ///     r#"
    ///     budget = 1000.0
    ///     [[task]]
    ///     name = "search"
    ///     curve = { family = "hill", half_at = 120.0, steepness = 2.5 }
    ///     value = 0.6
    ///     at_least = 50.0
    ///     [[task]]
    ///     curve = { family = "power", exponent = 0.5 } # scale: the budget
    ///     value = 0.4
    ///     "#,
    ///     &NoFiles,
    /// )?;
    /// assert_eq!(problem.tasks()[1].name(), "task-2");
    ///
    /// let errors = Problem::from_toml("bugdet = 10\n[[task]]\ncurve = { family = 'hill', half_at = -1 }", &NoFiles).unwrap_err();
    /// assert_eq!(
    ///     errors.to_string(),
    ///     "problem: unknown key `bugdet`: did you mean `budget`?\n\
    ///      task[0].curve.steepness: is missing: a hill curve needs it\n\
    ///      task[0].curve.half_at: must be positive and finite, not -1"
    /// );
    /// # Ok::<(), outlay::problem::ProblemErrors>(())
    /// ```
    ///
    /// # Errors
    /// Everything that is wrong: in the syntax, in the fields, in the files, between fields.
    pub fn from_toml(text: &str, files: &dyn Files) -> Result<Self, ProblemErrors> {
        checked(&Node::from_toml(text).map_err(alone)?, files)
    }

    /// The problem written in a JSON document with the same keys, checked. A null is a key that is
    /// not there.
    ///
    /// # Errors
    /// As [`Problem::from_toml`].
    pub fn from_json(text: &str, files: &dyn Files) -> Result<Self, ProblemErrors> {
        checked(&Node::from_json(text).map_err(alone)?, files)
    }
}

impl ProblemSpec {
    /// What a TOML document says, before the checks of [`ProblemSpec::check`]: to change it first.
    ///
    /// # Errors
    /// Everything that cannot be read: syntax, unknown keys, wrong types, curves that are none,
    /// files.
    pub fn from_toml(text: &str, files: &dyn Files) -> Result<Self, ProblemErrors> {
        unchecked(Node::from_toml(text), files)
    }

    /// What a JSON document says, before the checks of [`ProblemSpec::check`]: to change it first.
    ///
    /// # Errors
    /// As [`ProblemSpec::from_toml`].
    pub fn from_json(text: &str, files: &dyn Files) -> Result<Self, ProblemErrors> {
        unchecked(Node::from_json(text), files)
    }
}

fn checked(document: &Node, files: &dyn Files) -> Result<Problem, ProblemErrors> {
    let (spec, mut faults) = read(document, files)?;
    let problem = check_into(spec, &mut faults);
    faults.settle(problem)
}

fn unchecked(
    document: Result<Node, ProblemError>,
    files: &dyn Files,
) -> Result<ProblemSpec, ProblemErrors> {
    let (spec, faults) = read(&document.map_err(alone)?, files)?;
    faults.settle(spec)
}

fn alone(error: ProblemError) -> ProblemErrors {
    ProblemErrors(vec![error])
}

/// What reading carries along.
pub(super) struct Reader<'f> {
    pub(super) faults: Faults,
    pub(super) shelf: Shelf<'f>,
    /// What a power curve's `scale` is when it is not written.
    budget: f64,
    /// Takes the place of a curve that was refused, so that the rest of its task is checked. Never
    /// part of a good problem.
    stand_in: Option<Curve>,
}

/// What the document says and what is wrong with it so far; an error if it is no table at all.
fn read(document: &Node, files: &dyn Files) -> Result<(ProblemSpec, Faults), ProblemErrors> {
    let mut spec = ProblemSpec::default();
    let mut faults = Faults::default();
    let Some(fields) = Fields::of_node(Place::Top, document, &mut faults) else {
        return faults.settle(()).map(|()| (spec, Faults::default()));
    };
    fields.refuse_unknown(&PROBLEM_KEYS, &mut faults);
    spec.budget = fields.number("budget", &mut faults).unwrap_or(spec.budget);
    spec.horizon = fields.whole_number("horizon", &mut faults);
    spec.reward_max = fields.number("reward_max", &mut faults).unwrap_or(spec.reward_max);
    if fields.has("leftover") {
        let leftover = fields.word("leftover", "a problem", &LEFTOVERS, &mut faults);
        spec.leftover = leftover.map_or(spec.leftover, |(_, leftover)| *leftover);
    }
    // A budget that is no scale has its own error.
    let budget = if spec.budget > 0.0 && spec.budget.is_finite() { spec.budget } else { 1.0 };
    let mut reader =
        Reader { faults, shelf: Shelf::new(files), budget, stand_in: Curve::saturating(1.0).ok() };
    read_tasks(&fields, &mut spec, &mut reader);
    spec.environment = environment::read_environment(&fields, &mut reader);
    Ok((spec, reader.faults))
}

/// The tasks of the document, then those of the file.
fn read_tasks(fields: &Fields<'_>, spec: &mut ProblemSpec, reader: &mut Reader<'_>) {
    let list_place = fields.at("task");
    match fields.get("task") {
        Some(Written::Node(Node::List(tasks))) => {
            for (position, node) in tasks.iter().enumerate() {
                spec.tasks.extend(task::read_task(
                    Place::Item(&list_place, position),
                    node,
                    position,
                    reader,
                ));
            }
        }
        Some(other) => reader.faults.add(
            list_place,
            format!("must be a list of tables, not {other}: in TOML head each task [[task]]"),
        ),
        None => {}
    }
    let place = fields.at("tasks");
    match fields.get("tasks") {
        Some(Written::Node(node @ Node::Table(_))) => {
            let tasks = Fields::of_node(place, node, &mut reader.faults);
            spec.tasks.extend(
                tasks.map(|tasks| read_file(&tasks, spec.tasks.len(), reader)).unwrap_or_default(),
            );
        }
        Some(other) => {
            let message = format!(
                "must be {{ file = \"tasks.csv\" }}, not {other}: tasks written here are `task`, without s"
            );
            reader.faults.add(place, message);
        }
        None => {}
    }
}

fn read_file(
    tasks: &Fields<'_>,
    first_position: usize,
    reader: &mut Reader<'_>,
) -> Vec<super::TaskSpec> {
    tasks.refuse_unknown(&["file"], &mut reader.faults);
    tasks.require("file", "`tasks`", &mut reader.faults);
    let Some(file) = tasks.text("file", &mut reader.faults) else {
        return Vec::new();
    };
    match reader.shelf.sheet(file) {
        Ok(sheet) => read_table(file, &sheet, first_position, reader),
        Err(reason) => {
            reader.faults.add(tasks.at("file"), reason);
            Vec::new()
        }
    }
}
