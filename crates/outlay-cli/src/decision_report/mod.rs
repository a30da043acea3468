//! The report of a decision: one page of HTML that needs nothing else. What is spent before and
//! after, each task's curve with its point, marginal returns next to the price of budget, and what
//! other budgets would buy.
//!
//! [`DecisionPage`] is plain data that a command fills in; everything that is drawn follows from
//! it. The same data give the same bytes.

mod bars;
mod curves;
mod frontier;
mod frontier_page;
mod marginal;
mod shares;
mod shown;
mod table;
#[cfg(test)]
mod tests;
mod trace;

pub(crate) use frontier::{Frontier, around};
pub(crate) use frontier_page::FrontierPage;

use outlay::plan::TaskOutcome;
use outlay::{Bounds, Curve, Problem};

use crate::number::{self, Precision};
use crate::page::{Figure, document};
use crate::picture::Element;

/// A split that was chosen, next to what was spent before it.
#[derive(Debug)]
pub(crate) struct DecisionPage<'problem> {
    pub(crate) title: String,
    /// What was typed.
    pub(crate) command: String,
    /// What the text output says below its table, a line each.
    pub(crate) headline: Vec<String>,
    /// What the spends before are called: `current`, `plan`.
    pub(crate) before: &'static str,
    /// What the split is called: `best split`.
    pub(crate) after: &'static str,
    /// What a unit of budget is worth.
    pub(crate) price: f64,
    /// What the round may spend.
    pub(crate) budget: f64,
    pub(crate) precision: Precision,
    /// In the problem's order.
    pub(crate) tasks: Vec<TaskView<'problem>>,
    pub(crate) frontier: Frontier,
}

/// A task with what it gets.
#[derive(Debug)]
pub(crate) struct TaskView<'problem> {
    pub(crate) name: &'problem str,
    pub(crate) curve: &'problem Curve,
    pub(crate) bounds: Bounds,
    /// What a success counts for in the split: known, or a learner's index.
    pub(crate) value: f64,
    /// What it was given before, if that is known.
    pub(crate) before: Option<f64>,
    pub(crate) outcome: TaskOutcome,
    /// What a learner knows of it.
    pub(crate) learned: Option<Learned>,
}

/// What a learner knows of a task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Learned {
    /// The mean of the rewards seen; none before the first.
    pub(crate) mean: Option<f64>,
    /// What the index adds to the mean because little has been seen.
    pub(crate) bonus: Option<f64>,
    /// Rewards seen.
    pub(crate) completions: u64,
    /// How many the curves let expect for what was spent.
    pub(crate) expected_completions: f64,
}

impl<'problem> TaskView<'problem> {
    /// The tasks of a problem with their outcomes; `before` holds one spend a task, or none where
    /// nothing is known.
    pub(crate) fn all(
        problem: &'problem Problem,
        values: &[f64],
        before: &[Option<f64>],
        outcomes: &[TaskOutcome],
    ) -> Vec<Self> {
        let tasks = problem.tasks().iter().zip(values).zip(before).zip(outcomes);
        tasks
            .map(|(((task, &value), &before), outcome)| Self {
                name: task.name(),
                curve: task.curve(),
                bounds: task.bounds(),
                value,
                before,
                outcome: outcome.clone(),
                learned: None,
            })
            .collect()
    }

    /// The larger of what it got and what it gets: a task that loses everything matters as much as
    /// one that gains it.
    fn weight(&self) -> f64 {
        self.outcome.spend.max(self.before.unwrap_or(0.0))
    }

    /// The reward that was to be expected before.
    fn reward_before(&self) -> Option<f64> {
        self.before.map(|before| self.value * self.curve.success(before))
    }
}

impl DecisionPage<'_> {
    /// The whole page.
    pub(crate) fn html(&self) -> String {
        let figures = self.figures();
        let figures =
            Element::new("div").class("figures").children(figures.iter().map(Figure::element));
        let section = Element::new("section")
            .children(headline(&self.headline))
            .child(table::element(self))
            .child(figures);
        document(&self.title, &self.command, None, vec![section])
    }

    fn figures(&self) -> Vec<Figure> {
        let mut figures = vec![bars::figure(self), marginal::figure(self), curves::figure(self)];
        figures.extend(self.frontier.figures(self.before, self.after));
        figures
    }

    fn has_before(&self) -> bool {
        self.tasks.iter().any(|task| task.before.is_some())
    }
}

/// The lines that everybody reads.
fn headline(lines: &[String]) -> Vec<Element> {
    lines.iter().map(|line| Element::new("p").class("verdict").text(line)).collect()
}

/// A number for people, also where there is none.
fn digits(number: f64) -> String {
    if number.is_nan() {
        "–".to_owned()
    } else if number.is_infinite() {
        "∞".to_owned()
    } else {
        number::figure(number)
    }
}
