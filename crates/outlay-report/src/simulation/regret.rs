//! Regret over rounds on linear and logarithmic axes, with the regret bounds.

use outlay::simulation::{BoundCurve, CurvePoint};

use crate::number::figure;
use crate::page::{Figure, LineChart, with_intervals};
use crate::svg::{Axis, Colour, Element, Entry, Scale, Stroke, Swatch};

use super::series::{LearnerSeries, rounds};

/// Lower end of a logarithmic axis, relative to the largest regret.
const SPAN: f64 = 1e6;
/// Bounds above this multiple of the largest regret are not drawn.
const NEAR_LINEAR: f64 = 1.5;
const NEAR_LOGARITHMIC: f64 = 1e4;
/// Largest number of bounds that are listed.
const MAX_BOUNDS: usize = 6;

pub(super) fn figures(learners: &[LearnerSeries<'_>], horizon: u64) -> Vec<Figure> {
    vec![linear(learners, horizon), logarithmic(learners)]
}

fn linear(learners: &[LearnerSeries<'_>], horizon: u64) -> Figure {
    const HEADING: &str = "Regret";
    let (low, high) = with_intervals(regrets(learners), ends(learners)).unwrap_or((0.0, 0.0));
    let (shown, beyond) = bounds(learners, NEAR_LINEAR * high);
    let high = shown.iter().filter_map(|shown| shown.last()).fold(high, f64::max);
    // Leave room at the end for very short runs.
    let room = if horizon < 10 { 0.1 } else { 0.0 };
    let across =
        Axis::new(Scale::linear(0.0, horizon.max(1) as f64).padded(room), "rounds").whole();
    let up = Axis::new(Scale::linear(low.min(0.0), high.max(0.0)).padded(0.04), "regret (rewards)");
    let lines = drawn(learners, &shown, across, up);
    let caption = format!(
        "Lower is better; the line of a learner that has learned the values flattens.{}{}",
        bands(learners),
        above(&beyond)
    );
    Figure::half(
        HEADING,
        "regret-linear",
        lines.picture("Regret over rounds on linear axes"),
        caption,
    )
}

fn logarithmic(learners: &[LearnerSeries<'_>]) -> Figure {
    const HEADING: &str = "Regret, logarithmic axes";
    let data = Scale::over_positive(regrets(learners), SPAN);
    let (Some(across), Some(data)) = (rounds(learners), data) else {
        return Figure::missing(
            HEADING,
            "No regret is positive: there is nothing to show on logarithmic axes.",
        );
    };
    let (shown, beyond) = bounds(learners, NEAR_LOGARITHMIC * data.high);
    let of_bounds = shown
        .iter()
        .flat_map(|shown| shown.points())
        .map(|(_, bound)| bound)
        .filter(|&bound| bound >= data.low);
    let high = of_bounds.fold(data.high, f64::max);
    let up = Axis::new(Scale::logarithmic(data.low, high).padded(0.03), "regret (rewards)");
    let lines = drawn(learners, &shown, Axis::new(across, "rounds").whole(), up);
    let caption = format!(
        "A straight line is a power of the rounds, its slope the power; a line that keeps flattening grows more slowly than any power.{}{}",
        bands(learners),
        above(&beyond)
    );
    Figure::half(
        HEADING,
        "regret-log",
        lines.picture("Regret over rounds on logarithmic axes"),
        caption,
    )
}

/// The means and quantiles of all learners.
fn regrets(learners: &[LearnerSeries<'_>]) -> impl Iterator<Item = f64> {
    learners
        .iter()
        .flat_map(|learner| &learner.result.curve)
        .flat_map(|point| [point.mean, point.q10, point.q90])
}

/// The ends of the intervals of all learners.
fn ends(learners: &[LearnerSeries<'_>]) -> impl Iterator<Item = f64> {
    learners
        .iter()
        .flat_map(|learner| &learner.result.curve)
        .flat_map(|point| [point.low95, point.high95])
        .flatten()
}

/// A bound with its learner.
struct Shown<'summary> {
    learner: &'summary LearnerSeries<'summary>,
    bound: &'summary BoundCurve,
    /// Position among the bounds of its learner.
    which: usize,
}

impl Shown<'_> {
    fn points(&self) -> Vec<(f64, f64)> {
        let rounds = self.learner.result.curve.iter().map(|point| point.round as f64);
        rounds
            .zip(self.bound.values.iter().copied())
            .filter(|(_, value)| value.is_finite())
            .collect()
    }

    fn last(&self) -> Option<f64> {
        self.points().last().map(|&(_, bound)| bound)
    }

    fn stroke(&self) -> Stroke {
        Stroke::companion(self.learner.position, self.which)
    }

    fn name(&self) -> String {
        format!("{} for {}", self.bound.name, self.learner.name)
    }
}

/// The bounds that end below a height, and those that do not.
fn bounds<'summary>(
    learners: &'summary [LearnerSeries<'summary>],
    highest: f64,
) -> (Vec<Shown<'summary>>, Vec<Shown<'summary>>) {
    let all = learners.iter().flat_map(|learner| {
        learner.result.bounds.iter().enumerate().map(move |(which, bound)| Shown {
            learner,
            bound,
            which,
        })
    });
    all.filter(|shown| shown.last().is_some())
        .partition(|shown| shown.last().is_some_and(|last| last <= highest))
}

fn drawn(learners: &[LearnerSeries<'_>], shown: &[Shown<'_>], across: Axis, up: Axis) -> LineChart {
    let mut lines = LineChart::new(&entries(learners, shown), across, up);
    // Bands are drawn only for few learners.
    let strength = if learners.len() > 6 { 0.5 } else { 1.0 };
    for learner in learners {
        let (wide, narrow) = (quantiles(learner), intervals(learner));
        let colour = learner.stroke().colour;
        let band = lines.frame().band(&wide, colour, 0.13 * strength);
        lines.draw_for(learner.position, band);
        let band = lines.frame().band(&narrow, colour, 0.3 * strength);
        lines.draw_for(learner.position, band);
    }
    for shown in shown {
        let line = lines.frame().line(&shown.points(), shown.stroke(), &shown.name());
        lines.draw_for(shown.learner.position, line);
    }
    for learner in learners {
        let points: Vec<_> =
            learner.result.curve.iter().map(|point| (point.round as f64, point.mean)).collect();
        let line = lines.frame().line(&points, learner.stroke(), &learner.name);
        lines.draw_for(learner.position, line);
    }
    lines
}

fn entries(learners: &[LearnerSeries<'_>], shown: &[Shown<'_>]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = learners.iter().map(LearnerSeries::entry).collect();
    let bound =
        |name: String, stroke: Stroke, series| Entry { name, swatch: Swatch::Line(stroke), series };
    if shown.len() > MAX_BOUNDS {
        let stroke = Stroke { colour: Colour::Muted, ..Stroke::companion(0, 0) };
        entries.push(bound("bounds, in the colour of their learner".to_owned(), stroke, None));
    } else {
        entries.extend(
            shown
                .iter()
                .map(|shown| bound(shown.name(), shown.stroke(), Some(shown.learner.position))),
        );
    }
    entries
}

/// The band between the 10 % and 90 % quantiles; empty for a single replication.
fn quantiles(learner: &LearnerSeries<'_>) -> Vec<(f64, f64, f64)> {
    if learner.result.replications.len() == 1 {
        return Vec::new();
    }
    learner.result.curve.iter().map(|point| (point.round as f64, point.q10, point.q90)).collect()
}

fn intervals(learner: &LearnerSeries<'_>) -> Vec<(f64, f64, f64)> {
    let interval = |point: &CurvePoint| Some((point.round as f64, point.low95?, point.high95?));
    learner.result.curve.iter().filter_map(interval).collect()
}

fn bands(learners: &[LearnerSeries<'_>]) -> &'static str {
    let any = learners
        .iter()
        .any(|learner| learner.result.curve.iter().any(|point| point.low95.is_some()));
    if any {
        " Strong band: 95 % interval of the mean; pale band: the middle 80 % of the replications."
    } else {
        ""
    }
}

/// A sentence on bounds that are not drawn.
fn above(beyond: &[Shown<'_>]) -> String {
    let listed = beyond.iter().take(MAX_BOUNDS).filter_map(|shown| {
        Some(format!("{} ({} at the end)", shown.name(), figure(shown.last()?)))
    });
    let listed = listed.collect::<Vec<_>>().join(", ");
    let more = beyond.len().saturating_sub(MAX_BOUNDS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    if beyond.is_empty() { listed } else { format!(" Far above the picture: {listed}{more}.") }
}

/// A sample of a learner's line, for tables.
pub(crate) fn sample(position: usize) -> Element {
    let line = crate::svg::segment(
        (0.0, 6.0),
        (26.0, 6.0),
        Stroke { width: 2.4, ..Stroke::series(position) },
    );
    Element::new("svg")
        .class("sample")
        .number("width", 26.0)
        .number("height", 12.0)
        .attribute("aria-hidden", "true")
        .child(line)
}
