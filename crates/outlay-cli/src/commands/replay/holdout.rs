//! `--split-at`: curves and values are fitted to the first part of the rows, and the plan from them
//! is judged on the second part.

use outlay::Problem;
use outlay::fit::Options;
use outlay::replay::{FittedProblem, Replay, TaskRows, fit_rows};
use outlay::text::{listed, one_line};
use outlay_report::replay::{Holdout, fit_remarks};

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
    let options = Options { budget: Some(problem.budget()), ..Options::default() };
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
        Ok(Holdout::new(self.at.to_string(), self.first_rows, &self.fitted, replay)?)
    }

    /// Remarks on the fits of the first part.
    pub(super) fn remarks(&self) -> Vec<String> {
        fit_remarks(&self.fitted)
    }
}
