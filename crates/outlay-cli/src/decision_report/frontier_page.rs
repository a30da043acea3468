//! The report of `frontier`: a row a budget, value and price against the budget, and how the split
//! changes.

use outlay::{Allocation, Problem};

use crate::number::{self, Precision};
use crate::page::{Figure, document};
use crate::picture::Element;

use super::shown::thinned;
use super::{Frontier, digits, headline, shares};

/// More rows than this are for programs.
const MOST_ROWS: usize = 50;

/// What a range of budgets would buy.
#[derive(Debug)]
pub(crate) struct FrontierPage<'problem> {
    pub(crate) title: String,
    /// What was typed.
    pub(crate) command: String,
    pub(crate) problem: &'problem Problem,
    pub(crate) precision: Precision,
    pub(crate) frontier: Frontier,
}

type Column = (&'static str, &'static str, fn(&FrontierPage<'_>, &Allocation) -> String);

/// As the text output has them, with the bound; docs/reports.md tells of each.
pub(super) const COLUMNS: [Column; 6] = [
    ("budget", "What a round may spend.", |page, point| page.precision.amount(point.budget)),
    ("value", "Expected reward of a round with the best split.", |_, point| digits(point.value)),
    ("upper bound", "No split is worth more.", |_, point| digits(point.upper_bound)),
    ("gap", "How far the value may be from the best, as a share of the bound.", |_, point| {
        number::gap(point.gap())
    }),
    ("price", "What one more unit of budget is worth, by the bound.", |_, point| {
        digits(point.price)
    }),
    ("unspent", "Budget that buys nothing.", |page, point| page.precision.amount(point.unspent)),
];

impl FrontierPage<'_> {
    /// The whole page.
    pub(crate) fn html(&self) -> String {
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
        vec![format!(
            "{} budgets from {} to {} per round · value {} to {} per round · price {} to {} per unit · largest gap {}",
            points.len(),
            number::plain(first.budget),
            number::plain(last.budget),
            digits(first.value),
            digits(last.value),
            digits(first.price),
            digits(last.price),
            number::gap(gap)
        )]
    }

    fn table(&self) -> Element {
        let points = &self.frontier.points;
        let shown = thinned(points.len(), MOST_ROWS);
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
