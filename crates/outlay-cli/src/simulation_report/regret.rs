//! Regret over time, on linear and on logarithmic axes, with what theorems promise.

use outlay::simulation::{BoundCurve, CurvePoint};

use crate::number::figure;
use crate::page::{Figure, Lines, with_intervals};
use crate::picture::{Axis, Colour, Element, Entry, Scale, Stroke, Swatch};

use super::cast::{Player, rounds};

/// Below this share of the largest regret a logarithmic axis ends.
const SPAN: f64 = 1e6;
/// A bound this much larger than all regrets would press them to the ground.
const NEAR_LINEAR: f64 = 1.5;
const NEAR_LOGARITHMIC: f64 = 1e4;
/// More bounds than this are not listed one by one.
const MOST_BOUNDS: usize = 6;

pub(super) fn figures(players: &[Player<'_>], horizon: u64) -> Vec<Figure> {
    vec![linear(players, horizon), logarithmic(players)]
}

fn linear(players: &[Player<'_>], horizon: u64) -> Figure {
    const HEADING: &str = "Regret";
    let (low, high) = with_intervals(regrets(players), ends(players)).unwrap_or((0.0, 0.0));
    let (shown, beyond) = bounds(players, NEAR_LINEAR * high);
    let high = shown.iter().filter_map(|shown| shown.last()).fold(high, f64::max);
    // With a round or two, what is drawn at the end needs room.
    let room = if horizon < 10 { 0.1 } else { 0.0 };
    let across =
        Axis::new(Scale::linear(0.0, horizon.max(1) as f64).padded(room), "rounds").whole();
    let up = Axis::new(Scale::linear(low.min(0.0), high.max(0.0)).padded(0.04), "regret (rewards)");
    let lines = drawn(players, &shown, across, up);
    let caption = format!(
        "Lower is better; a line that flattens has learned what it needs.{}{}",
        bands(players),
        above(&beyond)
    );
    Figure::half(
        HEADING,
        "regret-linear",
        lines.picture("Regret over rounds on linear axes"),
        caption,
    )
}

fn logarithmic(players: &[Player<'_>]) -> Figure {
    const HEADING: &str = "Regret, logarithmic axes";
    let data = Scale::over_positive(regrets(players), SPAN);
    let (Some(across), Some(data)) = (rounds(players), data) else {
        return Figure::missing(
            HEADING,
            "No regret is positive: there is nothing to show on logarithmic axes.",
        );
    };
    let (shown, beyond) = bounds(players, NEAR_LOGARITHMIC * data.high);
    let of_bounds = shown
        .iter()
        .flat_map(|shown| shown.points())
        .map(|(_, bound)| bound)
        .filter(|&bound| bound >= data.low);
    let high = of_bounds.fold(data.high, f64::max);
    let up = Axis::new(Scale::logarithmic(data.low, high).padded(0.03), "regret (rewards)");
    let lines = drawn(players, &shown, Axis::new(across, "rounds").whole(), up);
    let caption = format!(
        "A straight line is a power of the rounds, its slope the power; a line that keeps flattening grows more slowly than any power.{}{}",
        bands(players),
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
fn regrets(players: &[Player<'_>]) -> impl Iterator<Item = f64> {
    players
        .iter()
        .flat_map(|player| &player.result.curve)
        .flat_map(|point| [point.mean, point.q10, point.q90])
}

/// The ends of the intervals of all learners.
fn ends(players: &[Player<'_>]) -> impl Iterator<Item = f64> {
    players
        .iter()
        .flat_map(|player| &player.result.curve)
        .flat_map(|point| [point.low95, point.high95])
        .flatten()
}

/// A bound with whose it is.
struct Shown<'summary> {
    player: &'summary Player<'summary>,
    bound: &'summary BoundCurve,
    /// Its place among the bounds of its learner.
    which: usize,
}

impl Shown<'_> {
    fn points(&self) -> Vec<(f64, f64)> {
        let rounds = self.player.result.curve.iter().map(|point| point.round as f64);
        rounds
            .zip(self.bound.values.iter().copied())
            .filter(|(_, value)| value.is_finite())
            .collect()
    }

    fn last(&self) -> Option<f64> {
        self.points().last().map(|&(_, bound)| bound)
    }

    fn stroke(&self) -> Stroke {
        Stroke::companion(self.player.position, self.which)
    }

    fn name(&self) -> String {
        format!("{} for {}", self.bound.name, self.player.name)
    }
}

/// The bounds that end below a height, and those that do not.
fn bounds<'summary>(
    players: &'summary [Player<'summary>],
    highest: f64,
) -> (Vec<Shown<'summary>>, Vec<Shown<'summary>>) {
    let all = players.iter().flat_map(|player| {
        player.result.bounds.iter().enumerate().map(move |(which, bound)| Shown {
            player,
            bound,
            which,
        })
    });
    all.filter(|shown| shown.last().is_some())
        .partition(|shown| shown.last().is_some_and(|last| last <= highest))
}

fn drawn(players: &[Player<'_>], shown: &[Shown<'_>], across: Axis, up: Axis) -> Lines {
    let mut lines = Lines::new(&entries(players, shown), across, up);
    // Bands of many learners would hide each other.
    let strength = if players.len() > 6 { 0.5 } else { 1.0 };
    for player in players {
        let (wide, narrow) = (quantiles(player), intervals(player));
        let colour = player.stroke().colour;
        let band = lines.frame().band(&wide, colour, 0.13 * strength);
        lines.draw_for(player.position, band);
        let band = lines.frame().band(&narrow, colour, 0.3 * strength);
        lines.draw_for(player.position, band);
    }
    for shown in shown {
        let line = lines.frame().line(&shown.points(), shown.stroke(), &shown.name());
        lines.draw_for(shown.player.position, line);
    }
    for player in players {
        let points: Vec<_> =
            player.result.curve.iter().map(|point| (point.round as f64, point.mean)).collect();
        let line = lines.frame().line(&points, player.stroke(), &player.name);
        lines.draw_for(player.position, line);
    }
    lines
}

fn entries(players: &[Player<'_>], shown: &[Shown<'_>]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = players.iter().map(Player::entry).collect();
    let bound =
        |name: String, stroke: Stroke, series| Entry { name, swatch: Swatch::Line(stroke), series };
    if shown.len() > MOST_BOUNDS {
        let stroke = Stroke { colour: Colour::Muted, ..Stroke::companion(0, 0) };
        entries.push(bound("bounds, in the colour of their learner".to_owned(), stroke, None));
    } else {
        entries.extend(
            shown
                .iter()
                .map(|shown| bound(shown.name(), shown.stroke(), Some(shown.player.position))),
        );
    }
    entries
}

/// Where a tenth of the replications are below and a tenth above; nothing for a single one.
fn quantiles(player: &Player<'_>) -> Vec<(f64, f64, f64)> {
    if player.result.replications.len() == 1 {
        return Vec::new();
    }
    player.result.curve.iter().map(|point| (point.round as f64, point.q10, point.q90)).collect()
}

fn intervals(player: &Player<'_>) -> Vec<(f64, f64, f64)> {
    let interval = |point: &CurvePoint| Some((point.round as f64, point.low95?, point.high95?));
    player.result.curve.iter().filter_map(interval).collect()
}

fn bands(players: &[Player<'_>]) -> &'static str {
    let any =
        players.iter().any(|player| player.result.curve.iter().any(|point| point.low95.is_some()));
    if any {
        " Strong band: 95 % interval of the mean; pale band: the middle 80 % of the replications."
    } else {
        ""
    }
}

/// What is said of bounds that are not drawn.
fn above(beyond: &[Shown<'_>]) -> String {
    let listed = beyond.iter().take(MOST_BOUNDS).filter_map(|shown| {
        Some(format!("{} ({} at the end)", shown.name(), figure(shown.last()?)))
    });
    let listed = listed.collect::<Vec<_>>().join(", ");
    let more = beyond.len().saturating_sub(MOST_BOUNDS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    if beyond.is_empty() { listed } else { format!(" Far above the picture: {listed}{more}.") }
}

/// A sample of a learner's line, for tables.
pub(crate) fn sample(position: usize) -> Element {
    let line = crate::picture::segment(
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
