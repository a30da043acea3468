//! Figures of a page: a picture with its heading and caption.

use crate::svg::{Area, Axis, Element, Entry, Frame, Picture, extent, legend};

/// Width of a figure that shares a row with another on wide screens.
pub(crate) const HALF: f64 = 540.0;
/// Width of a figure with its own row.
pub(crate) const WHOLE: f64 = 1100.0;

#[derive(Debug)]
pub(crate) struct Figure {
    pub(crate) heading: String,
    /// Name of the picture file, without extension.
    pub(crate) file: String,
    pub(crate) picture: Option<Picture>,
    /// How to read the picture, or why it is missing.
    pub(crate) caption: String,
    pub(crate) wide: bool,
}

impl Figure {
    pub(crate) fn half(
        heading: impl Into<String>,
        file: &str,
        picture: Picture,
        caption: impl Into<String>,
    ) -> Self {
        Self {
            heading: heading.into(),
            file: file.to_owned(),
            picture: Some(picture),
            caption: caption.into(),
            wide: false,
        }
    }

    pub(crate) fn wide(
        heading: impl Into<String>,
        file: &str,
        picture: Picture,
        caption: impl Into<String>,
    ) -> Self {
        Self { wide: true, ..Self::half(heading, file, picture, caption) }
    }

    /// A figure whose picture is replaced by a sentence.
    pub(crate) fn missing(heading: impl Into<String>, sentence: &str) -> Self {
        Self {
            heading: heading.into(),
            file: String::new(),
            picture: None,
            caption: sentence.to_owned(),
            wide: false,
        }
    }

    /// The HTML element of the figure.
    pub(crate) fn element(&self) -> Element {
        let heading = Element::new("h3").text(&self.heading);
        let caption = Element::new("figcaption").text(&self.caption);
        let figure = Element::new("figure").child(heading);
        let figure = if self.wide { figure.class("wide") } else { figure };
        match &self.picture {
            Some(picture) => figure
                .child(Element::new("div").class("picture").child(picture.inline()))
                .child(caption),
            None => figure.class("missing").child(caption),
        }
    }
}

/// A line chart of half the page width, with a legend above it.
#[derive(Debug)]
pub(crate) struct LineChart {
    frame: Frame,
    legend: Element,
    height: f64,
    layers: Vec<Element>,
}

impl LineChart {
    pub(crate) fn new(entries: &[Entry], across: Axis, up: Axis) -> Self {
        const HEIGHT: f64 = 300.0;
        let (legend, top) = legend(entries, 4.0, 0.0, HALF - 8.0);
        let frame = Frame::new(Area { left: 0.0, top, width: HALF, height: HEIGHT }, across, up);
        Self { frame, legend, height: top + HEIGHT, layers: Vec::new() }
    }

    pub(crate) fn frame(&self) -> &Frame {
        &self.frame
    }

    /// Adds a layer on top.
    pub(crate) fn draw(&mut self, layer: Element) {
        self.layers.push(layer);
    }

    /// Adds a layer that is hidden together with the learner at `position`.
    pub(crate) fn draw_for(&mut self, position: usize, layer: Element) {
        self.draw(layer.attribute("data-learner", position.to_string()));
    }

    pub(crate) fn picture(self, label: &str) -> Picture {
        let plot = self.frame.readable(Element::group()).children(self.layers);
        Picture::new(HALF, self.height, label, vec![self.legend, self.frame.axes(), plot])
    }
}

/// Range of the numbers, extended for the ends of their intervals. Very wide intervals, which occur
/// with few replications, are cut off.
pub(crate) fn with_intervals(
    numbers: impl Iterator<Item = f64>,
    ends: impl Iterator<Item = f64>,
) -> Option<(f64, f64)> {
    let (low, high) = extent(numbers)?;
    let most = if high > low { 0.5 * (high - low) } else { high.abs() };
    let (low_end, high_end) = extent(ends).unwrap_or((low, high));
    Some((low.min(low_end.max(low - most)), high.max(high_end.min(high + most))))
}
