//! The page of all claims: what is claimed, what would show it, what came out.

use outlay::claims::{Check, Value, Verdict};

use super::Judged;
use super::markdown::figure;
use super::panel;
use super::table::wanted;
use crate::console;
use crate::number;
use crate::page::{Figure, document, file_name};
use crate::picture::Element;

/// The page and its pictures by the names of their files.
pub(super) struct Page {
    pub(super) html: String,
    pub(super) pictures: Vec<(String, String)>,
}

pub(super) fn page(command: &str, judged: &[Judged]) -> Page {
    let mut pictures = Vec::new();
    let mut sections = Vec::new();
    for judged in judged {
        let figures = figures(judged);
        for figure in &figures {
            pictures.extend(
                figure
                    .picture
                    .as_ref()
                    .map(|picture| (format!("{}.svg", figure.file), picture.file())),
            );
        }
        sections.push(section(judged, &figures));
    }
    let html = document("The paper, executable", command, Some(overview(judged)), sections);
    Page { html, pictures }
}

fn figures(judged: &Judged) -> Vec<Figure> {
    let name = |heading: &str| format!("{}-{}", judged.claim.name, file_name(heading));
    judged.finding.panels.iter().map(|panel| panel::figure(panel, &name(panel.heading))).collect()
}

fn verdict(verdict: Verdict) -> Element {
    let class = match verdict {
        Verdict::Holds => "badge holds",
        Verdict::Consistent => "badge consistent",
        Verdict::NotShown => "badge not-shown",
    };
    Element::new("span").class(class).text(verdict.as_str())
}

fn cell(content: &str) -> Element {
    words("td", content)
}

/// Text in which names stand between backticks.
fn words(tag: &'static str, content: &str) -> Element {
    let piece = |(position, piece): (usize, &str)| {
        Element::new(if position % 2 == 0 { "span" } else { "code" }).text(piece)
    };
    Element::new(tag)
        .children(content.split('`').enumerate().filter(|(_, piece)| !piece.is_empty()).map(piece))
}

fn header(columns: &[&str]) -> Element {
    let row =
        Element::new("tr").children(columns.iter().map(|column| Element::new("th").text(column)));
    Element::new("thead").child(row)
}

fn overview(judged: &[Judged]) -> Element {
    let row = |judged: &Judged| {
        let link = Element::new("a")
            .attribute("href", format!("#{}", judged.claim.name))
            .child(words("span", judged.claim.title));
        Element::new("tr")
            .child(Element::new("td").child(link))
            .child(cell(judged.claim.source))
            .child(Element::new("td").child(verdict(judged.verdict)))
            .child(cell(&console::duration(judged.seconds)))
    };
    let body = Element::new("tbody").children(judged.iter().map(row));
    let table = Element::new("table")
        .child(header(&["claim", "source", "verdict", "run time"]))
        .child(body);
    Element::new("nav")
        .attribute("aria-label", "Claims")
        .child(Element::new("div").class("scroll").child(table))
}

fn section(judged: &Judged, figures: &[Figure]) -> Element {
    let claim = &judged.claim;
    let paragraph = |label: &str, text: &str| {
        Element::new("p")
            .child(Element::new("strong").text(label))
            .child(words("span", &format!(" {text}")))
    };
    let heading = words("h2", &format!("{} ", claim.title)).child(verdict(judged.verdict));
    let runs = match judged.seeds {
        Some((first, last)) => format!(
            "{} runs, seeds {first} to {last}, {}.",
            judged.runs,
            console::duration(judged.seconds)
        ),
        None => format!("Computed in {}.", console::duration(judged.seconds)),
    };
    let again = Element::new("pre")
        .class("command")
        .child(Element::new("code").text(&format!("outlay reproduce {}", claim.name)));
    Element::new("section")
        .attribute("id", claim.name)
        .child(heading)
        .child(paragraph("Claim.", &format!("{} ({})", claim.statement, claim.source)))
        .child(paragraph("Shown if.", claim.criterion))
        .child(paragraph("Played.", &runs))
        .child(again)
        .child(checks(&judged.finding.checks))
        .child(Element::new("div").class("figures").children(figures.iter().map(Figure::element)))
        .child(table(judged))
}

fn checks(checks: &[Check]) -> Element {
    let row = |check: &Check| {
        let mark = if check.passed() { "✓" } else { "✗ fails" };
        Element::new("tr")
            .child(cell(&check.what))
            .child(cell(&figure(check.measured)).class("number"))
            .child(cell(&wanted(check.wanted)))
            .child(cell(mark))
    };
    let body = Element::new("tbody").children(checks.iter().map(row));
    let table =
        Element::new("table").child(header(&["check", "measured", "wanted", ""])).child(body);
    Element::new("div").class("scroll").child(table)
}

fn table(judged: &Judged) -> Element {
    let columns: Vec<&str> = judged.finding.table.columns.iter().map(String::as_str).collect();
    let value = |value: &Value| match value {
        Value::Text(text) => cell(text),
        Value::Number(number) => cell(&figure(*number)).class("number"),
        Value::Mean(mean, half) if half.is_finite() => {
            cell(&format!("{} ± {}", number::figure(*mean), number::figure(*half))).class("number")
        }
        Value::Mean(mean, _) => cell(&number::figure(*mean)).class("number"),
    };
    let row = |row: &Vec<Value>| Element::new("tr").children(row.iter().map(value));
    let body = Element::new("tbody").children(judged.finding.table.rows.iter().map(row));
    Element::new("div")
        .class("scroll")
        .child(Element::new("table").child(header(&columns)).child(body))
}
