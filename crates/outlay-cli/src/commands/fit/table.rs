//! Fits as text.

use super::Answer;
use crate::input;
use crate::output::table::{Align, Table, hidden_line, most_important, wrapped};
use outlay_report::fit::{CAUTION, TaskFit, interval, p_value, warnings};
use outlay_report::number::{counted, figure, plain};

/// The advice for users who would fit the log of their own plans again and again.
const REPLAN_CAUTION: &str = "Do not refit and replan in a loop: a log of optimised spends covers \
    ever less, and nothing explores. Start the daily loop from the fitted problem (outlay new).";

/// Stands for a missing number.
const NONE: &str = "–";

pub(super) fn table(answer: &Answer<'_>) -> String {
    use Align::{Left, Right};
    let (rows, successes) =
        if answer.has_counts { ("rows", "completions") } else { ("trials", "successes") };
    let mut table = Table::new(&[
        ("task", Left),
        (rows, Right),
        (successes, Right),
        ("family", Left),
        ("dispersion", Right),
        ("log-loss", Right),
        ("of a constant", Right),
        ("calibration", Right),
        ("covers", Right),
        ("value", Right),
    ]);
    let (shown, hidden) =
        most_important(answer.tasks.len(), |position| answer.tasks[position].log.data.trials());
    for &position in &shown {
        table.row(cells(&answer.tasks[position], answer.amounts.budget));
    }
    let mut text = format!("{}{}", table.render(), hidden_line(hidden, "with fewer trials"));
    text.push_str(&parameter_table(answer, &shown));
    text.push_str(&warning_lines(answer, &shown));
    text.push_str(&reasons(answer, &shown));
    text.push_str(&format!("\n{}\n", line(answer)));
    text.push_str(&wrapped(CAUTION));
    if answer.has_counts {
        text.push_str(&wrapped(REPLAN_CAUTION));
    }
    text
}

/// The parameters of the curves, in a separate table to keep rows short.
fn parameter_table(answer: &Answer<'_>, shown: &[usize]) -> String {
    use Align::{Left, Right};
    let mut table =
        Table::new(&[("task", Left), ("parameter", Left), ("fitted", Right), ("95%", Left)]);
    let mut any = false;
    for &position in shown {
        let task = &answer.tasks[position];
        for parameter in task.fitted.iter().flat_map(|fitted| &fitted.parameters) {
            let name = task.log.name.clone();
            table.row(vec![
                name,
                parameter.name.to_string(),
                figure(parameter.value),
                interval(parameter),
            ]);
            any = true;
        }
    }
    if any { format!("\n{}", table.render()) } else { String::new() }
}

/// Warnings, one line per task.
fn warning_lines(answer: &Answer<'_>, shown: &[usize]) -> String {
    let mut lines = String::new();
    for &position in shown {
        let task = &answer.tasks[position];
        let warning = warning(task);
        if !warning.is_empty() {
            lines.push_str(&wrapped(&format!("(!) {}: {warning}", task.log.name)));
        }
    }
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

/// A row of the table.
fn cells(task: &TaskFit, budget: f64) -> Vec<String> {
    let data = &task.log.data;
    let mut cells = vec![task.log.name.clone(), plain(data.trials()), plain(data.successes())];
    let fitted = task.fitted.as_ref();
    let number = |number: Option<f64>, written: fn(f64) -> String| {
        number.map_or_else(|| NONE.to_owned(), written)
    };
    cells.push(fitted.map_or_else(|| NONE.to_owned(), |fitted| fitted.kind.to_string()));
    let counts = fitted.and_then(|fitted| fitted.counts);
    cells.push(number(counts.map(|counts| counts.dispersion), figure));
    cells.push(number(fitted.and_then(|fitted| fitted.log_loss), figure));
    cells.push(number(fitted.and_then(|fitted| fitted.constant_log_loss), figure));
    cells.push(number(fitted.and_then(|fitted| fitted.calibration), p_value));
    cells.push(task.covers(budget));
    cells.push(task.value());
    // Empty columns are omitted.
    cells.iter_mut().skip(4).filter(|cell| cell.as_str() == NONE).for_each(String::clear);
    cells
}

fn warning(task: &TaskFit) -> String {
    task.fitted.as_ref().map_or_else(|| "no data: omitted from the problem".to_owned(), warnings)
}

/// The reasons for the chosen families, for the first tasks.
fn reasons(answer: &Answer<'_>, shown: &[usize]) -> String {
    const MOST: usize = 10;
    let several = answer.tasks.len() > 1;
    let mut lines = String::new();
    let chosen = shown.iter().filter_map(|&position| {
        let task = &answer.tasks[position];
        Some((&task.log.name, task.fitted.as_ref()?.reason()?))
    });
    for (name, reason) in chosen.take(MOST) {
        let prefix = if several { format!("{name}: ") } else { String::new() };
        lines.push_str(&wrapped(&format!("{prefix}{reason}")));
    }
    if lines.is_empty() {
        lines
    } else {
        format!(
            "\nReasons for the families (log-loss of held-out rows, by cross-validation):\n{lines}"
        )
    }
}

fn line(answer: &Answer<'_>) -> String {
    let budget = if answer.budget_given {
        ""
    } else if answer.has_counts {
        " (the sum of the mean spends; --budget sets another)"
    } else {
        " (the largest amount in the log; --budget sets another)"
    };
    [
        input::display_name(answer.log),
        counted(answer.tasks.len(), "task"),
        format!(
            "{} {}",
            plain(answer.tasks.iter().map(|task| task.log.data.trials()).sum()),
            if answer.has_counts { "rows" } else { "trials" }
        ),
        format!("budget {}{budget}", plain(answer.amounts.budget)),
    ]
    .join(" · ")
}
