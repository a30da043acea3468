//! Markup as a tree, which guarantees balanced tags and escaped text.

use std::fmt;

use super::colour::{Colour, Stroke};
use super::text::escape;

/// Only shapes are self-closing, because in HTML `<p/>` would open a paragraph.
const SHAPES: [&str; 7] = ["line", "rect", "circle", "polyline", "polygon", "path", "ellipse"];

/// An element of SVG or HTML.
#[derive(Debug, Clone)]
pub(crate) struct Element {
    name: &'static str,
    classes: Vec<String>,
    attributes: Vec<(&'static str, String)>,
    children: Vec<Node>,
}

#[derive(Debug, Clone)]
enum Node {
    Element(Element),
    Text(String),
}

impl Element {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, classes: Vec::new(), attributes: Vec::new(), children: Vec::new() }
    }

    /// A group.
    pub(crate) fn group() -> Self {
        Self::new("g")
    }

    /// Text of a picture, which starts at `x` on the line `y`.
    pub(crate) fn label(x: f64, y: f64, text: &str) -> Self {
        Self::new("text").number("x", x).number("y", y).fill(Colour::Ink).text(text)
    }

    pub(crate) fn attribute(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.attributes.push((name, value.into()));
        self
    }

    pub(crate) fn number(self, name: &'static str, value: f64) -> Self {
        self.attribute(name, number(value))
    }

    pub(crate) fn class(mut self, class: impl Into<String>) -> Self {
        self.classes.push(class.into());
        self
    }

    pub(crate) fn fill(mut self, colour: Colour) -> Self {
        self.attributes.retain(|(name, _)| *name != "fill");
        self.classes.retain(|class| !class.starts_with("fill-"));
        self.attribute("fill", colour.light()).class(format!("fill-{}", colour.name()))
    }

    pub(crate) fn stroke(self, stroke: Stroke) -> Self {
        let element = self
            .attribute("stroke", stroke.colour.light())
            .class(format!("stroke-{}", stroke.colour.name()))
            .number("stroke-width", stroke.width);
        if stroke.dash.is_empty() {
            element
        } else {
            element.attribute("stroke-dasharray", stroke.dash)
        }
    }

    /// The anchor of a text at its `x`: `middle` or `end`.
    pub(crate) fn anchor(self, anchor: &'static str) -> Self {
        self.attribute("text-anchor", anchor)
    }

    pub(crate) fn text(mut self, text: &str) -> Self {
        self.children.push(Node::Text(text.to_owned()));
        self
    }

    pub(crate) fn child(mut self, child: Element) -> Self {
        self.children.push(Node::Element(child));
        self
    }

    pub(crate) fn children(mut self, children: impl IntoIterator<Item = Element>) -> Self {
        self.children.extend(children.into_iter().map(Node::Element));
        self
    }
}

impl fmt::Display for Element {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<{}", self.name)?;
        if !self.classes.is_empty() {
            write!(formatter, " class=\"{}\"", escape(&self.classes.join(" ")))?;
        }
        for (name, value) in &self.attributes {
            write!(formatter, " {name}=\"{}\"", escape(value))?;
        }
        if self.children.is_empty() && SHAPES.contains(&self.name) {
            return write!(formatter, "/>");
        }
        write!(formatter, ">")?;
        for child in &self.children {
            match child {
                Node::Element(element) => write!(formatter, "{element}")?,
                Node::Text(text) => write!(formatter, "{}", escape(text))?,
            }
        }
        write!(formatter, "</{}>", self.name)
    }
}

/// A coordinate: two decimals are a hundredth of a pixel.
pub(crate) fn number(value: f64) -> String {
    // Every coordinate must be a number, whatever was computed.
    let value = if value.is_finite() { value } else { 0.0 };
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Coordinates of a line or a polygon.
pub(crate) fn coordinates(points: &[(f64, f64)]) -> String {
    points
        .iter()
        .map(|&(x, y)| format!("{},{}", number(x), number(y)))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Checks that all tags are balanced; otherwise returns the error.
#[cfg(test)]
pub(crate) fn balanced(markup: &str) -> Result<(), String> {
    let mut open: Vec<String> = Vec::new();
    let mut rest = markup;
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        let end = rest.find('>').ok_or("unterminated tag")?;
        let (tag, behind) = rest.split_at(end);
        rest = &behind[1..];
        if tag.matches('"').count() % 2 != 0 || tag.contains('<') {
            return Err(format!("broken tag <{tag}>"));
        }
        let name = tag
            .split(|character: char| character.is_whitespace())
            .next()
            .unwrap_or_default()
            .to_owned();
        if let Some(closed) = tag.strip_prefix('/') {
            match open.pop() {
                Some(last) if last == closed => {}
                last => return Err(format!("</{closed}> closes {last:?}")),
            }
        } else if !tag.ends_with('/') && !tag.starts_with('!') && name != "meta" {
            if let Some(raw_end) = (name == "script").then(|| rest.find("</script>")).flatten() {
                rest = &rest[raw_end..];
            }
            open.push(name);
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("left open: {open:?}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_never_missing() {
        let cases = [
            (1.0, "1"),
            (1.005, "1"),
            (1.257, "1.26"),
            (-0.001, "0"),
            (100.0, "100"),
            (f64::NAN, "0"),
            (f64::INFINITY, "0"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn text_and_attributes_are_escaped() {
        let element = Element::new("p").attribute("title", "\"<&>'").text("<b> & 'c'");
        assert_eq!(
            element.to_string(),
            "<p title=\"&quot;&lt;&amp;&gt;&#39;\">&lt;b&gt; &amp; &#39;c&#39;</p>"
        );
    }

    #[test]
    fn a_second_fill_replaces_the_first() {
        let text = Element::label(0.0, 0.0, "a").fill(Colour::Muted).to_string();
        assert_eq!(text.matches("fill=").count(), 1);
        assert!(text.contains("fill-muted") && !text.contains("fill-ink"));
    }

    #[test]
    fn the_check_of_balance_detects_errors() {
        assert!(balanced("<a><b/>x</a>").is_ok());
        for wrong in ["<a>", "<a></b>", "<a", "</a>", "<a x=\"></a>", "<a><b></a></b>"] {
            assert!(balanced(wrong).is_err(), "{wrong}");
        }
    }
}
