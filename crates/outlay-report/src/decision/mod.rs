//! The report of a decision: spends before and after, each task's curve, marginal returns next to
//! the shadow price, and the values of other budgets.

mod bars;
mod curves;
mod frontier;
mod frontier_page;
mod marginal;
mod sentence;
mod shares;
mod table;
#[cfg(test)]
mod tests;
mod trace;

pub use frontier::{Frontier, frontier_budgets};
pub use frontier_page::FrontierPage;

use outlay::plan::TaskOutcome;
use outlay::{Bounds, Curve, Problem};

use crate::labels::Labels;
use crate::number::{self, Precision};
use crate::page::{Figure, document};
use crate::svg::Element;

/// A chosen split next to the previous spends.
#[derive(Debug)]
pub struct DecisionPage<'problem> {
    /// Title of the page.
    pub title: String,
    /// The command line that makes the page.
    pub command: String,
    /// Lines above the table.
    pub headline: Vec<String>,
    /// Name of the previous spends: `current`, `plan`.
    pub before: &'static str,
    /// Name of the split: `best split`.
    pub after: &'static str,
    /// Shadow price of the budget.
    pub price: f64,
    /// Budget of the round.
    pub budget: f64,
    /// Precision of amounts.
    pub precision: Precision,
    /// The units.
    pub labels: Labels,
    /// The tasks, in the order of the problem.
    pub tasks: Vec<TaskView<'problem>>,
    /// Values of other budgets.
    pub frontier: Frontier,
}

/// A task with its spend and expected outcome.
#[derive(Debug)]
pub struct TaskView<'problem> {
    /// Name of the task.
    pub name: &'problem str,
    /// Response curve.
    pub curve: &'problem Curve,
    /// Bounds of the spend.
    pub bounds: Bounds,
    /// Value of a completion in the split: known, or a learner's index.
    pub value: f64,
    /// Expected number of completions at success 1.
    pub volume: f64,
    /// Previous spend, if known.
    pub before: Option<f64>,
    /// Spend and expected outcome.
    pub outcome: TaskOutcome,
    /// A learner's estimate, if the values are learned.
    pub learned: Option<Learned>,
}

/// A learner's estimate of a task.
#[derive(Debug, Clone, Copy)]
pub struct Learned {
    /// Mean of the observed rewards, if there are any.
    pub mean: Option<f64>,
    /// Difference between index and mean: the exploration bonus.
    pub bonus: Option<f64>,
    /// Number of observed rewards.
    pub completions: u64,
    /// Number of completions of the log that the learner started from, and their mean reward.
    pub seen: Option<(u64, Option<f64>)>,
    /// Number of completions that the curve predicts for the spends.
    pub expected_completions: f64,
    /// Reported spend as a share of the allocated one, if spends were reported.
    pub delivered: Option<f64>,
}

impl<'problem> TaskView<'problem> {
    /// The tasks of a problem with their outcomes; `before` holds the known previous spends.
    pub fn all(
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
                volume: task.volume(),
                before,
                outcome: outcome.clone(),
                learned: None,
            })
            .collect()
    }

    /// The larger of the spends before and after, which ranks the tasks.
    fn weight(&self) -> f64 {
        self.outcome.spend.max(self.before.unwrap_or(0.0))
    }

    /// Expected reward of the previous spend.
    fn reward_before(&self) -> Option<f64> {
        self.before.map(|before| self.value * self.volume * self.curve.success(before))
    }
}

impl DecisionPage<'_> {
    /// The HTML of the page.
    pub fn html(&self) -> String {
        let figures = self.figures();
        let figures =
            Element::new("div").class("figures").children(figures.iter().map(Figure::element));
        let sentence =
            sentence::sentence(self).map(|text| Element::new("p").class("decision").text(&text));
        let section = Element::new("section")
            .children(sentence)
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

/// The lines above the table.
fn headline(lines: &[String]) -> Vec<Element> {
    lines.iter().map(|line| Element::new("p").class("verdict").text(line)).collect()
}

/// A number, or a symbol for NaN and infinity.
fn digits(number: f64) -> String {
    if number.is_nan() {
        "–".to_owned()
    } else if number.is_infinite() {
        "∞".to_owned()
    } else {
        number::figure(number)
    }
}
