//! Figures of the frontier: optimal value and shadow price against the budget.

use outlay::{Allocation, Problem};

use crate::labels::Labels;
use crate::page::{Figure, LineChart};
use crate::svg::{Axis, Colour, Entry, Scale, Stroke, Swatch, dot, extent, ring, segment};

use super::bars::AFTER;
use super::curves::BEFORE;
use super::digits;
use crate::selection::thinned;

const VALUES: &str = "Optimal value at other budgets";
const PRICES: &str = "Shadow price: value of one more unit of budget";
/// Number of budgets below and above the given one.
const EACH_SIDE: usize = 10;
/// Largest number of points that are marked with dots.
const MAX_DOTS: usize = 40;
/// Largest number of points of a line.
const MAX_POINTS: usize = 500;
/// Relative gaps below this are not visible.
const VISIBLE_GAP: f64 = 1e-4;
/// Prices above this multiple of the median are cut off.
const HIGHEST: f64 = 5.0;

/// Optimal splits for several budgets, and the points to mark among them.
#[derive(Debug)]
pub struct Frontier {
    /// Optimal splits, by increasing budget.
    pub points: Vec<Allocation>,
    /// The requested budget.
    pub budget: Option<f64>,
    /// Budget and value of the chosen split.
    pub chosen: Option<(f64, f64)>,
    /// Total and value of the previous spends.
    pub before: Option<(f64, f64)>,
    /// The units.
    pub labels: Labels,
}

/// Twenty budgets for the frontier of a report, with `budget` as the tenth. They lie between the
/// sum of the tasks' lower bounds and twice the budget, or up to the spend `also` if that is
/// larger.
pub fn frontier_budgets(problem: &Problem, budget: f64, also: f64) -> Vec<f64> {
    let needed: f64 = problem.tasks().iter().map(|task| task.bounds().min).sum();
    let most = [2.0 * budget, also, 2.0 * needed]
        .into_iter()
        .filter(|most| most.is_finite())
        .fold(0.0, f64::max);
    // For a zero budget, use the problem's own as the upper end.
    let most = if most > budget { most } else { problem.budget() };
    let steps = |from: f64, to: f64| {
        (1..=EACH_SIDE).map(move |step| from + (to - from) * (step as f64 / EACH_SIDE as f64))
    };
    let below: Vec<f64> = if budget > needed {
        steps(needed, budget).take(EACH_SIDE - 1).collect()
    } else {
        Vec::new()
    };
    let below = below.into_iter().chain([budget]);
    below.chain(steps(budget, most)).filter(|budget| budget.is_finite()).collect()
}

impl Frontier {
    pub(super) fn figures(&self, before: &str, after: &str) -> Vec<Figure> {
        vec![self.values(before, after), self.prices()]
    }

    fn shown(&self) -> impl Iterator<Item = &Allocation> {
        thinned(self.points.len(), MAX_POINTS).into_iter().map(|position| &self.points[position])
    }

    /// The budget axis, which includes all marks.
    fn across(&self) -> Option<Axis> {
        let marked =
            [self.budget, self.chosen.map(|chosen| chosen.0), self.before.map(|before| before.0)];
        let (low, high) = extent(
            self.points.iter().map(|point| point.budget).chain(marked.into_iter().flatten()),
        )?;
        // Start at zero unless it is far away.
        let low = if low < 0.5 * high { 0.0 } else { low };
        Some(Axis::new(Scale::linear(low, high).padded(0.02), self.labels.money_axis("budget")))
    }

    fn has_band(&self) -> bool {
        self.points.iter().any(|point| point.gap() > VISIBLE_GAP)
    }

    fn values(&self, before: &str, after: &str) -> Figure {
        let heights = self.points.iter().flat_map(|point| [point.value, point.upper_bound]);
        let marked = [self.chosen, self.before].into_iter().flatten().map(|(_, value)| value);
        let (Some(across), Some((low, high))) = (self.across(), extent(heights.chain(marked)))
        else {
            return Figure::missing(VALUES, "No other budget was evaluated.");
        };
        let entry = |name: &str, swatch| Entry { name: name.to_owned(), swatch, series: None };
        let line = Stroke::plain(Colour::Ink, 1.6);
        let entries = [
            Some(entry(
                if self.has_band() { "best value found" } else { "best value" },
                Swatch::Line(line),
            )),
            self.has_band().then(|| entry("up to the bound", Swatch::Box(Colour::Others))),
            self.chosen.map(|_| entry(after, Swatch::Dot(AFTER))),
            self.before.map(|_| entry(before, Swatch::Ring(BEFORE))),
        ];
        let entries: Vec<Entry> = entries.into_iter().flatten().collect();
        let up = Scale::linear(low.min(0.0), high.max(0.0)).padded(0.06);
        let mut lines =
            LineChart::new(&entries, across, Axis::new(up, self.labels.reward_axis("value")));
        let points: Vec<(f64, f64)> =
            self.shown().map(|point| (point.budget, point.value)).collect();
        if self.has_band() {
            let band: Vec<_> =
                self.shown().map(|point| (point.budget, point.value, point.upper_bound)).collect();
            lines.draw(lines.frame().band(&band, Colour::Others, 0.45));
        }
        self.mark_budget(&mut lines);
        lines.draw(lines.frame().line(&points, line, "best value"));
        dots(&mut lines, &points);
        for (point, drawn) in [(self.before, ring as fn(_, _, _) -> _), (self.chosen, dot)] {
            let colour = if point == self.chosen { AFTER } else { BEFORE };
            if let Some(place) = point.and_then(|(budget, value)| lines.frame().at(budget, value)) {
                lines.draw(drawn(place, 4.5, colour));
            }
        }
        let below = self
            .before
            .map(|_| " The distance from the ring up to the line is the possible gain.".to_owned())
            .unwrap_or_default();
        let caption = format!(
            "The optimal split at each of {} budgets (small dots).{below}{}",
            self.points.len(),
            self.gap_sentence()
        );
        Figure::half(VALUES, "frontier", lines.picture("Optimal value against the budget"), caption)
    }

    fn gap_sentence(&self) -> String {
        let largest = self.points.iter().map(Allocation::gap).fold(0.0, f64::max);
        if self.has_band() {
            format!(
                " No split exceeds the upper bound; the values found are at most {} below it.",
                crate::number::percent(largest)
            )
        } else {
            " The values are optimal: the upper bounds coincide with the line.".to_owned()
        }
    }

    fn mark_budget(&self, lines: &mut LineChart) {
        let plot = lines.frame().plot();
        if let Some(x) = self.budget.and_then(|budget| lines.frame().x(budget)) {
            let line = Stroke { colour: Colour::Muted, width: 1.0, dash: "3 3" };
            lines.draw(segment((x, plot.top), (x, plot.top + plot.height), line));
        }
    }

    fn prices(&self) -> Figure {
        let prices = || self.points.iter().map(|point| point.price);
        let (Some(across), Some((_, largest))) = (self.across(), extent(prices())) else {
            return Figure::missing(PRICES, "No other budget was evaluated.");
        };
        let mut positive: Vec<f64> = prices().filter(|price| *price > 0.0).collect();
        positive.sort_by(f64::total_cmp);
        let middle = positive.get(positive.len() / 2).copied().unwrap_or(0.0);
        let (_, top) = extent(positive.into_iter().filter(|&price| price <= HIGHEST * middle))
            .unwrap_or((0.0, largest));
        let line = Stroke::plain(Colour::Series(1), 1.6);
        let entries =
            [Entry { name: "price".to_owned(), swatch: Swatch::Line(line), series: None }];
        let up = Scale::linear(0.0, top).padded(0.06);
        let title = format!("value per {}", self.labels.unit_of("budget"));
        let mut lines = LineChart::new(&entries, across, Axis::new(up, title));
        self.mark_budget(&mut lines);
        let points: Vec<(f64, f64)> =
            self.shown().map(|point| (point.budget, point.price)).collect();
        lines.draw(lines.frame().line(&points, line, "price"));
        dots(&mut lines, &points);
        let above = prices().filter(|&price| !(price <= up.high)).count();
        let above = match above {
            0 => String::new(),
            _ => format!(
                " At {above} of the budgets it exceeds the figure, up to {}.",
                digits(prices().fold(0.0, f64::max))
            ),
        };
        let caption = format!(
            "By the upper bound. It falls to zero where more budget does not increase the value, \
             and changes in steps where curves have jumps.{above}"
        );
        Figure::half(PRICES, "price", lines.picture("Shadow price against the budget"), caption)
    }
}

/// Dots at the computed points, if there are few.
fn dots(lines: &mut LineChart, points: &[(f64, f64)]) {
    if points.len() <= MAX_DOTS {
        for place in points.iter().filter_map(|&(x, y)| lines.frame().at(x, y)).collect::<Vec<_>>()
        {
            lines.draw(dot(place, 2.0, Colour::Muted));
        }
    }
}

#[cfg(test)]
mod tests {
    use outlay::{ProblemSpec, TaskSpec};

    use super::*;

    fn problem(min: f64) -> Problem {
        let task = TaskSpec {
            min: Some(min),
            ..TaskSpec::new("a", outlay::Curve::power(0.5, 100.0).unwrap())
        };
        ProblemSpec { budget: 100.0, tasks: vec![task], ..ProblemSpec::default() }.check().unwrap()
    }

    #[test]
    fn the_given_budget_is_among_those_around_it() {
        for (min, budget, also) in [
            (0.0, 100.0, 0.0),
            (30.0, 77.7, 0.0),
            (100.0, 100.0, 0.0),
            (0.0, 0.1, 500.0),
            (0.0, 0.0, 0.0),
            (20.0, 20.0, 5.0),
        ] {
            let budgets = frontier_budgets(&problem(min), budget, also);
            assert!(budgets.contains(&budget), "{budgets:?}");
            assert!(budgets.windows(2).all(|pair| pair[0] < pair[1]), "{budgets:?}");
            assert!(budgets[0] >= min && [11, 20].contains(&budgets.len()), "{budgets:?}");
            assert!(*budgets.last().unwrap() >= also.max(2.0 * budget));
        }
    }
}
