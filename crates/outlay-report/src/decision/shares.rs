//! The split against the budget, one column per budget.

use outlay::{Allocation, Problem};

use crate::labels::Labels;
use crate::page::{Figure, WHOLE};
use crate::svg::{
    Area, Axis, Colour, Element, Entry, Frame, Picture, Scale, Stroke, Swatch, legend, rectangle,
};

use crate::number::{percent, plain};

use crate::selection::{heaviest, thinned};

const HEADING: &str = "Where each budget goes";
/// Number of tasks with their own colour.
const MAX_TASKS: usize = 8;
const MAX_COLUMNS: usize = 40;
const HEIGHT: f64 = 320.0;

pub(super) fn figure(problem: &Problem, points: &[Allocation]) -> Figure {
    let columns: Vec<&Allocation> =
        thinned(points.len(), MAX_COLUMNS).into_iter().map(|position| &points[position]).collect();
    let (Some(first), Some(last)) = (columns.first(), columns.last()) else {
        return Figure::missing(HEADING, "No budget was evaluated.");
    };
    if !(last.budget > 0.0) {
        return Figure::missing(HEADING, "There is no budget to split.");
    }
    let tasks = problem.tasks();
    let share = |point: &Allocation, task: usize| {
        if point.budget > 0.0 { point.spend[task] / point.budget } else { 0.0 }
    };
    let (mut named, hidden) = heaviest(tasks.len(), MAX_TASKS, |task| {
        columns.iter().map(|point| share(point, task)).sum()
    });
    named.sort_unstable();
    let entry = |name: String, colour| Entry { name, swatch: Swatch::Box(colour), series: None };
    let others = (hidden > 0).then(|| {
        entry(
            format!("others ({hidden} task{})", if hidden == 1 { "" } else { "s" }),
            Colour::Others,
        )
    });
    let entries: Vec<Entry> = named
        .iter()
        .enumerate()
        .map(|(layer, &task)| entry(tasks[task].name().to_owned(), Colour::Area(layer)))
        .chain(others)
        .collect();
    let (legend, top) = legend(&entries, 4.0, 0.0, WHOLE - 8.0);
    // Half a column of room at both ends.
    let step = (last.budget - first.budget) / (columns.len() - 1).max(1) as f64;
    let across = Scale {
        logarithmic: false,
        low: first.budget - 0.5 * step,
        high: last.budget + 0.5 * step,
    };
    let across = Axis::new(
        if step > 0.0 { across } else { Scale::linear(last.budget, last.budget) },
        Labels::of(problem).money_axis("budget"),
    );
    let up = Axis::new(Scale::linear(0.0, 1.0), "share of the budget").percent();
    let frame = Frame::new(Area { left: 0.0, top, width: WHOLE, height: HEIGHT }, across, up);
    let width = 0.86 * frame.plot().width / columns.len() as f64;
    let stacks = columns.iter().map(|point| {
        let layers = named
            .iter()
            .enumerate()
            .map(|(layer, &task)| (Colour::Area(layer), tasks[task].name(), share(point, task)));
        let rest: f64 = (0..tasks.len())
            .filter(|task| !named.contains(task))
            .map(|task| share(point, task))
            .sum();
        stack(&frame, point.budget, width, layers.chain([(Colour::Others, "others", rest)]))
    });
    let content = vec![legend, frame.axes(), Element::group().children(stacks)];
    let picture = Picture::new(WHOLE, top + HEIGHT, "Shares of the tasks at each budget", content);
    let thinned = if columns.len() < points.len() {
        format!(" {} of {} budgets are shown.", columns.len(), points.len())
    } else {
        String::new()
    };
    let caption = format!(
        "Each column is the best split of one budget; the gap at its top is unspent.{thinned}"
    );
    Figure::wide(HEADING, "shares", picture, caption)
}

/// One column, from the bottom up.
fn stack<'name>(
    frame: &Frame,
    budget: f64,
    width: f64,
    layers: impl Iterator<Item = (Colour, &'name str, f64)>,
) -> Element {
    let mut group = Element::group();
    let Some(middle) = frame.x(budget) else { return group };
    let mut below = 0.0;
    for (colour, name, share) in layers {
        let above = (below + share).min(1.0);
        if let (true, Some(top), Some(bottom)) = (above > below, frame.y(above), frame.y(below)) {
            let area = Area { left: middle - 0.5 * width, top, width, height: bottom - top };
            let said = format!("{name}: {} of {}", percent(share), plain(budget));
            let bar = rectangle(area, colour).stroke(Stroke::plain(Colour::Ground, 0.6));
            group = group.child(bar.child(Element::new("title").text(&said)));
        }
        below = above;
    }
    group
}
