//! Problem files: TOML or JSON text into a [`ProblemSpec`](super::ProblemSpec).
//!
//! The text becomes a tree (`value`). The whole tree is read (`table`, `task`, `curve`, `reward`,
//! `environment`, `samples`, `csv_tasks`) and every error is collected. A part that could not be
//! read gets a placeholder, so that the rest is still checked. The tasks of a JSON document are not
//! part of the tree if they can be read one at a time (`json`).

mod csv_table;
mod csv_tasks;
mod curve;
mod document;
mod environment;
mod json;
mod limits;
mod profile;
mod reward;
mod samples;
mod table;
mod task;
mod value;
mod write;

pub use document::Document;
pub use environment::{BUDGET_LAWS, COMPLETION_LAWS, DELAY_LAWS};
pub use limits::LimitsForm;
pub use reward::REWARD_LAWS;

use super::check::{TaskChecker, check_into};
use super::errors::{ErrorList, FieldPath, ProblemError, ProblemErrorKind, ProblemErrors};
use super::{Leftover, Problem, ProblemSpec, RewardOverMax, TaskSpec, Units};
use crate::curve::Curve;
use csv_table::{CsvFiles, not_a_table};
use csv_tasks::read_csv_tasks;
use json::{JsonSource, NeedsTree};
use table::{Fields, RawValue};
use value::Value;

/// The source of the files that a problem names. The library itself opens no files.
pub trait Files {
    /// The text of the file at `path`, a path relative to the problem file.
    ///
    /// # Errors
    /// The reason why the file could not be read, in one line.
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

/// The keys of a problem, in addition to its [units](Units::KEYS).
const PROBLEM_KEYS: [&str; 8] = [
    "budget",
    "horizon",
    "reward_max",
    "reward_over_max",
    "leftover",
    "environment",
    "task",
    "tasks",
];
const OVER_MAX: [(&str, RewardOverMax); 2] =
    [("refuse", RewardOverMax::Refuse), ("clip", RewardOverMax::Clip)];
const LEFTOVERS: [(&str, Leftover); 2] = [("keep", Leftover::Keep), ("spend", Leftover::Spend)];

impl Problem {
    /// Reads and checks a problem in TOML. Files that it names are read through `files`, each once.
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
    /// let text = "bugdet = 10\n[[task]]\ncurve = { family = 'hill', half_at = -1 }";
    /// let errors = Problem::from_toml(text, &NoFiles).unwrap_err();
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
    /// Every error: syntax, fields, files, and contradictions between fields.
    pub fn from_toml(text: &str, files: &dyn Files) -> Result<Self, ProblemErrors> {
        checked(&Value::from_toml(text).map_err(alone)?, files)
    }

    /// Reads and checks a problem in JSON, with the same keys. A null means that the key is unset.
    ///
    /// # Errors
    /// As [`Problem::from_toml`].
    pub fn from_json(text: &str, files: &dyn Files) -> Result<Self, ProblemErrors> {
        checked_json(JsonSource::Text(text), files)
    }

    /// Reads and checks a problem that is already parsed as JSON, with the same keys.
    ///
    /// ```
    /// use outlay::{Problem, problem::NoFiles};
    /// let request = serde_json::json!({
    ///     "budget": 10,
    ///     "task": [{ "value": 1, "curve": { "family": "exponential", "scale": 2 } }],
    /// });
    /// assert_eq!(Problem::from_value(&request, &NoFiles)?.budget(), 10.0);
    /// # Ok::<(), outlay::problem::ProblemErrors>(())
    /// ```
    ///
    /// # Errors
    /// As [`Problem::from_toml`].
    pub fn from_value(value: &serde_json::Value, files: &dyn Files) -> Result<Self, ProblemErrors> {
        checked_json(JsonSource::Value(value), files)
    }
}

impl ProblemSpec {
    /// Reads a problem in TOML without the checks of [`ProblemSpec::check`], so that it can be
    /// changed first.
    ///
    /// # Errors
    /// Everything that cannot be read: syntax, unknown keys, wrong types, invalid curves, files.
    pub fn from_toml(text: &str, files: &dyn Files) -> Result<Self, ProblemErrors> {
        unchecked(Value::from_toml(text), files)
    }

    /// Reads a problem in JSON without the checks of [`ProblemSpec::check`], so that it can be
    /// changed first.
    ///
    /// # Errors
    /// As [`ProblemSpec::from_toml`].
    pub fn from_json(text: &str, files: &dyn Files) -> Result<Self, ProblemErrors> {
        unchecked(Value::from_json(text), files)
    }
}

fn checked(document: &Value, files: &dyn Files) -> Result<Problem, ProblemErrors> {
    let (mut spec, fields, errors) = read_top(document)?;
    let mut tasks = TaskChecker::new(&spec, &errors);
    let mut reader = Reader::new(&spec, errors, files);
    read_list(&fields, &mut tasks, &mut reader);
    read_rest(&fields, &mut spec, &mut tasks, &mut reader);
    check_into(spec, tasks, reader.errors)
}

fn checked_json(source: JsonSource<'_>, files: &dyn Files) -> Result<Problem, ProblemErrors> {
    match checked_by_task(source, files) {
        Ok(result) => result,
        Err(NeedsTree) => checked(&source.tree().map_err(alone)?, files),
    }
}

/// As [`checked`], without a tree of all tasks.
fn checked_by_task(
    source: JsonSource<'_>,
    files: &dyn Files,
) -> Result<Result<Problem, ProblemErrors>, NeedsTree> {
    let document = source.without_tasks()?;
    let (mut spec, fields, errors) = match read_top(&document) {
        Ok(read) => read,
        Err(errors) => return Ok(Err(errors)),
    };
    let mut tasks = TaskChecker::new(&spec, &errors);
    let mut reader = Reader::new(&spec, errors, files);
    source.each_task(|position, task| {
        task::read_task(FieldPath::task(position), task, &mut tasks, &mut reader);
    })?;
    read_rest(&fields, &mut spec, &mut tasks, &mut reader);
    Ok(check_into(spec, tasks, reader.errors))
}

fn unchecked(
    document: Result<Value, ProblemError>,
    files: &dyn Files,
) -> Result<ProblemSpec, ProblemErrors> {
    let document = document.map_err(alone)?;
    let (mut spec, fields, errors) = read_top(&document)?;
    let mut tasks = Vec::new();
    let mut reader = Reader::new(&spec, errors, files);
    read_list(&fields, &mut tasks, &mut reader);
    read_rest(&fields, &mut spec, &mut tasks, &mut reader);
    spec.tasks = tasks;
    reader.errors.into_result(spec)
}

fn alone(error: ProblemError) -> ProblemErrors {
    ProblemErrors(vec![error])
}

/// The state of reading one problem file.
struct Reader<'f> {
    errors: ErrorList,
    csv_files: CsvFiles<'f>,
    /// The default of a power curve's `scale`.
    budget: f64,
    /// Replaces a rejected curve, so that the rest of its task is checked. It is never part of a
    /// valid problem.
    placeholder_curve: Option<Curve>,
}

impl<'f> Reader<'f> {
    /// For a problem with this top level, which has these errors.
    fn new(spec: &ProblemSpec, errors: ErrorList, files: &'f dyn Files) -> Self {
        // An invalid budget has its own error and cannot be a scale.
        let budget = if spec.budget > 0.0 && spec.budget.is_finite() { spec.budget } else { 1.0 };
        let placeholder_curve = Curve::saturating(1.0).ok();
        Self { errors, csv_files: CsvFiles::new(files), budget, placeholder_curve }
    }
}

/// The receiver of the tasks of a file, one at a time.
trait TaskSink {
    /// The number of tasks so far.
    fn count(&self) -> usize;

    /// Takes the task at `path`.
    fn add(&mut self, task: TaskSpec, path: FieldPath<'_>);
}

impl TaskSink for TaskChecker {
    fn count(&self) -> usize {
        self.tasks().len()
    }

    fn add(&mut self, task: TaskSpec, path: FieldPath<'_>) {
        self.check(task, path);
    }
}

impl TaskSink for Vec<TaskSpec> {
    fn count(&self) -> usize {
        self.len()
    }

    fn add(&mut self, task: TaskSpec, path: FieldPath<'_>) {
        let origin = match path {
            FieldPath::Line { .. } => path.to_string(),
            _ => String::new(),
        };
        self.push(TaskSpec { origin, ..task });
    }
}

/// The specification in a document without environment and tasks, the fields of the document, and
/// the errors so far; an error if the document is not a table.
fn read_top(document: &Value) -> Result<(ProblemSpec, Fields<'_>, ErrorList), ProblemErrors> {
    let mut spec = ProblemSpec::default();
    let mut errors = ErrorList::default();
    let Some(fields) = Fields::of_value(FieldPath::Top, document, &mut errors) else {
        return Err(errors.into());
    };
    fields.reject_unknown(&[&PROBLEM_KEYS, &Units::KEYS], &mut errors);
    spec.budget = fields.number("budget", &mut errors).unwrap_or(spec.budget);
    spec.horizon = fields.integer("horizon", &mut errors);
    spec.reward_max = fields.number("reward_max", &mut errors).unwrap_or(spec.reward_max);
    if fields.has("reward_over_max") {
        let found = fields.choice("reward_over_max", "a problem", &OVER_MAX, &mut errors);
        spec.reward_over_max = found.map_or(spec.reward_over_max, |(_, found)| *found);
    }
    if fields.has("leftover") {
        let leftover = fields.choice("leftover", "a problem", &LEFTOVERS, &mut errors);
        spec.leftover = leftover.map_or(spec.leftover, |(_, leftover)| *leftover);
    }
    let [currency, period, reward_unit] =
        Units::KEYS.map(|key| fields.text(key, &mut errors).map(Box::from));
    spec.units = Units { currency, period, reward_unit };
    Ok((spec, fields, errors))
}

/// Reads the list of tasks of a document.
fn read_list(fields: &Fields<'_>, tasks: &mut dyn TaskSink, reader: &mut Reader<'_>) {
    let list_path = fields.at("task");
    match fields.get("task") {
        Some(RawValue::Value(Value::Array(list))) => {
            for (position, value) in list.iter().enumerate() {
                task::read_task(FieldPath::Item(&list_path, position), value, tasks, reader);
            }
        }
        Some(other) => {
            reader.errors.add(list_path, ProblemErrorKind::NotATaskList { found: other.found() });
        }
        None => {}
    }
}

/// Reads everything after the list of tasks: those in a CSV file, and the environment.
fn read_rest(
    fields: &Fields<'_>,
    spec: &mut ProblemSpec,
    tasks: &mut dyn TaskSink,
    reader: &mut Reader<'_>,
) {
    read_tasks_key(fields, tasks, reader);
    spec.environment = environment::read_environment(fields, reader);
}

fn read_tasks_key(fields: &Fields<'_>, tasks: &mut dyn TaskSink, reader: &mut Reader<'_>) {
    let path = fields.at("tasks");
    match fields.get("tasks") {
        Some(RawValue::Value(value @ Value::Table(_))) => {
            if let Some(table) = Fields::of_value(path, value, &mut reader.errors) {
                read_csv_file(&table, tasks, reader);
            }
        }
        Some(other) => {
            reader.errors.add(path, ProblemErrorKind::NotATaskFile { found: other.found() });
        }
        None => {}
    }
}

fn read_csv_file(table: &Fields<'_>, tasks: &mut dyn TaskSink, reader: &mut Reader<'_>) {
    table.reject_unknown(&[&["file"]], &mut reader.errors);
    table.require("file", "`tasks`", &mut reader.errors);
    let Some(file) = table.text("file", &mut reader.errors) else { return };
    let read = reader.csv_files.text(file).and_then(|text| {
        read_csv_tasks(file, &text, tasks, reader).map_err(|error| not_a_table(file, error))
    });
    if let Err(error) = read {
        reader.errors.add(table.at("file"), error);
    }
}
