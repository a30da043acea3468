//! Each task's curve with its spend, its previous spend and its bounds.

use outlay::Bounds;
use outlay::plan::BindingBound;

use crate::page::{Figure, HALF, WHOLE};
use crate::svg::{
    Area, Axis, Colour, Element, Entry, Frame, Picture, Scale, Stroke, Swatch, TEXT, dot, legend,
    rectangle, ring, segment, shorten, small,
};

use super::bars::AFTER;
use super::trace::{reach, trace};
use super::{DecisionPage, TaskView};
use crate::number::{percent, plain};
use crate::selection::{heaviest, left_out};

const HEADING: &str = "Curves: success probability against spend";
/// Four rows of three.
const MAX_PANELS: usize = 12;
const PANEL_HEIGHT: f64 = 228.0;
const TITLE_HEIGHT: f64 = 36.0;
/// Marks the previous spend.
pub(super) const BEFORE: Colour = Colour::Series(1);
const SHADE: f64 = 0.28;

pub(super) fn figure(page: &DecisionPage<'_>) -> Figure {
    let (shown, hidden) = heaviest(page.tasks.len(), MAX_PANELS, |task| page.tasks[task].weight());
    if shown.is_empty() {
        return Figure::missing(HEADING, "There are no tasks.");
    }
    let columns = match shown.len() {
        1 => 1,
        2 | 4 => 2,
        _ => 3,
    };
    let whole = if columns == 1 { HALF } else { WHOLE };
    let (legend, top) = legend(&entries(page, &shown), 4.0, 0.0, whole - 8.0);
    let ends: Vec<f64> = shown.iter().map(|&task| end_of(page, &page.tasks[task])).collect();
    let highest = shown
        .iter()
        .zip(&ends)
        .map(|(&task, &end)| page.tasks[task].curve.success(end))
        .fold(0.0, f64::max);
    let up = Scale::linear(0.0, if highest > 0.0 { highest } else { 1.0 }).padded(0.06);
    let width = whole / columns as f64;
    let mut content = vec![legend];
    for (place, (&task, &end)) in shown.iter().zip(&ends).enumerate() {
        let (column, row) = (place % columns, place / columns);
        let top = top + row as f64 * PANEL_HEIGHT;
        let outer = Area {
            left: column as f64 * width,
            top,
            width: width - 14.0,
            height: PANEL_HEIGHT - 10.0,
        };
        content.push(panel(page, &page.tasks[task], (end, up), outer));
    }
    let height = top + shown.len().div_ceil(columns) as f64 * PANEL_HEIGHT;
    let picture = Picture::new(whole, height, "The curve of each task with its spend", content);
    let axes = "where the curve has risen or the budget ends";
    let caption = match shown.len() {
        1 => format!("The axis ends {axes}."),
        _ => format!(
            "The largest spends first. All panels have the same vertical axis; each has its own spend \
             axis, which ends {axes}.{}",
            left_out(hidden)
        ),
    };
    Figure { wide: columns > 1, ..Figure::half(HEADING, "curves", picture, caption) }
}

fn entries(page: &DecisionPage<'_>, shown: &[usize]) -> Vec<Entry> {
    let entry = |name: &str, swatch| Entry { name: name.to_owned(), swatch, series: None };
    let is_bounded = |task: &TaskView<'_>| task.bounds != Bounds::NONE;
    let before = shown
        .iter()
        .any(|&task| page.tasks[task].before.is_some())
        .then(|| entry(page.before, Swatch::Ring(BEFORE)));
    let bounded = shown
        .iter()
        .any(|&task| is_bounded(&page.tasks[task]))
        .then(|| entry("not allowed", Swatch::Box(Colour::Others)));
    [Some(entry(page.after, Swatch::Dot(AFTER))), before, bounded].into_iter().flatten().collect()
}

/// End of the axis of a panel: it includes all marks and the affordable part of the curve.
pub(super) fn end_of(page: &DecisionPage<'_>, task: &TaskView<'_>) -> f64 {
    let Bounds { min, max, at_least } = task.bounds;
    let rise = reach(task.curve);
    let affordable = if page.budget > 0.0 { rise.min(page.budget) } else { rise };
    let bound = if max <= page.budget { max } else { 0.0 };
    let marked = [task.outcome.spend, task.before.unwrap_or(0.0), min, at_least, bound, affordable];
    let end = 1.12 * marked.into_iter().filter(|spend| spend.is_finite()).fold(0.0, f64::max);
    if end > 0.0 && end.is_finite() {
        end
    } else if page.budget > 0.0 {
        page.budget
    } else {
        1.0
    }
}

fn panel(
    page: &DecisionPage<'_>,
    task: &TaskView<'_>,
    (end, up): (f64, Scale),
    outer: Area,
) -> Element {
    let inner =
        Area { top: outer.top + TITLE_HEIGHT, height: outer.height - TITLE_HEIGHT, ..outer };
    // Keep the mark of a zero spend clear of the axis.
    let frame = Frame::new(
        inner,
        Axis::new(
            Scale { low: -0.02 * end, ..Scale::linear(0.0, end) },
            page.labels.money_axis("spend"),
        ),
        Axis::new(up, "").percent(),
    );
    let spend = task.outcome.spend;
    let marked: Vec<f64> = task.before.into_iter().chain([spend]).collect();
    let curve =
        frame.line(&trace(task.curve, end, &marked), Stroke::plain(Colour::Ink, 1.6), "success");
    let ring = task
        .before
        .and_then(|before| Some(ring(frame.at(before, task.curve.success(before))?, 5.5, BEFORE)));
    let point = frame.at(spend, task.curve.success(spend)).map(|place| dot(place, 4.0, AFTER));
    let plot =
        frame.readable(Element::group()).child(forbidden(task.bounds, end, &frame)).child(curve);
    let titles = titles(page, task, &frame, outer.top);
    Element::group().children(titles).child(frame.axes()).child(plot.children(ring).children(point))
}

/// The task's name, and its spend in a line below.
fn titles(page: &DecisionPage<'_>, task: &TaskView<'_>, frame: &Frame, top: f64) -> Vec<Element> {
    let (left, room) = (frame.plot().left, frame.plot().width);
    let name = Element::label(left, top + 14.0, "").attribute("font-weight", "bold");
    let name = name.child(Element::new("title").text(task.name)).text(&shorten(
        task.name,
        0.94 * room,
        TEXT,
    ));
    let mut parts = vec![
        format!("spend {}", page.precision.amount(task.outcome.spend)),
        percent(task.outcome.success),
    ];
    if task.outcome.bound == Some(BindingBound::Retired) {
        parts.push("retired".to_owned());
    } else {
        parts.extend(bound_words(task.bounds));
    }
    vec![name, small(left, top + 29.0, &shorten(&parts.join(" · "), room, 11.0))]
}

/// Bounds as text; empty if there are none.
fn bound_words(bounds: Bounds) -> Option<String> {
    match bounds {
        Bounds { max: 0.0, .. } => Some("excluded".to_owned()),
        Bounds { min, max, .. } if min == max => Some("fixed".to_owned()),
        Bounds { min, max, at_least } => {
            let least = if at_least > 0.0 {
                Some(format!("0 or at least {}", plain(at_least)))
            } else {
                None
            };
            let min = (min > 0.0).then(|| format!("min {}", plain(min)));
            let max = max.is_finite().then(|| format!("max {}", plain(max)));
            let words: Vec<String> = [least, min, max].into_iter().flatten().collect();
            (!words.is_empty()).then(|| words.join(", "))
        }
    }
}

/// The infeasible intervals of spend, from left to right.
fn ruled_out(bounds: Bounds, end: f64) -> Vec<(f64, f64)> {
    let below = bounds.min.max(bounds.at_least);
    [(0.0, below.min(end)), (bounds.max.min(end), end)]
        .into_iter()
        .filter(|(from, to)| from < to)
        .collect()
}

fn forbidden(bounds: Bounds, end: f64, frame: &Frame) -> Element {
    let plot = frame.plot();
    let mut group = Element::group();
    for (from, to) in ruled_out(bounds, end) {
        let (Some(left), Some(right)) = (frame.x(from), frame.x(to)) else { continue };
        let area = Area { left, top: plot.top, width: right - left, height: plot.height };
        group = group.child(rectangle(area, Colour::Others).number("fill-opacity", SHADE));
        // Mark the bound where the shaded area ends inside the plot.
        for edge in [(from, left), (to, right)]
            .into_iter()
            .filter(|(spend, _)| *spend > 0.0 && *spend < end)
            .map(|(_, edge)| edge)
        {
            group = group.child(segment(
                (edge, plot.top),
                (edge, plot.top + plot.height),
                Stroke::plain(Colour::Muted, 1.0),
            ));
        }
    }
    group
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infeasible_spends_are_shaded() {
        let of = |min, max, at_least| ruled_out(Bounds { min, max, at_least }, 100.0);
        let unbounded = f64::INFINITY;
        assert_eq!(of(0.0, unbounded, 0.0), []);
        assert_eq!(of(20.0, unbounded, 0.0), [(0.0, 20.0)]);
        assert_eq!(of(20.0, 60.0, 0.0), [(0.0, 20.0), (60.0, 100.0)]);
        assert_eq!(of(0.0, unbounded, 30.0), [(0.0, 30.0)]);
        assert_eq!(of(40.0, 40.0, 0.0), [(0.0, 40.0), (40.0, 100.0)]);
        assert_eq!(of(0.0, 0.0, 0.0), [(0.0, 100.0)]);
        // Beyond the axis nothing is drawn.
        assert_eq!(of(0.0, 500.0, 200.0), [(0.0, 100.0)]);
    }

    #[test]
    fn bounds_are_worded_as_in_problem_files() {
        let of =
            |min, max, at_least| bound_words(Bounds { min, max, at_least }).unwrap_or_default();
        assert_eq!(of(0.0, f64::INFINITY, 0.0), "");
        assert_eq!(of(20.0, 60.0, 0.0), "min 20, max 60");
        assert_eq!(of(0.0, 60.0, 30.0), "0 or at least 30, max 60");
        assert_eq!(of(5.0, 5.0, 0.0), "fixed");
        assert_eq!(of(0.0, 0.0, 0.0), "excluded");
    }
}
