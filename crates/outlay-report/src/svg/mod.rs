//! SVG figures: elements, text, colours, scales with ticks, frames with axes, and legends.
//!
//! Coordinates are floating point with two decimals; the same numbers give the same bytes. Colours
//! are written as attributes, which every program reads, and changed for dark screens by one style
//! sheet ([`dark_style`]).

mod colour;
mod element;
mod frame;
mod legend;
mod scale;
mod text;
mod ticks;

pub(crate) use colour::{AREAS, Colour, Stroke, dark_style};
pub(crate) use element::Element;
#[cfg(test)]
pub(crate) use element::balanced;
pub(crate) use frame::{Area, Axis, Frame, dot, rectangle, ring, segment, small};
pub(crate) use legend::{Entry, Swatch, legend};
pub(crate) use scale::{Scale, extent};
pub(crate) use text::{shorten, width_of};

/// The size of ordinary text.
pub(crate) const TEXT: f64 = 12.0;

/// Margin of a figure in a separate file.
const MARGIN: f64 = 12.0;

/// A finished figure, for a page or a separate file.
#[derive(Debug, Clone)]
pub(crate) struct Picture {
    width: f64,
    height: f64,
    /// Description for screen readers.
    label: String,
    content: Vec<Element>,
}

impl Picture {
    pub(crate) fn new(
        width: f64,
        height: f64,
        label: impl Into<String>,
        content: Vec<Element>,
    ) -> Self {
        Self { width, height, label: label.into(), content }
    }

    /// The element for a page, which includes [`dark_style`] once.
    pub(crate) fn inline(&self) -> Element {
        let area = Area { left: 0.0, top: 0.0, width: self.width, height: self.height };
        root(area)
            .attribute("role", "img")
            .attribute("aria-label", &self.label)
            .children(self.content.iter().cloned())
    }

    /// The SVG as a separate file.
    pub(crate) fn file(&self) -> String {
        let outer = Area {
            left: -MARGIN,
            top: -MARGIN,
            width: self.width + 2.0 * MARGIN,
            height: self.height + 2.0 * MARGIN,
        };
        let root = root(outer)
            .attribute("xmlns", "http://www.w3.org/2000/svg")
            .child(Element::new("title").text(&self.label))
            .child(Element::new("style").text(&dark_style()))
            .child(rectangle(outer, Colour::Ground))
            .children(self.content.iter().cloned());
        format!("{root}\n")
    }
}

fn root(area: Area) -> Element {
    let numbers = [area.left, area.top, area.width, area.height].map(element::number);
    Element::new("svg")
        .attribute("viewBox", numbers.join(" "))
        .number("width", area.width)
        .number("height", area.height)
        .attribute("font-family", "Helvetica, Arial, 'Liberation Sans', sans-serif")
        .number("font-size", TEXT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_one_balanced_element_with_its_style() {
        let picture = Picture::new(
            10.0,
            20.5,
            "a < b",
            vec![Element::new("g").child(Element::new("line").number("x1", 1.0))],
        );
        let file = picture.file();
        assert!(balanced(&file).is_ok(), "{file}");
        assert!(
            file.contains("<title>a &lt; b</title>")
                && file.contains("viewBox=\"-12 -12 34 44.5\"")
        );
        assert!(file.contains("prefers-color-scheme"));
    }
}
