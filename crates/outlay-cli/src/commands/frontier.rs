//! `outlay frontier`: optimal value and shadow price for a range of budgets.

use std::ops::ControlFlow;

use outlay::plan::{evenly_spaced, frontier};
use outlay::{Allocation, Options, Problem};
use serde::Serialize;

use crate::args::FrontierArgs;
use crate::commands::allocate::AllocationRecord;
use crate::failure::Failure;
use crate::input::problem_source;
use crate::input::values::values;
use crate::output::ReportFile;
use crate::output::command_line;
use crate::output::progress::{Work, with_progress};
use crate::output::table::{Align, Table};
use crate::output::{CommandOutput, Format, csv, json};
use outlay_report::decision::{Frontier, FrontierPage, frontier_budgets};
use outlay_report::number::{self, Precision, figure};

pub(crate) fn run(arguments: &FrontierArgs, quiet: bool) -> Result<CommandOutput, Failure> {
    let file = ReportFile::new(arguments.solve.report.as_deref(), &[&arguments.solve.problem])?;
    let problem = problem_source::problem(&arguments.solve.problem)?;
    let values = values(&problem, arguments.solve.values.as_deref())?;
    let budgets = budgets(arguments, &problem)?;
    let options = arguments.solve.options(&problem);
    let work = Work::equal_steps("budgets", budgets.len());
    let points = with_progress(work, quiet, |progress| {
        frontier(&problem, &values, &budgets, &options, |_| {
            progress.step();
            ControlFlow::Continue(())
        })
    })?;
    let result = match arguments.solve.format {
        Format::Table => table(&points),
        Format::Json => json(&Record { points: points.iter().map(record).collect() })?,
        Format::Csv => csv(points.iter().map(record))?,
    };
    let mut remarks = Vec::new();
    if let Some(file) = file {
        let page = FrontierPage {
            title: format!("{}: other budgets", problem_source::name(&arguments.solve.problem)),
            command: command_line::of_this_process(),
            problem: &problem,
            precision: precision(&points),
            frontier: Frontier {
                budget: within(&points, problem.budget()),
                points,
                chosen: None,
                before: None,
            },
        };
        remarks.push(file.write(&page.html())?);
    }
    Ok(CommandOutput::new(result).with_remarks(remarks))
}

/// The optimal splits for budgets around `budget`, for a report; `also` is a total that the budgets
/// should reach, or zero.
pub(super) fn around(
    problem: &Problem,
    values: &[f64],
    (budget, also): (f64, f64),
    options: &Options,
    quiet: bool,
) -> Result<Vec<Allocation>, Failure> {
    let budgets = frontier_budgets(problem, budget, also);
    let work = Work::equal_steps("budgets of the report", budgets.len());
    let points = with_progress(work, quiet, |progress| {
        frontier(problem, values, &budgets, options, |_| {
            progress.step();
            ControlFlow::Continue(())
        })
    })?;
    Ok(points)
}

fn budgets(arguments: &FrontierArgs, problem: &Problem) -> Result<Vec<f64>, Failure> {
    let needed: f64 = problem.tasks().iter().map(|task| task.bounds().min).sum();
    let from = arguments.from.unwrap_or((problem.budget() / 10.0).max(needed));
    let to = arguments.to.unwrap_or(2.0 * problem.budget());
    if from >= to {
        return Err(Failure(format!("--from {from} must be less than --to {to}")));
    }
    Ok(evenly_spaced(from, to, arguments.points as usize))
}

#[derive(Serialize)]
struct Record {
    points: Vec<AllocationRecord>,
}

fn record(allocation: &Allocation) -> AllocationRecord {
    AllocationRecord::new(allocation, false)
}

fn table(points: &[Allocation]) -> String {
    use Align::{Left, Right};
    let precision = precision(points);
    let best = points.iter().map(|point| point.value).fold(0.0, f64::max);
    let mut table = Table::new(&[
        ("budget", Right),
        ("value", Right),
        ("price", Right),
        ("unspent", Right),
        ("gap", Left),
        ("", Left),
    ]);
    for point in points {
        table.row(vec![
            precision.amount(point.budget),
            figure(point.value),
            number::price(point.price, point.budget, point.value),
            precision.amount(point.unspent),
            number::gap(point.gap()),
            bar(point.value, best),
        ]);
    }
    format!(
        "{}\nbudget, value and unspent per round · price: value of one more unit of budget, by the upper bound\n",
        table.render()
    )
}

fn precision(points: &[Allocation]) -> Precision {
    let largest = points.last().map_or(0.0, |point| point.budget);
    Precision::of_amounts(largest, points.iter().flat_map(|point| [point.budget, point.unspent]))
}

/// The problem's own budget, if it is in the range.
fn within(points: &[Allocation], budget: f64) -> Option<f64> {
    let (first, last) = (points.first()?.budget, points.last()?.budget);
    (first..=last).contains(&budget).then_some(budget)
}

/// A bar whose length shows the value.
fn bar(value: f64, best: f64) -> String {
    const WIDTH: f64 = 30.0;
    if best > 0.0 { "█".repeat((WIDTH * value / best).round() as usize) } else { String::new() }
}
