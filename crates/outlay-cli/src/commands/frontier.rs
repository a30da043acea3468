//! `outlay frontier`: optimal value and shadow price for a range of budgets.

use std::ops::ControlFlow;

use outlay::plan::{evenly_spaced, frontier, outcomes};
use outlay::{Allocation, Options, Problem, Status};
use serde::Serialize;

use crate::args::FrontierArgs;
use crate::commands::allocate::AllocationRecord;
use crate::failure::Failure;
use crate::input::limits::limited_problem;
use crate::input::problem_source;
use crate::input::values::values;
use crate::output::ReportFile;
use crate::output::command_line;
use crate::output::progress::{Work, with_progress};
use crate::output::table::{Align, Table};
use crate::output::{CommandOutput, Format, csv, json, without_underflow};
use outlay_report::decision::{Frontier, FrontierPage, frontier_budgets};
use outlay_report::labels::Labels;
use outlay_report::number::{self, Precision, figure};

pub(crate) fn run(arguments: &FrontierArgs, quiet: bool) -> Result<CommandOutput, Failure> {
    let file = ReportFile::new(arguments.solve.report.as_deref(), &[&arguments.solve.problem])?;
    let problem = limited_problem(&arguments.solve)?;
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
        Format::Table => table(&points, &Labels::of(&problem)),
        Format::Json => json(&Record::new(&problem, &values, &points))?,
        Format::Csv => csv(points.iter().flat_map(|point| splits(&problem, &values, point)))?,
    };
    let mut remarks = Vec::new();
    if let Some(file) = file {
        let page = FrontierPage {
            title: format!("{}: other budgets", problem_source::name(&arguments.solve.problem)),
            command: command_line::of_this_process(),
            problem: &problem,
            precision: precision(&points),
            frontier: Frontier {
                labels: Labels::of(&problem),
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
struct Record<'a> {
    points: Vec<PointRecord<'a>>,
}

#[derive(Serialize)]
struct PointRecord<'a> {
    #[serde(flatten)]
    allocation: AllocationRecord,
    tasks: Vec<TaskRow<'a>>,
}

impl<'a> Record<'a> {
    fn new(problem: &'a Problem, values: &[f64], points: &[Allocation]) -> Self {
        let point = |point: &Allocation| PointRecord {
            allocation: AllocationRecord::new(point, false),
            tasks: rows(problem, values, point).collect(),
        };
        Self { points: points.iter().map(point).collect() }
    }
}

/// The spend of one task at one budget.
#[derive(Serialize)]
struct TaskRow<'a> {
    task: &'a str,
    spend: f64,
    share: f64,
    success: f64,
    expected_completions: f64,
    expected_reward: f64,
    return_on_spend: Option<f64>,
    cost_per_completion: Option<f64>,
    #[serde(serialize_with = "without_underflow")]
    marginal_return: f64,
    bound: Option<&'static str>,
}

fn rows<'a>(
    problem: &'a Problem,
    values: &[f64],
    point: &Allocation,
) -> impl Iterator<Item = TaskRow<'a>> + use<'a> {
    let outcomes = outcomes(problem, values, point.budget, &point.spend, 0.0);
    problem.tasks().iter().zip(outcomes).map(|(task, outcome)| TaskRow {
        task: task.name(),
        spend: outcome.spend,
        share: outcome.share,
        success: outcome.success,
        expected_completions: outcome.completions,
        expected_reward: outcome.expected_reward,
        return_on_spend: outcome.return_on_spend,
        cost_per_completion: outcome.cost_per_completion,
        marginal_return: outcome.marginal_return,
        bound: outcome.bound.map(outlay::plan::BindingBound::as_str),
    })
}

/// A row of the CSV file: one budget and one task.
#[derive(Serialize)]
struct Split<'a> {
    budget: f64,
    value: f64,
    upper_bound: f64,
    #[serde(serialize_with = "without_underflow")]
    price: f64,
    status: Status,
    task: &'a str,
    spend: f64,
    share: f64,
    success: f64,
    expected_completions: f64,
    expected_reward: f64,
    return_on_spend: Option<f64>,
    cost_per_completion: Option<f64>,
    #[serde(serialize_with = "without_underflow")]
    marginal_return: f64,
    bound: Option<&'static str>,
}

fn splits<'a>(
    problem: &'a Problem,
    values: &[f64],
    point: &Allocation,
) -> impl Iterator<Item = Split<'a>> + use<'a> {
    let Allocation { budget, value, upper_bound, price, status, .. } = *point;
    rows(problem, values, point).map(move |row| Split {
        budget,
        value,
        upper_bound,
        price,
        status,
        task: row.task,
        spend: row.spend,
        share: row.share,
        success: row.success,
        expected_completions: row.expected_completions,
        expected_reward: row.expected_reward,
        return_on_spend: row.return_on_spend,
        cost_per_completion: row.cost_per_completion,
        marginal_return: row.marginal_return,
        bound: row.bound,
    })
}

fn table(points: &[Allocation], labels: &Labels) -> String {
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
    let unit = labels.money_in_brackets();
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
        "{}\nbudget{unit}, value{} and unspent{unit} {} · price: value of one more {}, by the upper bound\n",
        table.render(),
        labels.reward_in_brackets(),
        labels.per_period(),
        labels.unit_of("budget")
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
