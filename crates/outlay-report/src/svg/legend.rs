//! Legends above figures, with as many rows as necessary.

use super::TEXT;
use super::colour::{Colour, Stroke};
use super::element::Element;
use super::frame::{Area, dot, rectangle, ring, segment};
use super::text::{shorten, width_of};

const ROW: f64 = 19.0;
const SAMPLE: f64 = 26.0;
const BOX: f64 = 11.0;
/// The largest width of a name.
const WIDEST: f64 = 250.0;

/// The symbol before a name.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Swatch {
    Line(Stroke),
    Box(Colour),
    /// A pale box, as for a band.
    Band(Colour, f64),
    Dot(Colour),
    /// A dot that is not filled.
    Ring(Colour),
}

/// A name in a legend.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) swatch: Swatch,
    /// The series that the entry toggles on interactive pages.
    pub(crate) series: Option<usize>,
}

/// The legend from the top left corner on, and its height.
pub(crate) fn legend(entries: &[Entry], left: f64, top: f64, width: f64) -> (Element, f64) {
    let mut group = Element::group().class("legend");
    let (mut x, mut row) = (left, 0.0);
    for entry in entries {
        let name = shorten(&entry.name, WIDEST.min(width - SAMPLE - 24.0), TEXT);
        let room = sample_width(entry.swatch) + 6.0 + width_of(&name, TEXT) + 16.0;
        if x > left && x + room > left + width + 16.0 {
            (x, row) = (left, row + 1.0);
        }
        group = group.child(drawn(entry, &name, x, top + row * ROW));
        x += room;
    }
    (group, if entries.is_empty() { 0.0 } else { (row + 1.0) * ROW + 4.0 })
}

fn sample_width(swatch: Swatch) -> f64 {
    match swatch {
        Swatch::Line(_) => SAMPLE,
        Swatch::Box(_) | Swatch::Band(..) | Swatch::Dot(_) | Swatch::Ring(_) => BOX,
    }
}

fn drawn(entry: &Entry, name: &str, x: f64, top: f64) -> Element {
    let middle = top + 0.5 * ROW;
    let sample = match entry.swatch {
        Swatch::Line(stroke) => segment(
            (x, middle),
            (x + SAMPLE, middle),
            Stroke { width: stroke.width + 0.4, ..stroke },
        ),
        Swatch::Box(colour) => {
            rectangle(Area { left: x, top: middle - 0.5 * BOX, width: BOX, height: BOX }, colour)
        }
        Swatch::Band(colour, opacity) => {
            rectangle(Area { left: x, top: middle - 0.5 * BOX, width: BOX, height: BOX }, colour)
                .number("fill-opacity", opacity)
        }
        Swatch::Dot(colour) => dot((x + 0.5 * BOX, middle), 4.5, colour),
        Swatch::Ring(colour) => ring((x + 0.5 * BOX, middle), 4.0, colour),
    };
    let text = Element::label(x + sample_width(entry.swatch) + 6.0, middle + 4.0, name);
    let group = Element::group();
    let group = if name == entry.name {
        group
    } else {
        group.child(Element::new("title").text(&entry.name))
    };
    let group = match entry.series {
        Some(series) => group.attribute("data-toggles", series.to_string()),
        None => group,
    };
    group.child(sample).child(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legends_take_as_many_rows_as_they_need() {
        let entry = |name: &str| Entry {
            name: name.to_owned(),
            swatch: Swatch::Line(Stroke::series(0)),
            series: Some(0),
        };
        let (_, one) = legend(&[entry("algorithm-1"), entry("kl-ucb-plus")], 0.0, 0.0, 500.0);
        let (long, three) = legend(
            &[entry("algorithm-1"), entry(&"a".repeat(500)), entry("kl-ucb-plus")],
            0.0,
            0.0,
            330.0,
        );
        assert!(one < 2.0 * ROW && three > 3.0 * ROW);
        // The tooltip has the full name.
        assert!(long.to_string().contains(&"a".repeat(500)));
        assert_eq!(legend(&[], 0.0, 0.0, 500.0).1, 0.0);
    }
}
