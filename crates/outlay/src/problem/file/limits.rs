//! A file of limits: bounds of tasks apart from the problem file, so that a new fit keeps them.

use std::collections::HashMap;

use super::alone;
use super::csv_table::not_a_table;
use super::table::{Bases, Fields};
use super::task::{LIMIT_KEYS, LimitSpec, read_limits};
use super::value::Value;
use crate::problem::check::check_task;
use crate::problem::errors::{ErrorList, FieldPath, ProblemErrorKind};
use crate::problem::{Bounds, Problem, ProblemErrors, Task, TaskSpec, UnknownTask};
use crate::table::{TableError, TableReader};

/// The form of a file of limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitsForm {
    /// A table per task: `[search]`, then the keys of its bounds.
    Toml,
    /// One row per task: the column `task`, and one column per key.
    Csv,
}

impl Problem {
    /// The same problem with the limits in `text`, which is the text of `file`. The limits of a task
    /// replace all its bounds; tasks without limits keep theirs.
    ///
    /// The keys are `min`, `max`, `fixed`, `exclude` and `at_least`, with the values of a problem
    /// file: percentages are of the task's `current` or of the problem's budget.
    ///
    /// ```
    /// use outlay::problem::{LimitsForm, NoFiles};
    /// # let text = "budget = 100\n[[task]]\nname = 'tv'\ncurrent = 40\ncurve = { family = 'power', exponent = 0.5 }";
    /// let problem = outlay::Problem::from_toml(text, &NoFiles)?;
    /// let limits = "[tv]\nmin = 10\nmax = '150% of current'";
    /// let limited = problem.with_limits(limits, LimitsForm::Toml, "limits.toml")?;
    /// assert_eq!((limited.tasks()[0].bounds().min, limited.tasks()[0].bounds().max), (10.0, 60.0));
    /// # Ok::<(), outlay::problem::ProblemErrors>(())
    /// ```
    ///
    /// # Errors
    /// All errors of the file, each with its place.
    pub fn with_limits(
        &self,
        text: &str,
        form: LimitsForm,
        file: &str,
    ) -> Result<Self, ProblemErrors> {
        let mut limits = Limits::new(self);
        match form {
            LimitsForm::Toml => limits.read_toml(&Value::from_toml(text).map_err(alone)?),
            LimitsForm::Csv => {
                if let Err(error) = limits.read_csv(text, file) {
                    limits.errors.add(file, not_a_table(file, error));
                }
            }
        }
        limits.errors.into_result(())?;
        Ok(self.with_bounds(&limits.bounds))
    }
}

/// The limits read so far.
struct Limits<'p> {
    problem: &'p Problem,
    positions: HashMap<&'p str, usize>,
    bounds: Vec<Bounds>,
    /// The place of the limits of each task.
    places: HashMap<usize, String>,
    errors: ErrorList,
}

impl<'p> Limits<'p> {
    fn new(problem: &'p Problem) -> Self {
        let tasks = problem.tasks().iter().enumerate();
        Self {
            problem,
            positions: tasks.map(|(position, task)| (task.name(), position)).collect(),
            bounds: problem.tasks().iter().map(Task::own_bounds).collect(),
            places: HashMap::new(),
            errors: ErrorList::default(),
        }
    }

    fn read_toml(&mut self, document: &Value) {
        let Value::Table(entries) = document else { return };
        for (name, value) in entries {
            let path = FieldPath::Key(&FieldPath::Top, name);
            if let Some(fields) = Fields::of_value(path, value, &mut self.errors) {
                fields.reject_unknown(&[&LIMIT_KEYS], &mut self.errors);
                self.read(name, path, &fields);
            }
        }
    }

    fn read_csv(&mut self, text: &str, file: &str) -> Result<(), TableError> {
        let mut rows = TableReader::new(text, None)?;
        let names = rows.columns().to_vec();
        let header = FieldPath::Line { file, line: 1 };
        let is_known = |name: &&String| *name == "task" || LIMIT_KEYS.contains(&name.as_str());
        for name in names.iter().filter(|name| !is_known(name)) {
            let known = ["task"].iter().chain(&LIMIT_KEYS).map(|&key| key.to_owned()).collect();
            let kind = ProblemErrorKind::UnknownColumn { column: name.clone(), known };
            self.errors.add(header, kind);
        }
        let Some(task) = rows.column("task") else {
            let known = names.into();
            let (file, column) = (file.to_owned(), "task".to_owned());
            self.errors.add(header, ProblemErrorKind::NoSuchColumn { file, column, known });
            return Ok(());
        };
        let columns = names.iter().enumerate().filter(|(_, name)| is_known(name));
        let columns: Vec<(&str, usize)> =
            columns.map(|(position, name)| (name.as_str(), position)).collect();
        while let Some(row) = rows.next_row()? {
            let path = FieldPath::Line { file, line: row.line() };
            let found = row.cell_count(names.len());
            if found == names.len() {
                self.read(row.cell(task), path, &Fields::of_row(path, &columns, row));
            } else {
                let expected = names.len();
                self.errors.add(path, ProblemErrorKind::RowLength { expected, found });
            }
        }
        Ok(())
    }

    /// Reads the limits of one task.
    fn read(&mut self, name: &str, path: FieldPath<'_>, fields: &Fields<'_>) {
        let Some(&position) = self.positions.get(name) else {
            let names = self.problem.tasks().iter().map(Task::name);
            let kind = ProblemErrorKind::UnknownTask(UnknownTask::of(name, names));
            return self.errors.add(path, kind);
        };
        if let Some(first) = self.places.get(&position) {
            let (name, first) = (name.to_owned(), first.clone());
            return self.errors.add(path, ProblemErrorKind::RepeatedLimits { name, first });
        }
        self.places.insert(position, path.to_string());
        let task = &self.problem.tasks()[position];
        let bases = Bases { current: task.current(), budget: self.problem.budget() };
        let limits = read_limits(fields, bases, &mut self.errors);
        let LimitSpec { min, max, fixed, exclude, at_least } = limits;
        let bare = TaskSpec::new(name, task.curve().clone());
        let spec = TaskSpec { min, max, fixed, exclude, at_least, ..bare };
        self.bounds[position] = check_task(&spec, path, f64::INFINITY, &mut self.errors);
    }
}
