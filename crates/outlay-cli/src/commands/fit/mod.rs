//! `outlay fit`: fits curves to a log.
//!
//! The log is read (`log`, `wide`), the tasks are fitted (`fit_tasks`), and the results are written: text
//! (`table`), JSON and CSV (`record`) and the problem file (`problem_file`), or an existing file is
//! updated (`update`, `edit`).

mod edit;
mod fit_tasks;
mod log;
mod problem_file;
mod record;
mod table;
mod update;
mod wide;

use std::path::Path;

use clap::ValueEnum;
use outlay::Problem;
use outlay::fit::Options;

use crate::args::{FamilyChoice, FitArgs};
use crate::failure::Failure;
use crate::input;
use crate::input::task_names::similar_names;
use crate::output::atomic_file::write_atomically;
use crate::output::table::most_important;
use crate::output::{CommandOutput, Format, csv, json};
use crate::run::threads;
use fit_tasks::{Request, fit_all};
use outlay_report::fit::{FitPage, TaskData, TaskFit, TaskLog};
use problem_file::Amounts;
use update::{ExistingFile, Updated};

/// Results of a fit.
struct Answer<'a> {
    log: &'a Path,
    tasks: Vec<TaskFit>,
    amounts: Amounts,
    budget_given: bool,
    /// True if the log has counts.
    has_counts: bool,
}

pub(crate) fn run(arguments: &FitArgs, quiet: bool) -> Result<CommandOutput, Failure> {
    check_usage(arguments)?;
    if let Some(path) = &arguments.output {
        problem_file::refuse_existing(path, arguments.overwrite)?;
    }
    let existing = arguments.update.as_deref().map(ExistingFile::read).transpose()?;
    let log::Log { tasks: logs, mut remarks } = log::read(arguments)?;
    let amounts = amounts(arguments, &logs, existing.as_ref())?;
    let request = Request {
        choice: arguments.family.into(),
        options: Options {
            ceiling: arguments.ceiling,
            floor: arguments.floor,
            folds: arguments.folds.into(),
            bootstrap: arguments.bootstrap.into(),
            seed: arguments.seed,
            budget: Some(amounts.budget),
        },
        threads: threads(arguments.threads),
        drawn: drawn(arguments, &logs),
        quiet,
    };
    let tasks = fit_all(logs, &request)?;
    let answer = Answer {
        log: &arguments.log,
        tasks,
        amounts,
        budget_given: arguments.budget.is_some() || existing.is_some(),
        has_counts: arguments.count.is_some(),
    };
    if existing.is_none() {
        remarks.extend(reward_max_remark(arguments, &answer));
    }
    remarks.extend(write_files(arguments, &answer, existing)?);
    let result = match arguments.format {
        Format::Table => table::table(&answer),
        Format::Json => json(&record::record(&answer))?,
        Format::Csv => csv(record::rows(&answer))?,
    };
    Ok(CommandOutput::new(result).with_remarks(remarks))
}

/// Counts come with sums of rewards, so the largest reward of one completion is not in the log.
fn reward_max_remark(arguments: &FitArgs, answer: &Answer<'_>) -> Option<String> {
    (arguments.revenue.is_some() && arguments.reward_max.is_none()).then(|| {
        format!(
            "reward_max {}: the largest revenue / count of a row. Single rewards may be larger; \
             --reward-max sets their limit",
            answer.amounts.reward_max
        )
    })
}

fn check_usage(arguments: &FitArgs) -> Result<(), Failure> {
    wide::check_usage(arguments)?;
    if arguments.count.is_some() && arguments.family == FamilyChoice::Threshold {
        return Err(Failure(
            "--family threshold cannot be fitted to counts; monotone fits curves with steep parts"
                .to_owned(),
        ));
    }
    match (arguments.threshold.is_some(), arguments.family) {
        (true, FamilyChoice::Auto | FamilyChoice::Empirical) => Ok(()),
        (true, _) => Err(Failure(
            "--threshold gives an empirical curve; omit --family"
                .to_owned(),
        )),
        (false, FamilyChoice::Empirical) => Err(Failure(
            "--family empirical requires --threshold, the column with the spend that success required"
                .to_owned(),
        )),
        (false, _) => Ok(()),
    }
}

/// The budget and the largest reward: as given, as in the file that is updated, or by the log. By
/// the log, the budget is the largest amount or, with counts, the mean spend of a round.
fn amounts(
    arguments: &FitArgs,
    logs: &[TaskLog],
    existing: Option<&ExistingFile>,
) -> Result<Amounts, Failure> {
    let largest = |amounts: &mut dyn Iterator<Item = f64>| amounts.fold(0.0, f64::max);
    let seen = largest(&mut logs.iter().filter_map(|log| log.data.largest()));
    let given = arguments.budget.or(existing.map(ExistingFile::budget));
    if seen == 0.0 && given.is_none() {
        return Err(Failure(
            "all spends in the log are zero: give the budget of one round with --budget".to_owned(),
        ));
    }
    let reward = largest(&mut logs.iter().map(|log| log.rewards.largest()));
    if let Some(given) = arguments.reward_max.filter(|&given| given < reward) {
        return Err(Failure(format!(
            "--reward-max {given} is less than the largest reward in the log, {reward}"
        )));
    }
    let reward = match existing {
        Some(existing) => reward.max(existing.reward_max()),
        None if reward > 0.0 => reward,
        None => 1.0,
    };
    let budget = if arguments.count.is_some() { mean_spend(logs) } else { seen };
    Ok(Amounts {
        budget: given.unwrap_or(budget),
        reward_max: arguments.reward_max.unwrap_or(reward),
    })
}

/// The sum of the tasks' mean spends.
fn mean_spend(logs: &[TaskLog]) -> f64 {
    let mean = |log: &TaskLog| match &log.data {
        TaskData::Counts(counts) => counts.mean_spend(),
        _ => None,
    };
    logs.iter().filter_map(mean).sum()
}

/// The tasks that are drawn in the report: those with the most trials.
fn drawn(arguments: &FitArgs, logs: &[TaskLog]) -> Vec<bool> {
    let mut drawn = vec![false; logs.len()];
    if arguments.report.is_some() {
        most_important(logs.len(), |position| logs[position].data.trials())
            .0
            .into_iter()
            .for_each(|position| drawn[position] = true);
    }
    drawn
}

/// The command line for the report, with defaults written out.
fn command(arguments: &FitArgs) -> String {
    let quoted = |text: String| {
        let is_plain = !text.contains(|sign: char| sign.is_whitespace() || "{};".contains(sign));
        if is_plain { text } else { format!("'{text}'") }
    };
    let mut words = vec!["outlay fit".to_owned(), quoted(arguments.log.display().to_string())];
    let mut flag = |name: &str, value: Option<String>| {
        words.extend(value.map(|value| format!("--{name} {}", quoted(value))))
    };
    flag("task", Some(arguments.tasks.join(",")).filter(|tasks| !tasks.is_empty()));
    flag("spend", arguments.spend.clone());
    flag("threshold", arguments.threshold.clone());
    flag("success", arguments.success.clone());
    flag("trials", arguments.trials.clone());
    flag("reward", arguments.reward.clone());
    flag("date", arguments.date.clone());
    flag("since", arguments.since.map(|date| date.to_string()));
    flag("until", arguments.until.map(|date| date.to_string()));
    let decimal = arguments.csv.decimal.decimal.and_then(|sign| sign.to_possible_value());
    flag("decimal", decimal.map(|sign| sign.get_name().to_owned()));
    flag("true", arguments.csv.true_word.clone());
    flag("wide", arguments.wide.then(String::new));
    flag("reward-max", arguments.reward_max.map(|amount| amount.to_string()));
    let family = arguments.family.to_possible_value().map(|value| value.get_name().to_owned());
    flag("family", family.filter(|_| arguments.threshold.is_none()));
    flag("ceiling", arguments.ceiling.then(String::new));
    flag("floor", arguments.floor.then(String::new));
    flag("budget", arguments.budget.map(|budget| budget.to_string()));
    flag("folds", Some(arguments.folds.to_string()));
    flag("bootstrap", Some(arguments.bootstrap.to_string()));
    flag("seed", Some(arguments.seed.to_string()));
    words.iter().map(|word| word.trim()).collect::<Vec<_>>().join(" ")
}

/// Writes the requested files and returns remarks with their paths.
fn write_files(
    arguments: &FitArgs,
    answer: &Answer<'_>,
    existing: Option<ExistingFile>,
) -> Result<Vec<String>, Failure> {
    let mut remarks = Vec::new();
    let fitted = answer.tasks.iter().filter(|task| task.fitted.is_some()).count();
    if fitted == 0 {
        return Err(Failure("no task has any trials".to_owned()));
    }
    // Validate the problem before any file is written.
    let problem = problem_file::problem(&answer.tasks, &answer.amounts)?;
    let updated = match (&arguments.update, existing) {
        (Some(path), Some(existing)) => Some((path, updated(path, existing, answer, &problem)?)),
        _ => None,
    };
    if let Some(path) = &arguments.report {
        let log = match answer.log.file_name() {
            Some(name) => name.to_string_lossy().into_owned(),
            None => input::display_name(answer.log),
        };
        let page = FitPage {
            log: &log,
            command: &command(arguments),
            budget: answer.amounts.budget,
            tasks: &answer.tasks,
        };
        write_atomically(path, page.html().as_bytes())?;
        remarks.push(format!("report: {}", path.display()));
    }
    if let Some(path) = &arguments.output {
        problem_file::write(path, &problem, &answer.tasks, answer.log)?;
        remarks.push(format!("problem: {}", path.display()));
    }
    if let Some((path, updated)) = updated {
        remarks.extend(updated.remarks);
        remarks.push(REFIT_REMARK.to_owned());
        if arguments.dry_run {
            remarks.push("--dry-run: nothing was written".to_owned());
        } else {
            write_atomically(path, updated.text.as_bytes())?;
        }
    }
    Ok(remarks)
}

/// Printed where users would fit and plan in a loop.
const REFIT_REMARK: &str = "If the spends of the log were planned from this file, refitting and \
     replanning does not explore: a task that once looked poor gets no money and no new data \
     (docs/how-to/fit.md#refitting). The daily loop (outlay new) explores";

/// The updated file, checked.
fn updated(
    path: &Path,
    existing: ExistingFile,
    answer: &Answer<'_>,
    problem: &Problem,
) -> Result<Updated, Failure> {
    let names = existing.task_names();
    let logged = answer.tasks.iter().map(|task| task.log.name.as_str());
    let similar = similar_names(names.iter().map(String::as_str).chain(logged));
    let mut updated = existing.updated(problem, &answer.tasks, &answer.amounts, answer.log)?;
    input::check_problem_text(path, &updated.text)?;
    updated.remarks.extend(similar);
    Ok(updated)
}
