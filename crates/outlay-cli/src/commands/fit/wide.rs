//! Wide logs: one row per round and, for each task, columns named by patterns such as
//! `{task}_spend`.

use outlay::text::listed;

use super::log::{Names, Source};
use crate::args::FitArgs;
use crate::failure::Failure;
use crate::input::csv_table::CsvTable;

/// Stands for the name of a task in a pattern.
const TASK: &str = "{task}";

/// A pattern of column names.
#[derive(Clone, Copy)]
struct Pattern<'a> {
    before: &'a str,
    after: &'a str,
}

impl<'a> Pattern<'a> {
    /// The pattern given by a flag.
    fn new(flag: &str, pattern: &'a str) -> Result<Self, Failure> {
        pattern
            .trim()
            .split_once(TASK)
            .map(|(before, after)| Self { before, after })
            .ok_or_else(|| Failure(format!("{flag} {pattern}: with --wide it must contain {TASK}")))
    }

    /// The task of a column.
    fn task(self, column: &str) -> Option<&str> {
        let task = column.strip_prefix(self.before)?.strip_suffix(self.after)?.trim();
        (!task.is_empty()).then_some(task)
    }

    fn column(self, task: &str) -> String {
        format!("{}{task}{}", self.before, self.after)
    }

    /// Whether every column matches.
    fn is_bare(self) -> bool {
        self.before.is_empty() && self.after.is_empty()
    }
}

/// A log with one common outcome cannot be fitted channel by channel.
pub(super) fn check_usage(arguments: &FitArgs) -> Result<(), Failure> {
    let flags = [
        ("--spend", &arguments.spend),
        ("--threshold", &arguments.threshold),
        ("--success", &arguments.success),
        ("--trials", &arguments.trials),
        ("--reward", &arguments.reward),
        ("--count", &arguments.count),
        ("--revenue", &arguments.revenue),
    ];
    let given = || flags.iter().filter_map(|(flag, name)| Some((*flag, name.as_deref()?)));
    if !arguments.wide {
        return match given().find(|(_, name)| name.contains(TASK)) {
            Some((flag, name)) => {
                Err(Failure(format!("{flag} {name}: {TASK} is for wide logs; add --wide")))
            }
            None => Ok(()),
        };
    }
    let (flag, outcome) = outcome(arguments);
    if let Some(outcome) = outcome.filter(|name| !name.contains(TASK)) {
        return Err(Failure(format!(
            "{flag} {outcome}: it is one outcome for all tasks, but --wide needs one column \
             per task, such as {TASK}_won. To divide a common outcome among channels is a \
             marketing-mix problem, which fit does not solve: fit the log with Robyn, \
             pymc-marketing or Meridian and import the curves (docs/how-to/interop.md)"
        )));
    }
    given().try_for_each(|(flag, name)| Pattern::new(flag, name).map(|_| ()))
}

/// The flag of the outcome and its pattern.
fn outcome(arguments: &FitArgs) -> (&'static str, Option<&str>) {
    match arguments.count.as_deref() {
        Some(count) => ("--count", Some(count)),
        None => ("--success", arguments.success.as_deref()),
    }
}

/// The columns of every task, and remarks on columns that are not used.
pub(super) fn sources(
    arguments: &FitArgs,
    table: &CsvTable<'_>,
    remarks: &mut Vec<String>,
) -> Result<Vec<Source>, Failure> {
    let (flag, amount) = match (&arguments.threshold, &arguments.spend) {
        (Some(name), _) => ("--threshold", name.as_str()),
        (None, name) => ("--spend", name.as_deref().unwrap_or(TASK)),
    };
    let amounts = Pattern::new(flag, amount)?;
    let (outcome_flag, outcome) = outcome(arguments);
    let success = outcome.map(|name| Pattern::new(outcome_flag, name)).transpose()?;
    let has_success =
        |task: &str| success.is_none_or(|pattern| table.optional(&pattern.column(task)).is_some());
    // The pattern {task} matches the columns of dates and outcomes too.
    let tasks: Vec<&str> = table
        .columns()
        .iter()
        .filter_map(|column| amounts.task(column))
        .filter(|task| !amounts.is_bare() || has_success(task))
        .collect();
    if tasks.is_empty() {
        return Err(Failure(format!(
            "no column matches {flag} '{amount}'; the file has {}",
            listed(table.columns())
        )));
    }
    if let Some(success) = success {
        remarks.extend(unused(table, amounts, success));
    }
    let source = |task: &&str| {
        let column = |name: &Option<String>| name.as_ref().map(|name| name.replacen(TASK, task, 1));
        let names = Names {
            tasks: Vec::new(),
            amount: amounts.column(task),
            success: column(&arguments.success),
            trials: column(&arguments.trials),
            reward: column(&arguments.reward),
            count: column(&arguments.count),
            revenue: column(&arguments.revenue),
            needs: arguments.threshold.is_some(),
        };
        Source::new(Some((*task).to_owned()), names, table).map(Source::of_wide_log)
    };
    tasks.iter().map(source).collect()
}

/// A remark on outcomes without a spend, such as totals.
fn unused(table: &CsvTable<'_>, amounts: Pattern<'_>, success: Pattern<'_>) -> Option<String> {
    let without_spend: Vec<&String> = table
        .columns()
        .iter()
        .filter(|column| {
            success.task(column).is_some_and(|task| table.optional(&amounts.column(task)).is_none())
        })
        .collect();
    (!without_spend.is_empty() && !success.is_bare())
        .then(|| format!("columns ignored, because they have no spend: {}", listed(&without_spend)))
}
