//! Stacked shares of the spend over rounds, one panel per learner, next to the optimal split.

use outlay::simulation::Summary;

use crate::page::{Figure, WHOLE};
use crate::svg::{
    AREAS, Area, Axis, Colour, Element, Entry, Frame, Picture, Scale, Stroke, Swatch, TEXT, legend,
    rectangle, segment, shorten, small,
};

use super::series::{LearnerSeries, rounds};

const HEADING: &str = "Where the budget went";
const PANEL_HEIGHT: f64 = 250.0;
const TITLE_HEIGHT: f64 = 20.0;
/// The column of the best split.
const BEST_WIDTH: f64 = 22.0;
const BEST_ROOM: f64 = 40.0;

pub(super) fn figure(summary: &Summary, learners: &[LearnerSeries<'_>]) -> Figure {
    let with_shares: Vec<&LearnerSeries<'_>> =
        learners.iter().filter(|learner| !learner.result.shares.is_empty()).collect();
    let Some(across) = rounds(learners).filter(|_| !with_shares.is_empty()) else {
        return Figure::missing(HEADING, "Shares of the budget are not kept for this many tasks.");
    };
    let stack = Stack::of(summary, &with_shares);
    let (legend, top) = legend(&stack.entries(summary), 4.0, 0.0, WHOLE - 8.0);
    let columns = with_shares.len().clamp(1, 3);
    let width = WHOLE / columns as f64;
    let mut content = vec![legend];
    for (place, learner) in with_shares.iter().enumerate() {
        let (column, row) = (place % columns, place / columns);
        let outer = Area {
            left: column as f64 * width,
            top: top + row as f64 * PANEL_HEIGHT,
            width: width - 12.0,
            height: PANEL_HEIGHT,
        };
        content.push(panel(learner, &stack, across, outer));
    }
    let height = top + with_shares.len().div_ceil(columns) as f64 * PANEL_HEIGHT;
    let picture = Picture::new(WHOLE, height, "Shares of the spend per task over rounds", content);
    let best =
        if stack.best.is_some() { "; the column to the right is the best split" } else { "" };
    Figure::wide(
        HEADING,
        "shares",
        picture,
        format!("The height of a colour is that task's share of everything spent so far{best}."),
    )
}

/// The tasks with their own colours; the rest are grouped as others.
struct Stack {
    named: Vec<usize>,
    others: bool,
    best: Option<Vec<f64>>,
}

impl Stack {
    /// The tasks that got most, in the problem's order.
    fn of(summary: &Summary, learners: &[&LearnerSeries<'_>]) -> Self {
        let total: f64 = summary.optimum.spend.iter().sum();
        let best: Vec<f64> = summary.optimum.spend.iter().map(|spend| spend / total).collect();
        let got = |task: usize| -> f64 {
            let last =
                learners.iter().filter_map(|learner| learner.result.shares.last()?.get(task));
            last.chain(best.get(task)).filter(|share| share.is_finite()).sum()
        };
        let count = summary.tasks.len();
        let mut named: Vec<usize> = (0..count).collect();
        named.sort_by(|&one, &other| got(other).total_cmp(&got(one)));
        named.truncate(AREAS);
        named.sort_unstable();
        let mut stack = Self { others: count > named.len(), named, best: None };
        stack.best = (total > 0.0 && total.is_finite()).then(|| stack.heights(&best));
        stack
    }

    /// Where each area of the stack ends, from the bottom up.
    fn heights(&self, shares: &[f64]) -> Vec<f64> {
        let share = |task: &usize| {
            shares.get(*task).copied().filter(|share| share.is_finite()).unwrap_or(0.0).max(0.0)
        };
        let mut height = 0.0;
        let mut heights: Vec<f64> = self
            .named
            .iter()
            .map(|task| {
                height += share(task);
                height
            })
            .collect();
        if self.others {
            let all: f64 = (0..shares.len()).map(|task| share(&task)).sum();
            heights.push(all.max(height));
        }
        heights.into_iter().map(|height| height.min(1.0)).collect()
    }

    fn colour(&self, layer: usize) -> Colour {
        if layer < self.named.len() { Colour::Area(layer) } else { Colour::Others }
    }

    fn entries(&self, summary: &Summary) -> Vec<Entry> {
        let entry =
            |name: String, colour| Entry { name, swatch: Swatch::Box(colour), series: None };
        let named = self
            .named
            .iter()
            .enumerate()
            .map(|(layer, &task)| entry(summary.tasks[task].clone(), self.colour(layer)));
        let rest = summary.tasks.len() - self.named.len();
        let others = self.others.then(|| entry(format!("others ({rest} tasks)"), Colour::Others));
        named.chain(others).collect()
    }
}

fn panel(learner: &LearnerSeries<'_>, stack: &Stack, across: Scale, outer: Area) -> Element {
    let room = if stack.best.is_some() { BEST_ROOM } else { 0.0 };
    let inner = Area {
        top: outer.top + TITLE_HEIGHT,
        width: outer.width - room,
        height: outer.height - TITLE_HEIGHT - 8.0,
        ..outer
    };
    let frame = Frame::new(
        inner,
        Axis::new(across, "rounds").whole(),
        Axis::new(Scale::linear(0.0, 1.0), "").percent(),
    );
    let (left, line) = (frame.plot().left, outer.top + 16.0);
    let sample = segment(
        (left, line - 4.0),
        (left + 26.0, line - 4.0),
        Stroke { width: 2.4, ..learner.stroke() },
    );
    let title = Element::label(
        left + 34.0,
        line,
        &shorten(&learner.name, frame.plot().width - 34.0, 1.08 * TEXT),
    );
    let best = stack.best.as_ref().map(|best| best_column(best, stack, &frame));
    let title =
        title.attribute("font-weight", "bold").child(Element::new("title").text(&learner.name));
    Element::group()
        .children([title, sample, frame.axes()])
        .children(areas(learner, stack, &frame))
        .children(best)
}

fn areas(learner: &LearnerSeries<'_>, stack: &Stack, frame: &Frame) -> Vec<Element> {
    let points: Vec<(f64, Vec<f64>)> = learner
        .result
        .curve
        .iter()
        .zip(&learner.result.shares)
        .map(|(point, shares)| (point.round as f64, stack.heights(shares)))
        .collect();
    let layers = points.first().map_or(0, |(_, heights)| heights.len());
    let below = |heights: &[f64], layer: usize| if layer == 0 { 0.0 } else { heights[layer - 1] };
    let mut areas = Vec::new();
    for layer in 0..layers {
        let band: Vec<_> = points
            .iter()
            .map(|(round, heights)| (*round, below(heights, layer), heights[layer]))
            .collect();
        areas.push(frame.band(&band, stack.colour(layer), 1.0));
    }
    // Thin lines separate adjacent areas.
    for layer in 0..layers.saturating_sub(1) {
        let edge: Vec<_> = points.iter().map(|(round, heights)| (*round, heights[layer])).collect();
        if edge.len() > 1 {
            areas.push(frame.line(&edge, Stroke::plain(Colour::Ground, 0.8), ""));
        }
    }
    areas
}

fn best_column(best: &[f64], stack: &Stack, frame: &Frame) -> Element {
    let plot = frame.plot();
    // The last label of the axis stands out to the right of the plot.
    let left = frame.right() + BEST_ROOM - BEST_WIDTH;
    let mut column = Element::group();
    let mut below = 0.0;
    for (layer, &height) in best.iter().enumerate() {
        let top = plot.top + plot.height * (1.0 - height);
        let area = Area { left, top, width: BEST_WIDTH, height: plot.height * (height - below) };
        if height > below {
            column = column.child(
                rectangle(area, stack.colour(layer)).stroke(Stroke::plain(Colour::Ground, 0.8)),
            );
        }
        below = height;
    }
    column.child(
        small(left + 0.5 * BEST_WIDTH, plot.top + plot.height + 16.0, "best").anchor("middle"),
    )
}
