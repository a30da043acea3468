//! The plot area with its axes.

use super::colour::{Colour, Stroke};
use super::element::{Element, coordinates, number};
use super::scale::Scale;
use super::text::{shorten, width_of};
use super::ticks::{Tick, ticks};

/// The font size of the labels of an axis.
const SMALL: f64 = 11.0;
/// Between the plot and the labels of its ticks.
const GAP: f64 = 6.0;
/// The largest width of names along an axis.
const WIDEST_NAMES: f64 = 190.0;

/// A rectangle of the picture.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Area {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// One axis: its scale and labels.
#[derive(Debug, Clone)]
pub(crate) struct Axis {
    scale: Scale,
    title: String,
    whole: bool,
    percent: bool,
    names: Option<Vec<String>>,
}

impl Axis {
    pub(crate) fn new(scale: Scale, title: impl Into<String>) -> Self {
        Self { scale, title: title.into(), whole: false, percent: false, names: None }
    }

    /// An axis of counts.
    pub(crate) fn whole(self) -> Self {
        Self { whole: true, ..self }
    }

    /// An axis of shares, shown in percent.
    pub(crate) fn percent(self) -> Self {
        Self { percent: true, ..self }
    }

    /// One row per name, the first on top; row `n` extends from `n` to `n + 1`.
    pub(crate) fn rows(names: Vec<String>) -> Self {
        let scale = Scale::linear(names.len().max(1) as f64, 0.0);
        Self { names: Some(names), ..Self::new(scale, "") }
    }

    fn ticks(&self, most: usize) -> Vec<Tick> {
        if let Some(names) = &self.names {
            let row = |(position, name): (usize, &String)| Tick {
                at: position as f64 + 0.5,
                label: shorten(name, WIDEST_NAMES, SMALL),
            };
            return names.iter().enumerate().map(row).collect();
        }
        if !self.percent {
            return ticks(&self.scale, most, self.whole);
        }
        let hundredfold =
            Scale { low: 100.0 * self.scale.low, high: 100.0 * self.scale.high, ..self.scale };
        let in_percent =
            |tick: Tick| Tick { at: tick.at / 100.0, label: format!("{}%", tick.label) };
        ticks(&hundredfold, most, false).into_iter().map(in_percent).collect()
    }
}

/// The axes around a plot, and the mapping from numbers to coordinates.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    plot: Area,
    /// The lower end of the outer area.
    right: f64,
    across: Axis,
    up: Axis,
    across_ticks: Vec<Tick>,
    up_ticks: Vec<Tick>,
}

impl Frame {
    /// A frame that fills `outer` with its plot and the labels of its axes.
    pub(crate) fn new(outer: Area, across: Axis, up: Axis) -> Self {
        let title = |axis: &Axis| if axis.title.is_empty() { 0.0 } else { 17.0 };
        let (above, below) = (8.0, 20.0 + title(&across));
        let height = (outer.height - above - below).max(10.0);
        let up_ticks = up.ticks((height / 28.0) as usize);
        let widest = up_ticks.iter().map(|tick| width_of(&tick.label, SMALL)).fold(0.0, f64::max);
        let left = title(&up) + widest + GAP + 2.0;
        let across_ticks = across.ticks(((outer.width - left) / 68.0) as usize);
        // The label of the last tick may extend beyond the plot by half its width.
        let right =
            across_ticks.last().map_or(8.0, |tick| (0.5 * width_of(&tick.label, SMALL)).max(8.0));
        let width = (outer.width - left - right).max(10.0);
        let plot = Area { left: outer.left + left, top: outer.top + above, width, height };
        Self { plot, right: outer.left + outer.width, across, up, across_ticks, up_ticks }
    }

    pub(crate) fn plot(&self) -> Area {
        self.plot
    }

    /// The lower end of the frame including its labels.
    pub(crate) fn right(&self) -> f64 {
        self.right
    }

    /// The coordinates of a point, if it is in the plot.
    pub(crate) fn at(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        Some((self.x(x)?, self.y(y)?))
    }

    pub(crate) fn x(&self, x: f64) -> Option<f64> {
        Some(self.plot.left + self.plot.width * self.across.scale.place(x)?)
    }

    pub(crate) fn y(&self, y: f64) -> Option<f64> {
        Some(self.plot.top + self.plot.height * (1.0 - self.up.scale.place(y)?))
    }

    /// Grid, ticks, labels and titles.
    pub(crate) fn axes(&self) -> Element {
        let Area { left, top, width, height } = self.plot;
        let bottom = top + height;
        let mut axes = Element::group().children(self.across_marks()).children(self.up_marks());
        axes = axes.child(segment(
            (left, bottom),
            (left + width, bottom),
            Stroke::plain(Colour::Muted, 1.0),
        ));
        // A line separates positive and negative numbers.
        if let Some(zero) = self
            .y(0.0)
            .filter(|&zero| self.up.names.is_none() && zero > top + 1.0 && zero < bottom - 1.0)
        {
            axes = axes.child(segment(
                (left, zero),
                (left + width, zero),
                Stroke::plain(Colour::Muted, 1.0),
            ));
        }
        if !self.across.title.is_empty() {
            axes = axes.child(
                Element::label(left + 0.5 * width, bottom + 34.0, &self.across.title)
                    .anchor("middle"),
            );
        }
        if !self.up.title.is_empty() {
            let widest =
                self.up_ticks.iter().map(|tick| width_of(&tick.label, SMALL)).fold(0.0, f64::max);
            let (x, y) = (left - GAP - widest - 8.0, top + 0.5 * height);
            let turn = format!("rotate(-90 {} {})", number(x), number(y));
            axes = axes.child(
                Element::label(x, y, &self.up.title).anchor("middle").attribute("transform", turn),
            );
        }
        axes
    }

    /// Attributes from which a script can compute numbers from coordinates.
    pub(crate) fn readable(&self, content: Element) -> Element {
        let Area { left, top, width, height } = self.plot;
        let describe = |scale: &Scale, start: f64, end: f64| {
            let kind = if scale.logarithmic { "log" } else { "linear" };
            format!("{kind} {:e} {:e} {} {}", scale.low, scale.high, number(start), number(end))
        };
        content
            .class("plot")
            .attribute("data-across", describe(&self.across.scale, left, left + width))
            .attribute("data-up", describe(&self.up.scale, top + height, top))
            .attribute("data-unit", &self.across.title)
    }

    fn across_marks(&self) -> Vec<Element> {
        let (top, bottom) = (self.plot.top, self.plot.top + self.plot.height);
        let mut marks = Vec::new();
        let mut taken = f64::NEG_INFINITY;
        for tick in &self.across_ticks {
            let Some(x) = self.x(tick.at) else { continue };
            if tick.label.is_empty() {
                marks.push(segment(
                    (x, bottom),
                    (x, bottom + 3.0),
                    Stroke::plain(Colour::Muted, 0.6),
                ));
                continue;
            }
            marks.push(segment((x, top), (x, bottom), Stroke::plain(Colour::Grid, 1.0)));
            marks.push(segment((x, bottom), (x, bottom + 4.0), Stroke::plain(Colour::Muted, 1.0)));
            let half = 0.5 * width_of(&tick.label, SMALL);
            // Labels that would overlap are omitted.
            if x - half >= taken {
                marks.push(small(x, bottom + 16.0, &tick.label).anchor("middle"));
                taken = x + half + 5.0;
            }
        }
        marks
    }

    fn up_marks(&self) -> Vec<Element> {
        let (left, right) = (self.plot.left, self.plot.left + self.plot.width);
        let mut marks = Vec::new();
        let mut taken = f64::INFINITY;
        for (position, tick) in self.up_ticks.iter().enumerate() {
            let Some(y) = self.y(tick.at) else { continue };
            if let Some(name) = self.up.names.as_ref().map(|names| &names[position]) {
                let label = small(left - GAP, y + 4.0, "").anchor("end").fill(Colour::Ink);
                marks.push(label.child(Element::new("title").text(name)).text(&tick.label));
                continue;
            }
            if tick.label.is_empty() {
                marks.push(segment((left - 3.0, y), (left, y), Stroke::plain(Colour::Muted, 0.6)));
                continue;
            }
            marks.push(segment((left, y), (right, y), Stroke::plain(Colour::Grid, 1.0)));
            if y + 7.0 <= taken {
                marks.push(small(left - GAP, y + 4.0, &tick.label).anchor("end"));
                taken = y - 7.0;
            }
        }
        marks
    }

    /// A line through the points that are in the plot, with gaps between; a point without
    /// neighbours becomes a dot.
    pub(crate) fn line(&self, points: &[(f64, f64)], stroke: Stroke, name: &str) -> Element {
        let places = points.iter().map(|&(x, y)| self.at(x, y));
        let pieces = runs(places).into_iter().map(|piece| match piece[..] {
            [(x, y)] => dot((x, y), 1.6 * stroke.width, stroke.colour).attribute("data-name", name),
            _ => Element::new("polyline")
                .attribute("points", coordinates(&piece))
                .attribute("fill", "none")
                .attribute("stroke-linejoin", "round")
                .stroke(stroke)
                .attribute("data-name", name),
        });
        Element::group().children(pieces)
    }

    /// The area between a lower and an upper number: `(x, low, high)`. It is clipped at the edge of
    /// the plot; a point without neighbours becomes a bar.
    pub(crate) fn band(&self, points: &[(f64, f64, f64)], colour: Colour, opacity: f64) -> Element {
        let places = points.iter().map(|&(x, low, high)| {
            let scale = &self.up.scale;
            if !(low <= high) || high < scale.low.min(scale.high) || low > scale.low.max(scale.high)
            {
                return None;
            }
            Some((self.x(x)?, self.y(scale.clamp(low))?, self.y(scale.clamp(high))?))
        });
        let pieces = runs(places).into_iter().map(|mut piece| {
            if let [(x, low, high)] = piece[..] {
                piece = vec![(x - 4.0, low, high), (x + 4.0, low, high)];
            }
            let along = piece.iter().map(|&(x, _, high)| (x, high));
            let back = piece.iter().rev().map(|&(x, low, _)| (x, low));
            let outline: Vec<_> = along.chain(back).collect();
            Element::new("polygon")
                .attribute("points", coordinates(&outline))
                .fill(colour)
                .number("fill-opacity", opacity)
        });
        Element::group().children(pieces)
    }
}

/// A straight line between two points.
pub(crate) fn segment(from: (f64, f64), to: (f64, f64), stroke: Stroke) -> Element {
    Element::new("line")
        .number("x1", from.0)
        .number("y1", from.1)
        .number("x2", to.0)
        .number("y2", to.1)
        .stroke(stroke)
}

/// A dot at a point.
pub(crate) fn dot(at: (f64, f64), radius: f64, colour: Colour) -> Element {
    Element::new("circle").number("cx", at.0).number("cy", at.1).number("r", radius).fill(colour)
}

/// A dot that is not filled.
pub(crate) fn ring(at: (f64, f64), radius: f64, colour: Colour) -> Element {
    dot(at, radius, Colour::Ground).stroke(Stroke::plain(colour, 1.8))
}

/// A rectangle.
pub(crate) fn rectangle(area: Area, colour: Colour) -> Element {
    Element::new("rect")
        .number("x", area.left)
        .number("y", area.top)
        .number("width", area.width.max(0.0))
        .number("height", area.height.max(0.0))
        .fill(colour)
}

/// Text in the size of the numbers along an axis.
pub(crate) fn small(x: f64, y: f64, text: &str) -> Element {
    Element::label(x, y, text).fill(Colour::Muted).number("font-size", SMALL)
}

/// Runs of consecutive points.
fn runs<T>(places: impl Iterator<Item = Option<T>>) -> Vec<Vec<T>> {
    let mut runs = vec![Vec::new()];
    for place in places {
        match (place, runs.last_mut()) {
            (Some(place), Some(run)) => run.push(place),
            _ => runs.push(Vec::new()),
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(up: Scale) -> Frame {
        let outer = Area { left: 0.0, top: 0.0, width: 400.0, height: 300.0 };
        Frame::new(
            outer,
            Axis::new(Scale::logarithmic(1.0, 1000.0), "rounds"),
            Axis::new(up, "regret"),
        )
    }

    #[test]
    fn lines_have_gaps_at_missing_points() {
        let frame = frame(Scale::logarithmic(1.0, 100.0));
        let points = [(1.0, 0.0), (2.0, 3.0), (3.0, 4.0), (4.0, -1.0), (5.0, f64::NAN), (6.0, 7.0)];
        let text = frame.line(&points, Stroke::series(0), "a").to_string();
        assert_eq!((text.matches("<polyline").count(), text.matches("<circle").count()), (1, 1));
        assert!(!text.contains("NaN"));
    }

    #[test]
    fn bands_end_at_the_edge() {
        let frame = frame(Scale::logarithmic(1.0, 100.0));
        let text = frame
            .band(
                &[(1.0, -5.0, 10.0), (10.0, 0.5, 1e9), (100.0, f64::NAN, 2.0)],
                Colour::Series(0),
                0.3,
            )
            .to_string();
        assert_eq!(text.matches("<polygon").count(), 1);
        let bottom = number(frame.plot.top + frame.plot.height);
        assert!(text.contains(&format!(",{bottom}")), "{text}");
    }

    #[test]
    fn everything_is_inside_the_outer_area() {
        for up in
            [Scale::linear(0.0, 123_456.0), Scale::linear(-2e9, 0.0), Scale::logarithmic(1e-5, 1e9)]
        {
            let plot = frame(up).plot();
            assert!(
                plot.left > 20.0
                    && plot.left + plot.width <= 400.0
                    && plot.top + plot.height <= 300.0,
                "{plot:?}"
            );
        }
    }

    #[test]
    fn rows_go_down() {
        let outer = Area { left: 0.0, top: 0.0, width: 400.0, height: 100.0 };
        let names = vec![
            "first <&>".to_owned(),
            "a name that is far too long to be written out in the margin of a picture".to_owned(),
        ];
        let frame = Frame::new(outer, Axis::new(Scale::linear(0.0, 1.0), ""), Axis::rows(names));
        assert!(frame.y(0.5) < frame.y(1.5));
        assert!(frame.plot().width > 150.0);
        assert!(frame.axes().to_string().contains("first &lt;&amp;&gt;"));
    }
}
