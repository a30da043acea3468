//! `outlay amend`: replaces the problem of a daily loop and shows the difference.

use outlay::Problem;
use outlay::ledger::Ledger;
use outlay::problem::{AmendError, Amendment, FieldChange};
use outlay::text::{listed, one_line};
use serde::Serialize;
use serde_json::Value;

use crate::args::AmendArgs;
use crate::failure::Failure;
use crate::input::state_file::{self, StateFile};
use crate::input::task_names::similar_names;
use crate::input::{display_name, problem_source};
use crate::output::table::{Align, Table};
use crate::output::{CommandOutput, Format, csv, json};
use outlay_report::labels::Labels;
use outlay_report::number::{counted, plain};

/// The longest list of numbers in the table.
const MAX_NUMBERS: usize = 6;

pub(crate) fn run(arguments: &AmendArgs) -> Result<CommandOutput, Failure> {
    // Read before locking the state, because standard input can be slow.
    let given = arguments.problem.as_deref().map(problem_source::problem).transpose()?;
    let (held, mut ledger) = if arguments.dry_run {
        (None, state_file::read(&arguments.state)?)
    } else {
        let (held, ledger) = StateFile::open(&arguments.state)?;
        (Some(held), ledger)
    };
    let amendment = amend(&mut ledger, given.as_ref(), arguments)?;
    if let Some(held) = held.filter(|_| !amendment.is_empty()) {
        held.save(&ledger)?;
    }
    let record = Record {
        state: arguments.state.display().to_string(),
        after: ledger.rounds(),
        dry_run: arguments.dry_run,
        open_rounds: ledger.open_rounds(),
        amendment: &amendment,
    };
    let result = match arguments.format {
        Format::Table => text(&ledger, &record),
        Format::Json => json(&record)?,
        Format::Csv => csv(rows(&amendment))?,
    };
    Ok(CommandOutput::new(result).with_remarks(remarks(&ledger, &amendment)))
}

/// Amends the ledger by the given problem, or by its own, without the tasks that are to be retired.
fn amend(
    ledger: &mut Ledger,
    given: Option<&Problem>,
    arguments: &AmendArgs,
) -> Result<Amendment, Failure> {
    let name = arguments.problem.as_deref().unwrap_or(&arguments.state);
    let failure =
        |error: &dyn std::fmt::Display| Failure(format!("{}: {error}", display_name(name)));
    let problem = match given {
        None => ledger.problem().clone(),
        Some(given) => ledger.problem().amended(given).map_err(|error| failure(&error))?.0,
    };
    let names: Vec<&str> = arguments.retire.iter().map(|name| name.trim()).collect();
    let problem = problem.with_retired(&names).map_err(|error| match error {
        AmendError::UnknownTask(unknown) => Failure(format!("--retire: {unknown}")),
        other => Failure(format!("--retire: {other}")),
    })?;
    ledger.amend(&problem).map_err(|error| failure(&error))
}

#[derive(Serialize)]
struct Record<'a> {
    state: String,
    /// The number of rounds issued before the amendment.
    after: u64,
    dry_run: bool,
    open_rounds: usize,
    #[serde(flatten)]
    amendment: &'a Amendment,
}

#[derive(Serialize)]
struct Row {
    /// Empty for a field of the problem.
    task: String,
    /// `added`, `retired`, `returned`, or the changed field.
    change: &'static str,
    old: String,
    new: String,
}

fn rows(amendment: &Amendment) -> Vec<Row> {
    let text = |value: &Value| if value.is_null() { String::new() } else { value.to_string() };
    rows_with(amendment, text)
}

/// One row per change; `text` writes a value.
fn rows_with(amendment: &Amendment, text: impl Fn(&Value) -> String) -> Vec<Row> {
    let named = |change: &'static str, names: &[String]| -> Vec<Row> {
        let row = |name: &String| Row {
            task: name.clone(),
            change,
            old: String::new(),
            new: String::new(),
        };
        names.iter().map(row).collect()
    };
    let changed = amendment.changed.iter().map(|FieldChange { task, field, old, new }| Row {
        task: task.clone().unwrap_or_default(),
        change: field,
        old: text(old),
        new: text(new),
    });
    let mut rows = named("added", &amendment.added);
    rows.extend(named("retired", &amendment.retired));
    rows.extend(named("returned", &amendment.returned));
    rows.extend(changed);
    rows
}

fn text(ledger: &Ledger, record: &Record<'_>) -> String {
    let Record { state, after, dry_run, open_rounds, amendment } = record;
    if amendment.is_empty() {
        return format!("{state}: nothing changes\n");
    }
    let mut table = Table::new(&[
        ("task", Align::Left),
        ("change", Align::Left),
        ("before", Align::Left),
        ("after", Align::Left),
    ]);
    for Row { task, change, old, new } in rows_with(amendment, value_text) {
        let task = if task.is_empty() { "(problem)".to_owned() } else { one_line(&task) };
        table.row(vec![task, change.to_owned(), old, new]);
    }
    let active = ledger.problem().tasks().iter().filter(|task| !task.is_retired()).count();
    let tasks = counted(active, "task");
    let budget = Labels::of(ledger.problem()).money_per_period(&plain(ledger.problem().budget()));
    let mut lines = vec![format!(
        "from round {} on {} plans {tasks} with {budget}",
        after + 1,
        ledger.settings().learner
    )];
    if *open_rounds > 0 {
        let (keep, their) = if *open_rounds == 1 { ("keeps", "its") } else { ("keep", "their") };
        let open = counted(*open_rounds, "open round");
        lines.push(format!("{open} {keep} {their} tasks, spends and curves"));
    }
    if *dry_run {
        lines.push(format!("dry run: {state} is unchanged"));
    }
    format!("{}\n{}\n", table.render(), lines.join("\n"))
}

/// A value of a problem file for the table.
fn value_text(value: &Value) -> String {
    match value {
        Value::Null => "unset".to_owned(),
        Value::Number(number) => number.as_f64().map_or_else(|| number.to_string(), plain),
        Value::String(text) => one_line(text),
        Value::Array(items) if items.len() > MAX_NUMBERS => format!("{} numbers", items.len()),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(value_text).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(fields) => {
            let named = |key: &str| fields.get(key).and_then(Value::as_str);
            let kind = named("family").or(named("law")).map(str::to_owned);
            let is_kind = |key: &str| key == "family" || key == "law";
            let others = fields.iter().filter(|(key, _)| !is_kind(key));
            let others = others.map(|(key, value)| format!("{key} {}", value_text(value)));
            kind.into_iter().chain(others).collect::<Vec<_>>().join(", ")
        }
        Value::Bool(flag) => flag.to_string(),
    }
}

fn remarks(ledger: &Ledger, amendment: &Amendment) -> Vec<String> {
    let mut remarks = Vec::new();
    if !amendment.added.is_empty() {
        remarks = similar_names(ledger.problem().tasks().iter().map(outlay::Task::name));
    }
    if !amendment.kept_seen.is_empty() {
        remarks.push(format!(
            "seen of {} stays as it was when the task was added, so that no evidence counts twice",
            listed(&amendment.kept_seen)
        ));
    }
    remarks
}
