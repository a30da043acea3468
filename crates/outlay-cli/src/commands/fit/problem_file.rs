//! The problem file of the fitted curves.

use std::path::Path;

use outlay::{Problem, ProblemSpec, TaskSpec};

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
    let spec = |task: &TaskFit| {
        let fitted = task.fitted.as_ref()?;
        Some(TaskSpec {
            value: task.log.rewards.mean(),
            ..TaskSpec::new(task.log.name.clone(), fitted.curve.clone())
        })
    };
    let tasks: Vec<TaskSpec> = tasks.iter().filter_map(spec).collect();
    let problem = ProblemSpec {
        budget: amounts.budget,
        reward_max: amounts.reward_max,
        tasks,
        ..ProblemSpec::default()
    };
    problem.check().map_err(|errors| Failure::problem("the fitted problem", &errors))
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

fn commented(toml: &str, tasks: &[TaskFit], log: &Path) -> String {
    let mut text = format!(
        "# Fitted by outlay fit from {}. Fitted curves are known only approximately: in the worst case\n\
         # unknown curves cannot be learned safely, above all if they jump.\n",
        input::display_name(log).replace(char::is_control, " ")
    );
    let mut fits = tasks.iter().filter_map(|task| Some((task, task.fitted.as_ref()?)));
    for line in toml.lines() {
        if line == "[[task]]"
            && let Some((task, fitted)) = fits.next()
        {
            text.push_str(&format!("# {}, {} trials\n", fitted.kind, task.log.data.trials()));
            fitted
                .warnings
                .iter()
                .for_each(|warning| text.push_str(&format!("# warning: {warning}\n")));
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}
