//! `--split-at`: curves and values are fitted to the first part of the rows, and the plan from them
//! is judged on the second part.

use outlay::fit::{Fitted, Options as FitOptions, Warning};
use outlay::replay::{FittedProblem, Replay, Splits, TaskRows, fit_rows};
use outlay::text::{listed, one_line};
use outlay::{Options, Oracle, Problem, Task};
use outlay_report::replay::Holdout;

use super::rows::Recorded;
use crate::args::SplitAt;
use crate::failure::Failure;
use crate::input::date::Date;

/// The first part of the rows, fitted.
pub(super) struct Divided {
    pub(super) fitted: FittedProblem,
    first_rows: usize,
    at: SplitAt,
}

/// Fits the first part of the rows and leaves the second.
pub(super) fn divide(
    problem: &Problem,
    recorded: &mut Recorded,
    at: SplitAt,
    file: &str,
) -> Result<Divided, Failure> {
    let first_of = first_rows(recorded, at)?;
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for (task, rows) in recorded.tasks.drain(..).enumerate() {
        let (before, after) = rows.partition(|row| first_of(task, row));
        first.push(before);
        second.push(after);
    }
    for (part, name) in [(&first, "first"), (&second, "second")] {
        let tasks = problem.tasks().iter().zip(part).filter(|(_, rows)| rows.is_empty());
        let tasks: Vec<String> = tasks.map(|(task, _)| one_line(task.name())).collect();
        if !tasks.is_empty() {
            let message = format!(
                "--split-at {at} leaves no rows in the {name} part for {}: every task needs rows \
                 in both parts",
                listed(&tasks)
            );
            return Err(Failure::many(file, &[message]));
        }
    }
    let options = FitOptions { budget: Some(problem.budget()), ..FitOptions::default() };
    let fitted = fit_rows(problem, &first, &options)?;
    recorded.tasks = second;
    Ok(Divided { fitted, first_rows: first.iter().map(TaskRows::len).sum(), at })
}

/// Whether a row of a task belongs to the first part.
fn first_rows(
    recorded: &Recorded,
    at: SplitAt,
) -> Result<Box<dyn Fn(usize, usize) -> bool>, Failure> {
    let date = match (at, &recorded.dates) {
        (SplitAt::Date(date), Some(_)) => date,
        (SplitAt::Date(date), None) => {
            return Err(Failure(format!(
                "--split-at {date}: name the column with the dates by --date"
            )));
        }
        (SplitAt::Share(share), Some(dates)) => date_at(dates, share),
        (SplitAt::Share(share), None) => {
            let counts: Vec<f64> = recorded.tasks.iter().map(|rows| rows.len() as f64).collect();
            return Ok(Box::new(move |task, row| (row as f64) < share * counts[task]));
        }
    };
    let dates = recorded.dates.clone().unwrap_or_default();
    Ok(Box::new(move |task, row| dates[task][row] < date))
}

/// The first date of the second part, if the first part has this share of the dates.
fn date_at(dates: &[Vec<Date>], share: f64) -> Date {
    let mut all: Vec<Date> = dates.iter().flatten().copied().collect();
    all.sort_unstable();
    all.dedup();
    let place = (share * all.len() as f64).ceil() as usize;
    // Every task has rows, so there is a date.
    all[place.min(all.len() - 1)]
}

impl Divided {
    /// The plan from the first part and the spends of the first part, judged on the second.
    pub(super) fn judged(&self, replay: &Replay<'_>) -> Result<Holdout, Failure> {
        let problem = &self.fitted.problem;
        let values = problem.values().unwrap_or_default();
        let mut oracle = Oracle::new(problem);
        let options = Options { leftover: problem.leftover(), ..Options::default() };
        let plan = oracle.allocate(&values, problem.budget(), &options)?;
        let judged = |spend: &[f64]| {
            Splits::fixed(replay.problem, replay.record, replay.order, replay.rounds, spend)
        };
        let current: Option<Vec<f64>> = problem.tasks().iter().map(|task| task.current()).collect();
        let covers = |(task, spend): &(&Task, &f64)| task.extrapolates(**spend);
        let outside = problem.tasks().iter().zip(&plan.spend).filter(covers);
        Ok(Holdout {
            at: self.at.to_string(),
            first_rows: self.first_rows,
            second_rows: replay.record.len(),
            outside_data: outside.map(|(task, _)| task.name().to_owned()).collect(),
            plan: judged(&plan.spend),
            predicted: plan.value,
            current: current.map(|spend| judged(&spend)),
        })
    }

    /// Remarks on the fits of the first part.
    pub(super) fn remarks(&self) -> Vec<String> {
        let tasks = self.fitted.problem.tasks().iter().zip(&self.fitted.fits);
        let remark = |(task, fitted): (&Task, &Fitted)| {
            // Whether the plan extrapolates is reported with the plan.
            let is_news = |warning: &&Warning| !matches!(warning, Warning::Extrapolates { .. });
            let warnings: Vec<String> =
                fitted.warnings.iter().filter(is_news).map(ToString::to_string).collect();
            let name = one_line(task.name());
            (!warnings.is_empty()).then(|| format!("first part, {name}: {}", warnings.join("; ")))
        };
        tasks.filter_map(remark).collect()
    }
}
