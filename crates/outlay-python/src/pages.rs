//! HTML reports of allocations, plans and frontiers, as the command line writes them.

use std::ops::ControlFlow;

use outlay::plan::{frontier, outcomes, value_of};
use outlay::{Options, Problem, Task};
use outlay_report::decision::{DecisionPage, Frontier, FrontierPage, TaskView, frontier_budgets};
use outlay_report::labels::Labels;
use outlay_report::number::Precision;
use pyo3::prelude::*;

use crate::errors;

/// A chosen allocation beside the spends before it.
pub(crate) struct Chosen<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) values: &'a [f64],
    pub(crate) allocation: &'a outlay::Allocation,
    /// The plan; without one, the current spends.
    pub(crate) plan: Option<&'a [f64]>,
    /// The unit of rounding, or zero.
    pub(crate) unit: f64,
}

/// The page of an allocation.
pub(crate) fn decision(
    chosen: &Chosen<'_>,
    title: String,
    headline: Vec<String>,
) -> PyResult<String> {
    let Chosen { problem, values, allocation, plan, unit } = *chosen;
    let before: Vec<Option<f64>> = match plan {
        Some(plan) => plan.iter().copied().map(Some).collect(),
        None => problem.tasks().iter().map(Task::current).collect(),
    };
    let all_before = before.iter().copied().collect::<Option<Vec<f64>>>();
    let totals = all_before.map(|spend| (spend.iter().sum(), value_of(problem, values, &spend)));
    let also = totals.map_or(0.0, |(total, _): (f64, f64)| total);
    let options = Options { leftover: problem.leftover(), ..Options::default() };
    let budgets = frontier_budgets(problem, allocation.budget, also);
    let points = frontier(problem, values, &budgets, &options, |_| ControlFlow::Continue(()))
        .map_err(|error| errors::allocation(&error))?;
    let outcomes = outcomes(problem, values, allocation.budget, &allocation.spend, unit);
    let amounts = allocation.spend.iter().copied().chain(before.iter().flatten().copied());
    let page = DecisionPage {
        title,
        command: "made with outlay in Python".to_owned(),
        headline,
        before: if plan.is_some() { "plan" } else { "current" },
        after: "best split",
        price: allocation.price,
        budget: allocation.budget,
        precision: Precision::of_amounts(allocation.budget, amounts),
        tasks: TaskView::all(problem, values, &before, &outcomes),
        labels: Labels::of(problem),
        frontier: Frontier {
            labels: Labels::of(problem),
            points,
            budget: Some(allocation.budget),
            chosen: Some((allocation.budget, allocation.value)),
            before: totals,
        },
    };
    Ok(page.html())
}

/// The page of a frontier.
pub(crate) fn budgets(problem: &Problem, points: Vec<outlay::Allocation>, title: String) -> String {
    let largest = points.iter().map(|point| point.budget).fold(0.0, f64::max);
    let amounts: Vec<f64> = points.iter().map(|point| point.budget).collect();
    let own = problem.budget();
    let is_within = amounts.first().zip(amounts.last());
    let budget = is_within.is_some_and(|(low, high)| *low <= own && own <= *high).then_some(own);
    FrontierPage {
        title,
        command: "made with outlay in Python".to_owned(),
        problem,
        precision: Precision::of_amounts(largest, amounts.into_iter()),
        frontier: Frontier {
            points,
            budget,
            chosen: None,
            before: None,
            labels: Labels::of(problem),
        },
    }
    .html()
}
