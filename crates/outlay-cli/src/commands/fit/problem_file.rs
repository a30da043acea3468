//! The problem file of the fitted curves.

use std::path::Path;

use outlay::Problem;

use crate::failure::Failure;
use crate::input;
use crate::output::atomic_file::write_atomically;
use crate::output::json;
use outlay_report::fit::TaskFit;

/// Budget and largest reward of the problem.
pub(super) struct Amounts {
    pub(super) budget: f64,
    pub(super) reward_max: f64,
}

/// Fails if the file exists, unless `overwrite` is set.
pub(super) fn refuse_existing(path: &Path, overwrite: bool) -> Result<(), Failure> {
    if path.exists() && !overwrite {
        return Err(Failure(format!("{} already exists: --overwrite replaces it", path.display())));
    }
    Ok(())
}

/// The problem with all fitted tasks.
pub(super) fn problem(tasks: &[TaskFit], amounts: &Amounts) -> Result<Problem, Failure> {
    outlay_report::fit::problem(tasks, amounts.budget, amounts.reward_max)
        .map_err(|errors| Failure::problem("the fitted problem", &errors))
}

/// Writes the file. In TOML, comments describe the fit of each task and its warnings.
pub(super) fn write(
    path: &Path,
    problem: &Problem,
    tasks: &[TaskFit],
    log: &Path,
) -> Result<(), Failure> {
    let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    let text = if is_json { json(problem)? } else { commented(&problem.to_toml()?, tasks, log) };
    write_atomically(path, text.as_bytes())
}

/// The first words of a problem file that was fitted to a log.
pub(super) fn fitted_from(log: &str) -> String {
    format!("# Fitted by outlay fit from {}.", log.replace(char::is_control, " "))
}

fn commented(toml: &str, tasks: &[TaskFit], log: &Path) -> String {
    let mut text = format!(
        "{} Fitted curves are known only approximately: in the worst case\n\
         # unknown curves cannot be learned safely, above all if they jump.\n",
        fitted_from(&input::display_name(log))
    );
    let mut fits = tasks.iter().filter(|task| task.fitted.is_some());
    for line in toml.lines() {
        if line == "[[task]]"
            && let Some(task) = fits.next()
        {
            text.push_str(&comment(task));
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// The comment above a fitted task: the family, the number of rows and the warnings.
pub(super) fn comment(task: &TaskFit) -> String {
    let Some(fitted) = &task.fitted else { return String::new() };
    let rows = if fitted.counts.is_some() { "rows" } else { "trials" };
    let mut text = format!("# {}, {} {rows}\n", fitted.kind, task.log.data.trials());
    for warning in &fitted.warnings {
        text.push_str(&format!("# warning: {warning}\n"));
    }
    text
}

/// Whether a line is the first one of such a comment.
pub(super) fn is_comment_of_fit(line: &str) -> bool {
    let parts = line.strip_prefix("# ").and_then(|text| text.rsplit_once(", "));
    let count = parts.and_then(|(_, rows)| rows.split_once(' '));
    count.is_some_and(|(number, unit)| {
        number.parse::<f64>().is_ok() && ["rows", "trials"].contains(&unit)
    })
}
