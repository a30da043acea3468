//! `outlay frontier`: what other budgets would buy.

use std::ops::ControlFlow;

use outlay::plan::{evenly_spaced, frontier};
use outlay::{Allocation, Problem, Status};
use serde::Serialize;

use crate::allocate::unspent_reason;
use crate::arguments::FrontierArguments;
use crate::console::Progress;
use crate::decision_report::{Frontier, FrontierPage};
use crate::failure::Failure;
use crate::number::{self, Precision, figure};
use crate::origin;
use crate::page::ReportFile;
use crate::report::{Format, Report, csv, json};
use crate::shell;
use crate::table::{Align, Table};
use crate::values::values;

pub(crate) fn run(arguments: &FrontierArguments, quiet: bool) -> Result<Report, Failure> {
    let file = ReportFile::new(arguments.solve.report.as_deref(), &[&arguments.solve.problem])?;
    let problem = origin::problem(&arguments.solve.problem)?;
    let values = values(&problem, arguments.solve.values.as_deref())?;
    let budgets = budgets(arguments, &problem)?;
    let mut progress = Progress::new("budgets", budgets.len(), quiet);
    let points = frontier(&problem, &values, &budgets, &arguments.solve.options(&problem), |_| {
        progress.step();
        ControlFlow::Continue(())
    })?;
    drop(progress);
    let result = match arguments.solve.format {
        Format::Table => table(&points),
        Format::Json => json(&Record { points: points.iter().map(Point::new).collect() })?,
        Format::Csv => csv(points.iter().map(Point::new))?,
    };
    let mut remarks = Vec::new();
    if let Some(file) = file {
        let page = FrontierPage {
            title: format!("{}: other budgets", origin::name(&arguments.solve.problem)),
            command: shell::typed(),
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
    Ok(Report::new(result).with_remarks(remarks))
}

fn budgets(arguments: &FrontierArguments, problem: &Problem) -> Result<Vec<f64>, Failure> {
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
    points: Vec<Point>,
}

#[derive(Serialize)]
struct Point {
    budget: f64,
    value: f64,
    upper_bound: f64,
    gap: f64,
    price: f64,
    status: Status,
    unspent: f64,
    unspent_reason: Option<&'static str>,
}

impl Point {
    fn new(allocation: &Allocation) -> Self {
        Self {
            budget: allocation.budget,
            value: allocation.value,
            upper_bound: allocation.upper_bound,
            gap: allocation.gap(),
            price: allocation.price,
            status: allocation.status,
            unspent: allocation.unspent,
            unspent_reason: unspent_reason(allocation, false),
        }
    }
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
            figure(point.price),
            precision.amount(point.unspent),
            number::gap(point.gap()),
            bar(point.value, best),
        ]);
    }
    format!(
        "{}\nbudget, value and unspent per round · price: what one more unit of budget is worth, by the bound on the best value\n",
        table.render()
    )
}

fn precision(points: &[Allocation]) -> Precision {
    let largest = points.last().map_or(0.0, |point| point.budget);
    Precision::of_amounts(largest, points.iter().flat_map(|point| [point.budget, point.unspent]))
}

/// The problem's own budget, if it is among those looked at.
fn within(points: &[Allocation], budget: f64) -> Option<f64> {
    let (first, last) = (points.first()?.budget, points.last()?.budget);
    (first..=last).contains(&budget).then_some(budget)
}

/// The value as a length, so that the bend can be seen.
fn bar(value: f64, best: f64) -> String {
    const WIDTH: f64 = 30.0;
    if best > 0.0 { "█".repeat((WIDTH * value / best).round() as usize) } else { String::new() }
}
