//! `--update`: replaces the fitted keys of a problem file and keeps everything else in it.

use std::path::Path;

use outlay::Problem;
use outlay::text::listed;
use outlay_report::fit::TaskFit;
use outlay_report::number::counted;
use toml_edit::{ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::edit::{commented_again, renamed_log, set_key};
use super::problem_file::{Amounts, comment};
use crate::failure::Failure;
use crate::input;

/// The keys of a task that a fit sets.
const FITTED_KEYS: [&str; 6] = ["curve", "value", "volume", "current", "covers", "seen"];
/// Those that only a fit of counts sets.
const COUNT_KEYS: [&str; 4] = ["volume", "current", "covers", "seen"];

/// A problem file before its update.
pub(super) struct ExistingFile {
    name: String,
    text: String,
    document: DocumentMut,
}

/// The text of an updated file and remarks on the changes.
pub(super) struct Updated {
    pub(super) text: String,
    pub(super) remarks: Vec<String>,
}

impl ExistingFile {
    /// Reads a file that can be updated. It need not be complete: curves, for example, may be
    /// missing.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let name = input::display_name(path);
        if input::is_stdin(path) {
            return Err(Failure("--update needs a file, not standard input".to_owned()));
        }
        if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json")) {
            return Err(Failure(format!(
                "{name}: --update works on TOML files; -o {name} --overwrite replaces the whole file"
            )));
        }
        if !path.exists() {
            return Err(Failure(format!(
                "cannot read {name}: no such file; -o {name} writes a new one"
            )));
        }
        let text = input::text(path)?;
        let document = text.parse::<DocumentMut>();
        let document = document.map_err(|error| {
            Failure::many(&name, &[format!("not valid TOML: {}", error.to_string().trim_end())])
        })?;
        if document.contains_key("tasks") {
            return Err(Failure(format!(
                "{name}: --update cannot change tasks that come from a CSV file (the key `tasks`); \
                 write them as [[task]] tables, or write a new file with -o"
            )));
        }
        Ok(Self { name, text, document })
    }

    /// The budget of the file.
    pub(super) fn budget(&self) -> f64 {
        self.number("budget").unwrap_or(1.0)
    }

    /// The largest reward of the file.
    pub(super) fn reward_max(&self) -> f64 {
        self.number("reward_max").unwrap_or(1.0)
    }

    fn number(&self, key: &str) -> Option<f64> {
        let item = self.document.get(key)?;
        item.as_float().or_else(|| item.as_integer().map(|number| number as f64))
    }

    /// The names of its tasks.
    pub(super) fn task_names(&self) -> Vec<String> {
        let name = |position: usize, task: &dyn TableLike| {
            let name = task.get("name").and_then(Item::as_str);
            name.map_or_else(|| format!("task-{}", position + 1), str::to_owned)
        };
        match self.document.get("task") {
            Some(Item::ArrayOfTables(tasks)) => {
                tasks.iter().enumerate().map(|(position, task)| name(position, task)).collect()
            }
            Some(Item::Value(Value::Array(tasks))) => {
                let tables = tasks.iter().enumerate();
                let tables = tables.filter_map(|(at, task)| Some((at, task.as_inline_table()?)));
                tables.map(|(position, task)| name(position, task)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The file with the fitted problem.
    pub(super) fn updated(
        mut self,
        fitted: &Problem,
        tasks: &[TaskFit],
        amounts: &Amounts,
        log: &Path,
    ) -> Result<Updated, Failure> {
        let names = self.task_names();
        let mut remarks = self.set_amounts(amounts);
        let fresh = fitted.to_toml()?.parse::<DocumentMut>()?;
        if let Some(law) = fresh.get("environment").and_then(|item| item.get("completions"))
            && let Ok(law) = law.clone().into_value()
        {
            self.set_completion_law(law);
        }
        let fits: Vec<&TaskFit> = tasks.iter().filter(|task| task.fitted.is_some()).collect();
        let fresh = fresh.get("task").and_then(Item::as_array_of_tables).cloned();
        let mut changes = Changes::default();
        for (table, fit) in fresh.unwrap_or_default().iter().zip(fits) {
            match names.iter().position(|name| name.trim() == fit.log.name.trim()) {
                Some(position) => {
                    changes.updated += 1;
                    self.update_task(position, table, fit, &mut changes);
                }
                None => {
                    changes.added.push(fit.log.name.clone());
                    self.add_task(table, fit);
                }
            }
        }
        let is_logged =
            |name: &String| tasks.iter().any(|task| task.log.name.trim() == name.trim());
        changes.unchanged = names.into_iter().filter(|name| !is_logged(name)).collect();
        remarks.splice(0..0, changes.remarks(&self.name));
        let text = renamed_log(self.document.to_string(), log);
        // The editor writes line feeds only.
        let has_crlf = self.text.contains("\r\n");
        let text = if has_crlf { text.replace("\r\n", "\n").replace('\n', "\r\n") } else { text };
        Ok(Updated { text, remarks })
    }

    /// Sets the budget and the largest reward where they changed.
    fn set_amounts(&mut self, amounts: &Amounts) -> Vec<String> {
        let mut remarks = Vec::new();
        let before = [("budget", self.budget()), ("reward_max", self.reward_max())];
        for ((key, before), amount) in before.into_iter().zip([amounts.budget, amounts.reward_max])
        {
            if before != amount {
                set_key(self.document.as_table_mut(), key, amount.into());
                remarks.push(format!("{key}: {amount} instead of {before}"));
            }
        }
        remarks
    }

    fn set_completion_law(&mut self, law: Value) {
        let environment = self.document.get_mut("environment");
        match environment.and_then(Item::as_table_like_mut) {
            Some(environment) => set_key(environment, "completions", law),
            None => {
                let environment = InlineTable::from_iter([("completions", law)]);
                self.document.insert("environment", Item::Value(environment.into()));
            }
        }
    }

    fn update_task(
        &mut self,
        position: usize,
        table: &Table,
        fit: &TaskFit,
        changes: &mut Changes,
    ) {
        let has_counts = fit.fitted.as_ref().is_some_and(|fitted| fitted.counts.is_some());
        let task: &mut dyn TableLike = match self.document.get_mut("task") {
            Some(Item::ArrayOfTables(tasks)) => {
                let Some(task) = tasks.get_mut(position) else { return };
                commented_again(task.decor_mut(), &comment(fit));
                task
            }
            Some(Item::Value(Value::Array(tasks))) => {
                let Some(task) = tasks.get_mut(position).and_then(Value::as_inline_table_mut)
                else {
                    return;
                };
                task
            }
            _ => return,
        };
        for key in FITTED_KEYS {
            match table.get(key).and_then(|item| item.clone().into_value().ok()) {
                Some(value) => set_key(task, key, value),
                // A volume of 1 is the default, so it is not written.
                None if key == "volume" && has_counts => drop(task.remove(key)),
                None if COUNT_KEYS.contains(&key) && task.contains_key(key) => {
                    changes.kept.push((fit.log.name.clone(), key));
                }
                None => {}
            }
        }
        if let Some(Item::Value(Value::Array(tasks))) = self.document.get_mut("task")
            && let Some(task) = tasks.get_mut(position).and_then(Value::as_inline_table_mut)
            && !task.to_string().contains('#')
        {
            task.fmt();
        }
    }

    fn add_task(&mut self, table: &Table, fit: &TaskFit) {
        let mut task = Table::new();
        for (key, item) in table {
            if let Ok(value) = item.clone().into_value() {
                set_key(&mut task, key, value);
            }
        }
        match self.document.get_mut("task") {
            Some(Item::Value(Value::Array(tasks))) => {
                let mut task = Value::from(task.into_inline_table());
                task.decor_mut().set_prefix("\n  ");
                tasks.push_formatted(task);
            }
            Some(Item::ArrayOfTables(tasks)) => {
                task.decor_mut().set_prefix(format!("\n{}", comment(fit)));
                tasks.push(task);
            }
            _ => {
                task.decor_mut().set_prefix(format!("\n{}", comment(fit)));
                let tasks = ArrayOfTables::from_iter([task]);
                self.document.insert("task", Item::ArrayOfTables(tasks));
            }
        }
    }
}

/// The tasks by what happened to them.
#[derive(Default)]
struct Changes {
    updated: usize,
    added: Vec<String>,
    unchanged: Vec<String>,
    /// Tasks with a key that this kind of log does not give.
    kept: Vec<(String, &'static str)>,
}

impl Changes {
    fn remarks(&self, file: &str) -> Vec<String> {
        let mut remarks = vec![format!("{file}: {} updated", counted(self.updated, "task"))];
        if !self.added.is_empty() {
            remarks.push(format!(
                "added, because the file did not have them: {}",
                listed(&self.added)
            ));
        }
        if !self.unchanged.is_empty() {
            remarks.push(format!(
                "unchanged, because the log has no rows for them: {}",
                listed(&self.unchanged)
            ));
        }
        for key in COUNT_KEYS {
            let tasks = self.kept.iter().filter(|(_, kept)| *kept == key);
            let tasks: Vec<&str> = tasks.map(|(task, _)| task.as_str()).collect();
            if !tasks.is_empty() {
                remarks.push(format!(
                    "{key} kept, because this log does not give it: {}",
                    listed(&tasks)
                ));
            }
        }
        remarks
    }
}
