//! Bars of the spends before and after, two per task.

use crate::page::{Figure, HALF};
use crate::svg::{
    Area, Axis, Colour, Element, Entry, Frame, Picture, Scale, Swatch, legend, rectangle, small,
    width_of,
};

use super::{DecisionPage, TaskView};
use crate::selection::{heaviest, left_out};

/// Largest number of rows. The figure of marginal returns has the same rows.
pub(super) const MAX_ROWS: usize = 20;

pub(super) const BEFORE: Colour = Colour::Others;
pub(super) const AFTER: Colour = Colour::Series(0);

/// Between the plot and the numbers to its right.
const GAP: f64 = 4.0;

/// The tasks that are shown, by descending spend, and the number of tasks left out.
pub(super) fn rows(page: &DecisionPage<'_>) -> (Vec<usize>, usize) {
    let (mut rows, hidden) = heaviest(page.tasks.len(), MAX_ROWS, |task| page.tasks[task].weight());
    // The sort is stable: equal spends stay in the order of the previous spends.
    rows.sort_by(|&one, &other| {
        page.tasks[other].outcome.spend.total_cmp(&page.tasks[one].outcome.spend)
    });
    (rows, hidden)
}

/// Height of the frame for a number of rows.
pub(super) fn height(page: &DecisionPage<'_>, rows: usize) -> f64 {
    (if page.has_before() { 34.0 } else { 24.0 }) * rows as f64 + 45.0
}

pub(super) fn figure(page: &DecisionPage<'_>) -> Figure {
    let has_before = page.has_before();
    let heading = if has_before { "Before and after" } else { "Where the budget goes" };
    let (rows, hidden) = rows(page);
    let most = rows.iter().map(|&task| page.tasks[task].weight()).fold(0.0, f64::max);
    if !(most > 0.0) {
        return Figure::missing(heading, "Nothing is spent.");
    }
    let entry = |name: &str, colour| Entry {
        name: name.to_owned(),
        swatch: Swatch::Box(colour),
        series: None,
    };
    let entries = [has_before.then(|| entry(page.before, BEFORE)), Some(entry(page.after, AFTER))];
    let (legend, top) =
        legend(&entries.into_iter().flatten().collect::<Vec<_>>(), 4.0, 0.0, HALF - 8.0);
    let numbers = rows
        .iter()
        .flat_map(|&task| [Some(page.tasks[task].outcome.spend), page.tasks[task].before])
        .flatten();
    let room =
        numbers.map(|amount| width_of(&page.precision.amount(amount), 11.0)).fold(0.0, f64::max)
            + GAP;
    let height = height(page, rows.len());
    let across = Axis::new(Scale::linear(0.0, most).padded(0.02), page.labels.money_axis("spend"));
    let names = rows.iter().map(|&task| page.tasks[task].name.to_owned()).collect();
    let frame =
        Frame::new(Area { left: 0.0, top, width: HALF - room, height }, across, Axis::rows(names));
    let bars =
        rows.iter().enumerate().map(|(row, &task)| pair(page, &frame, row, &page.tasks[task]));
    let bars = Element::group().children(bars);
    let picture = Picture::new(HALF, top + height, heading, vec![legend, frame.axes(), bars]);
    let order = if has_before {
        "Spend of each task, the largest first, below its previous spend."
    } else {
        "Spend of each task, the largest first."
    };
    Figure::half(heading, "spends", picture, format!("{order}{}", left_out(hidden)))
}

/// The bars of one task, with numbers to the right.
fn pair(page: &DecisionPage<'_>, frame: &Frame, row: usize, task: &TaskView<'_>) -> Element {
    let spend = task.outcome.spend;
    let said = match task.before {
        Some(before) => format!(
            "{}: {} → {}",
            task.name,
            page.precision.amount(before),
            page.precision.amount(spend)
        ),
        None => format!("{}: {}", task.name, page.precision.amount(spend)),
    };
    let group = Element::group().child(Element::new("title").text(&said));
    let Some(middle) = frame.y(row as f64 + 0.5) else { return group };
    // The upper, thinner bar is the previous spend.
    let shift = if page.has_before() { 1.0 } else { -6.5 };
    let before = task.before.map(|before| bar(page, frame, before, (middle - 11.0, 9.0), BEFORE));
    group.children(before.into_iter().flatten()).children(bar(
        page,
        frame,
        spend,
        (middle + shift, 13.0),
        AFTER,
    ))
}

fn bar(
    page: &DecisionPage<'_>,
    frame: &Frame,
    amount: f64,
    (top, height): (f64, f64),
    colour: Colour,
) -> Vec<Element> {
    let left = frame.plot().left;
    let Some(end) = frame.x(amount) else { return Vec::new() };
    // A zero spend is drawn as a thin line.
    let bar = rectangle(Area { left, top, width: (end - left).max(1.0), height }, colour);
    let text = small(HALF, top + 0.5 * height + 4.0, &page.precision.amount(amount)).anchor("end");
    let text = if colour == AFTER { text.fill(Colour::Ink) } else { text };
    vec![bar, text]
}
