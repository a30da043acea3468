//! Self-contained HTML pages: figures, style and script in one file.

mod figure;

pub(crate) use figure::{Figure, HALF, LineChart, WHOLE, with_intervals};

use crate::svg::{Element, dark_style};

/// A page and its figures as separate files.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The HTML of the page.
    pub html: String,
    /// File name and SVG of each figure.
    pub pictures: Vec<(String, String)>,
}

/// A file name of lower-case letters, digits and hyphens.
pub(crate) fn file_name(text: &str) -> String {
    const LONGEST: usize = 60;
    let simple = |character: char| {
        if character.is_ascii_alphanumeric() { character.to_ascii_lowercase() } else { '-' }
    };
    let name: String = text.chars().map(simple).collect();
    let words: Vec<&str> = name.split('-').filter(|word| !word.is_empty()).collect();
    let mut name = words.join("-");
    name.truncate(LONGEST);
    name.trim_end_matches('-').to_owned()
}

/// The HTML of a page; `command` is the command line that makes it.
pub(crate) fn document(
    title: &str,
    command: &str,
    contents: Option<Element>,
    sections: Vec<Element>,
) -> String {
    let command = Element::new("pre").class("command").child(Element::new("code").text(command));
    let header = Element::new("header").child(Element::new("h1").text(title)).child(command);
    let body = Element::new("main").child(header).children(contents).children(sections);
    let name = Element::new("title").text(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n{name}\n<style>\n{}{}\n</style>\n</head>\n<body>\n{body}\n\
         <script>\n{}</script>\n</body>\n</html>\n",
        include_str!("page.css"),
        dark_style(),
        include_str!("page.js"),
    )
}
