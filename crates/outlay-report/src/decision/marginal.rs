//! Marginal returns of the tasks, next to the shadow price of the budget.

use crate::page::{Figure, HALF};
use crate::svg::{
    Area, Axis, Colour, Element, Entry, Frame, Picture, Scale, Stroke, Swatch, dot, extent, legend,
    ring, segment, small, width_of,
};

use super::bars::{AFTER, height, rows};
use super::trace::{jumps, kinks};
use super::{DecisionPage, TaskView, digits};
use crate::selection::left_out;

const HEADING: &str = "Marginal returns and the shadow price";
const PRICE: Stroke = Stroke { colour: Colour::Series(1), width: 1.6, dash: "6 4" };
const REACH: Stroke = Stroke { colour: Colour::Others, width: 3.0, dash: "" };
/// Returns above this multiple of the price are drawn at the edge, with an arrow.
const FARTHEST: f64 = 4.0;
/// Relative differences below this are not visible.
const SAME: f64 = 1e-3;

/// The reason why a task's marginal return may differ from the price, if there is one.
fn held_by(task: &TaskView<'_>) -> Option<String> {
    let spend = task.outcome.spend;
    let is_near = |place: &f64| (spend - place).abs() <= 1e-9 * place;
    if let Some(bound) = task.outcome.bound {
        return Some(bound.as_str().replace('_', " "));
    }
    if spend == 0.0 {
        return Some("gets nothing".to_owned());
    }
    if jumps(task.curve).is_some() {
        return Some("at a jump".to_owned());
    }
    kinks(task.curve).iter().any(is_near).then(|| "at a kink".to_owned())
}

/// Gain or loss per unit of larger changes, which marginal returns do not show for curves with
/// jumps.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Rates {
    /// Largest gain per unit of additional spend.
    more: Option<f64>,
    /// Smallest loss per unit of reduced spend.
    less: Option<f64>,
}

impl Rates {
    fn of(task: &TaskView<'_>) -> Self {
        Self { more: task.outcome.return_up, less: task.outcome.return_down }
    }
}

/// A row of the figure.
struct Row<'page> {
    task: &'page TaskView<'page>,
    held_by: Option<String>,
    rates: Option<Rates>,
}

impl<'page> Row<'page> {
    fn new(task: &'page TaskView<'page>) -> Self {
        let held_by = held_by(task);
        // At a bound, the bound is the reason.
        let is_free = held_by.is_some() && task.outcome.bound.is_none();
        Self { task, held_by, rates: is_free.then(|| Rates::of(task)) }
    }

    fn numbers(&self) -> impl Iterator<Item = f64> {
        let (more, less) = self.rates.map_or((None, None), |rates| (rates.more, rates.less));
        [Some(self.task.outcome.marginal_return), more, less].into_iter().flatten()
    }
}

pub(super) fn figure(page: &DecisionPage<'_>) -> Figure {
    let (positions, hidden) = rows(page);
    if positions.is_empty() {
        return Figure::missing(HEADING, "There are no tasks.");
    }
    let rows: Vec<Row<'_>> = positions.iter().map(|&task| Row::new(&page.tasks[task])).collect();
    let entry = |name: String, swatch| Entry { name, swatch, series: None };
    let entries = [
        rows.iter()
            .any(|row| row.held_by.is_none())
            .then(|| entry("inside its range".to_owned(), Swatch::Dot(AFTER))),
        rows.iter()
            .any(|row| row.held_by.is_some())
            .then(|| entry("held".to_owned(), Swatch::Ring(Colour::Muted))),
        Some(entry(format!("price {}", digits(page.price)), Swatch::Line(PRICE))),
        rows.iter()
            .any(|row| row.rates.is_some())
            .then(|| entry("larger changes".to_owned(), Swatch::Line(REACH))),
    ];
    let entries: Vec<Entry> = entries.into_iter().flatten().collect();
    let (legend, top) = legend(&entries, 4.0, 0.0, HALF - 8.0);
    let height = height(page, rows.len());
    let room = rows
        .iter()
        .filter_map(|row| row.held_by.as_deref())
        .map(|reason| width_of(reason, 11.0) + 4.0)
        .fold(0.0, f64::max);
    let names = rows.iter().map(|row| row.task.name.to_owned()).collect();
    let across = Axis::new(
        scale(page, &rows),
        format!("expected reward of one more {}", page.labels.unit_of("spend")),
    );
    let frame =
        Frame::new(Area { left: 0.0, top, width: HALF - room, height }, across, Axis::rows(names));
    let plot = frame.plot();
    let price =
        frame.x(page.price).map(|x| segment((x, plot.top), (x, plot.top + plot.height), PRICE));
    let marks = rows.iter().enumerate().map(|(place, row)| mark(&frame, place, row));
    let content = vec![
        legend,
        frame.axes(),
        Element::group().children(price),
        Element::group().children(marks),
    ];
    let picture = Picture::new(HALF, top + height, HEADING, content);
    Figure::half(
        HEADING,
        "marginal-returns",
        picture,
        format!("{}{}", caption(page, &rows), left_out(hidden)),
    )
}

/// The axis from zero; tasks far above the price are cut off.
fn scale(page: &DecisionPage<'_>, rows: &[Row<'_>]) -> Scale {
    let (_, largest) =
        extent(rows.iter().flat_map(Row::numbers).chain([page.price])).unwrap_or((0.0, 0.0));
    let most = if page.price > 0.0 { largest.min(FARTHEST * page.price) } else { largest };
    let scale = Scale::linear(0.0, most.max(0.0)).padded(0.06);
    // Keep dots at zero clear of the names.
    Scale { low: -0.03 * scale.high, ..scale }
}

/// The dot of one task, and the reason to its right.
fn mark(frame: &Frame, place: usize, row: &Row<'_>) -> Element {
    let marginal = row.task.outcome.marginal_return;
    let why = row.held_by.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let group = Element::group().child(Element::new("title").text(&format!(
        "{}: {}{why}",
        row.task.name,
        digits(marginal)
    )));
    let plot = frame.plot();
    let edge = plot.left + plot.width;
    let Some(y) = frame.y(place as f64 + 0.5) else { return group };
    let guide = segment((plot.left, y), (edge, y), Stroke::plain(Colour::Grid, 1.0));
    let reason = row.held_by.as_ref().map(|reason| small(HALF, y + 4.0, reason).anchor("end"));
    let group = group
        .child(guide)
        .children(row.rates.and_then(|rates| reach(frame, rates, marginal, y)))
        .children(reason);
    match (frame.x(marginal), &row.held_by) {
        (Some(x), None) => group.child(dot((x, y), 5.0, AFTER)),
        (Some(x), Some(_)) => group.child(ring((x, y), 4.5, Colour::Muted)),
        (None, _) => {
            let at = |x: f64, y: f64| format!("{x:.2},{y:.2}");
            let points = [at(edge - 9.0, y - 5.0), at(edge - 9.0, y + 5.0), at(edge, y)].join(" ");
            let arrow = Element::new("polygon").attribute("points", points).fill(Colour::Muted);
            group.children([arrow, small(edge - 4.0, y - 6.0, &digits(marginal)).anchor("end")])
        }
    }
}

/// The interval between gain and loss of larger changes; a zero spend has no loss.
fn reach(frame: &Frame, rates: Rates, marginal: f64, y: f64) -> Option<Element> {
    let plot = frame.plot();
    let x = |rate: f64| {
        if rate.is_finite() {
            frame.x(rate).unwrap_or(plot.left + plot.width)
        } else {
            plot.left + plot.width
        }
    };
    let (from, to) = match (rates.more, rates.less) {
        (Some(more), Some(less)) => (x(more), x(less)),
        (Some(more), None) => (x(marginal), x(more)),
        (None, Some(less)) => (x(less), plot.left + plot.width),
        (None, None) => return None,
    };
    Some(segment((from, y), (to, y), REACH))
}

/// The caption.
fn caption(page: &DecisionPage<'_>, rows: &[Row<'_>]) -> String {
    let inside: Vec<f64> = page
        .tasks
        .iter()
        .filter(|task| held_by(task).is_none())
        .map(|task| task.outcome.marginal_return)
        .collect();
    let near = |one: f64, other: f64| (one - other).abs() <= SAME * one.abs().max(other.abs());
    let first = match inside.first() {
        None => "No task is inside its range, so none needs to lie on the line.".to_owned(),
        Some(_) if inside.iter().all(|&one| near(one, page.price)) => {
            "Tasks inside their range lie on the line: their marginal returns equal the price."
                .to_owned()
        }
        Some(&common) if inside.iter().all(|&one| near(one, common)) => format!(
            "Tasks inside their range have the same marginal return, {}. The price of the upper \
             bound is {}; the two differ because some curves are not concave.",
            digits(common),
            digits(page.price)
        ),
        Some(_) => {
            "The marginal returns of tasks inside their range differ: spends were rounded, were \
             not chosen by the price, or the search stopped within its tolerance."
                .to_owned()
        }
    };
    let mut sentences = vec![first];
    if inside.len() < page.tasks.len() {
        sentences.push(
            "The reason why a task is held is given to its right: a bound, a jump or a kink of \
             the curve, or a zero spend."
                .to_owned(),
        );
    }
    if rows.iter().any(|row| row.rates.is_some()) {
        let grey = "Grey lines show larger changes: from the largest gain per unit of additional \
                    spend to the smallest loss per unit of reduced spend. At a price in between, \
                    neither pays. A task with zero spend has only the gain.";
        sentences.push(grey.to_owned());
    }
    sentences.join(" ")
}

#[cfg(test)]
mod tests {
    use outlay::plan::outcomes;
    use outlay::{Curve, Problem, ProblemSpec, TaskSpec};

    use super::*;

    fn problem(task: TaskSpec) -> Problem {
        ProblemSpec { budget: 100.0, tasks: vec![task], ..ProblemSpec::default() }.check().unwrap()
    }

    /// A task with this spend, whose success has the value 0.5.
    fn view(problem: &Problem, spend: f64) -> TaskView<'_> {
        TaskView::all(problem, &[0.5], &[None], &outcomes(problem, &[0.5], 100.0, &[spend], 0.0))
            .remove(0)
    }

    #[test]
    fn rates_look_at_every_jump() {
        let task = TaskSpec::new(
            "steps",
            Curve::steps(vec![10.0, 20.0, 40.0], vec![0.2, 0.6, 1.0]).unwrap(),
        );
        let problem = problem(task);
        let rates = |spend| Rates::of(&view(&problem, spend));
        // From 20: up 0.4 for 20 more; down 0.4 for 10 less, or all 0.6 for 20 less.
        assert_eq!(
            rates(20.0),
            Rates { more: Some(0.5 * 0.4 / 20.0), less: Some(0.5 * 0.6 / 20.0) }
        );
        // From zero the second step gains most per unit.
        assert_eq!(rates(0.0), Rates { more: Some(0.5 * 0.6 / 20.0), less: None });
    }

    #[test]
    fn rates_keep_to_the_bounds() {
        let curve = || Curve::steps(vec![10.0, 20.0, 40.0], vec![0.2, 0.6, 1.0]).unwrap();
        let capped = problem(TaskSpec {
            min: Some(10.0),
            max: Some(30.0),
            ..TaskSpec::new("capped", curve())
        });
        // No further steps below 30, and spends below 10 are not allowed.
        let rates = Rates::of(&view(&capped, 20.0));
        assert!(
            rates.more == Some(0.0) && (rates.less.unwrap() - 0.5 * 0.4 / 10.0).abs() < 1e-15,
            "{rates:?}"
        );
        let large = problem(TaskSpec { at_least: Some(30.0), ..TaskSpec::new("large", curve()) });
        assert_eq!(Rates::of(&view(&large, 0.0)).more, Some(0.5 / 40.0));
    }

    #[test]
    fn inside_a_concave_curve_both_rates_are_the_slope() {
        let problem = problem(TaskSpec::new("power", Curve::power(0.5, 100.0).unwrap()));
        let task = view(&problem, 30.0);
        let Rates { more: Some(more), less: Some(less) } = Rates::of(&task) else {
            panic!("no rates")
        };
        let slope = task.outcome.marginal_return;
        assert!(
            more <= slope && slope <= less && less - more < 0.05 * slope,
            "{more} {slope} {less}"
        );
        assert_eq!(held_by(&task), None);
    }

    #[test]
    fn the_binding_reason_is_named() {
        let piecewise = Curve::piecewise(vec![0.0, 10.0, 20.0], vec![0.0, 0.7, 0.8]).unwrap();
        let kinked = problem(TaskSpec { max: Some(15.0), ..TaskSpec::new("kinked", piecewise) });
        let held = |spend| held_by(&view(&kinked, spend)).unwrap_or_default();
        assert_eq!([0.0, 5.0, 10.0, 15.0].map(held), ["gets nothing", "", "at a kink", "max"]);
        let stepped = problem(TaskSpec::new("stepped", Curve::threshold(10.0).unwrap()));
        assert_eq!(held_by(&view(&stepped, 10.0)).unwrap(), "at a jump");
    }
}
