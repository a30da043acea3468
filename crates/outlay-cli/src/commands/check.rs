//! `outlay check`: validates a problem and reports which guarantee of the paper applies.

use outlay::curve::Shape;
use outlay::{Problem, Task};
use serde::Serialize;

use crate::args::CheckArgs;
use crate::failure::Failure;
use crate::input::problem_source;
use crate::input::task_names::similar_names;
use crate::output::table::{Align, Table, hidden_line, most_important, wrapped};
use crate::output::{CommandOutput, Format, csv, json};
use outlay_report::check::{ProblemCheck, TaskCheck};
use outlay_report::labels::Labels;
use outlay_report::number::{Precision, plain};

/// Largest number of notes in the table output.
const MAX_NOTES: usize = 20;

pub(crate) fn run(arguments: &CheckArgs) -> Result<CommandOutput, Failure> {
    let problem = problem_source::problem(&arguments.problem)?;
    let check = ProblemCheck::new(&problem);
    let mut remarks = similar_names(problem.tasks().iter().map(Task::name));
    let result = match arguments.format {
        Format::Table => text(&problem, &check),
        Format::Json => json(&check)?,
        Format::Csv => {
            remarks.push(check.conclusion.clone());
            remarks.extend(check.notes.iter().cloned());
            csv(check.tasks.iter().map(CsvRow::new))?
        }
    };
    Ok(CommandOutput::new(result).with_remarks(remarks))
}

/// The same with flat columns.
#[derive(Serialize)]
struct CsvRow<'a> {
    task: &'a str,
    family: &'static str,
    shape: &'a str,
    min: f64,
    max: Option<f64>,
    at_least: f64,
    value: Option<f64>,
    volume: f64,
    diminishing_returns: bool,
    failures: String,
}

impl<'a> CsvRow<'a> {
    fn new(row: &'a TaskCheck<'a>) -> Self {
        Self {
            task: row.task,
            family: row.family,
            shape: &row.shape,
            min: row.min,
            max: row.max,
            at_least: row.at_least,
            value: row.value,
            volume: row.volume,
            diminishing_returns: row.diminishing_returns,
            failures: row.failures.join("; "),
        }
    }
}

fn text(problem: &Problem, check: &ProblemCheck<'_>) -> String {
    use Align::{Left, Right};
    let (rows, notes) = (&check.tasks, &check.notes);
    let mut table = Table::new(&[
        ("task", Left),
        ("family", Left),
        ("shape", Left),
        ("bounds", Left),
        ("value", Right),
        ("volume", Right),
        ("diminishing returns", Left),
    ]);
    // All tasks are equally important: the first ones are shown.
    let (shown, hidden) = most_important(rows.len(), |_| 0.0);
    for &position in &shown {
        let row = &rows[position];
        table.row(vec![
            row.task.to_owned(),
            row.family.to_owned(),
            shape_in_words(&problem.tasks()[position], problem.budget()),
            row.bounds(),
            row.value.map(plain).unwrap_or_default(),
            if problem.has_counts() { plain(row.volume) } else { String::new() },
            if row.diminishing_returns {
                "strong".to_owned()
            } else {
                format!("no: {}", row.failures.join(", "))
            },
        ]);
    }
    let tasks = if rows.len() == 1 { "1 task".to_owned() } else { format!("{} tasks", rows.len()) };
    let horizon =
        problem.horizon().map(|horizon| format!(" · {horizon} rounds")).unwrap_or_default();
    let mut text = format!(
        "budget {} · {tasks}{horizon}\n\n{}\n",
        Labels::of(problem).money_per_period(&plain(problem.budget())),
        table.render() + &hidden_line(hidden, "more")
    );
    text.push_str(&wrapped(&check.conclusion));
    for note in notes.iter().take(MAX_NOTES) {
        text.push_str(&wrapped(&format!("note: {note}")));
    }
    if notes.len() > MAX_NOTES {
        text.push_str(&format!(
            "{} more notes are not shown; --format json lists all\n",
            notes.len() - MAX_NOTES
        ));
    }
    text
}

/// The shape with rounded numbers.
fn shape_in_words(task: &Task, budget: f64) -> String {
    match task.curve().shape() {
        Shape::SShaped { inflection } => {
            Shape::SShaped { inflection: Precision::of_budget(budget).rounded(inflection) }
                .to_string()
        }
        shape => shape.to_string(),
    }
}
