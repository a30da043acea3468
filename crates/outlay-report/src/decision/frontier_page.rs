//! The report of `frontier`: one row per budget, value and price against the budget, and the split.

use outlay::{Allocation, Problem};

use crate::number::{self, Precision};
use crate::page::{Figure, document};
use crate::svg::Element;

use super::{Frontier, digits, headline, shares};
use crate::selection::thinned;

/// Largest number of rows in the table.
const MAX_ROWS: usize = 50;

/// Optimal splits for a range of budgets.
#[derive(Debug)]
pub struct FrontierPage<'problem> {
    /// Title of the page.
    pub title: String,
    /// The command line that makes the page.
    pub command: String,
    /// The problem.
    pub problem: &'problem Problem,
    /// Precision of amounts.
    pub precision: Precision,
    /// The optimal splits.
    pub frontier: Frontier,
}

type Column = (&'static str, &'static str, fn(&FrontierPage<'_>, &Allocation) -> String);

/// The columns of the text output and the upper bound; docs/how-to/reports.md describes each.
pub(super) const COLUMNS: [Column; 6] = [
    ("budget", "Budget of one round.", |page, point| page.precision.amount(point.budget)),
    ("value", "Expected reward per round of the best split.", |_, point| digits(point.value)),
    ("upper bound", "Upper bound on the value of any split.", |_, point| digits(point.upper_bound)),
    ("gap", "Relative optimality gap.", |_, point| number::gap(point.gap())),
    ("price", "Shadow price: value of one more unit of budget, by the bound.", |_, point| {
        number::price(point.price, point.budget, point.value)
    }),
    ("unspent", "Budget that would not increase the value.", |page, point| {
        page.precision.amount(point.unspent)
    }),
];

impl FrontierPage<'_> {
    /// The HTML of the page.
    pub fn html(&self) -> String {
        let mut figures = self.frontier.figures("", "");
        figures.push(shares::figure(self.problem, &self.frontier.points));
        let figures =
            Element::new("div").class("figures").children(figures.iter().map(Figure::element));
        let section = Element::new("section")
            .children(headline(&self.headline()))
            .child(figures)
            .child(self.table());
        document(&self.title, &self.command, None, vec![section])
    }

    fn headline(&self) -> Vec<String> {
        let points = &self.frontier.points;
        let (Some(first), Some(last)) = (points.first(), points.last()) else { return Vec::new() };
        let gap = points.iter().map(Allocation::gap).fold(0.0, f64::max);
        let labels = &self.frontier.labels;
        let period = labels.per_period();
        vec![format!(
            "{} budgets from {} to {} {period} · value {} to {} {period} · price {} to {} per {} \
             · largest gap {}",
            points.len(),
            number::plain(first.budget),
            labels.money(&number::plain(last.budget)),
            digits(first.value),
            labels.reward(&digits(last.value)),
            digits(first.price),
            digits(last.price),
            labels.unit(),
            number::gap(gap)
        )]
    }

    fn table(&self) -> Element {
        let points = &self.frontier.points;
        let shown = thinned(points.len(), MAX_ROWS);
        let head = COLUMNS.iter().map(|(name, about, _)| {
            Element::new("th").class("number").attribute("title", *about).text(name)
        });
        let row = |&position: &usize| {
            let cell = |(_, _, text): &Column| {
                Element::new("td").class("number").text(&text(self, &points[position]))
            };
            Element::new("tr").children(COLUMNS.iter().map(cell))
        };
        let table = Element::new("table")
            .child(Element::new("thead").child(Element::new("tr").children(head)))
            .child(Element::new("tbody").children(shown.iter().map(row)));
        let hidden = points.len() - shown.len();
        let hidden = (hidden > 0).then(|| {
            Element::new("p")
                .text(&format!("{hidden} budgets are not shown; --format csv lists all"))
        });
        Element::new("div")
            .class("summary")
            .child(Element::new("div").class("scroll").child(table))
            .children(hidden)
    }
}
