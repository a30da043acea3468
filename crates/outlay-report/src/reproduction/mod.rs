//! The report of the claims of the paper and our own: claim, criterion, checks and verdict.

mod panel;

use outlay::claims::{Check, Claim, Finding, Value, Verdict, Wanted};

use crate::number::{self, duration};
use crate::page::{Figure, Page, document, file_name};
use crate::svg::Element;

/// A claim with its finding and verdict.
#[derive(Debug)]
pub struct JudgedClaim {
    /// The claim.
    pub claim: Claim,
    /// Checks, figures and table.
    pub finding: Finding,
    /// The verdict.
    pub verdict: Verdict,
    /// First and last seed of the runs; absent if the claim draws its own.
    pub seeds: Option<(u64, u64)>,
    /// Number of runs.
    pub runs: usize,
    /// Total run time in seconds, including earlier interrupted runs.
    pub seconds: f64,
}

/// The condition of a check: `at most 11.6`.
pub fn condition(wanted: Wanted) -> String {
    match wanted {
        Wanted::AtMost(most) => format!("at most {most}"),
        Wanted::AtLeast(least) => format!("at least {least}"),
        Wanted::Between(least, most) => format!("between {least} and {most}"),
        Wanted::Exactly(number) => format!("exactly {number}"),
    }
}

/// A number of a finding: counts in full, other numbers with four digits.
pub fn number(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < 1e7 {
        number::grouped(&number.to_string())
    } else {
        number::figure(number)
    }
}

/// A cell of a finding's table.
pub fn value(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Number(value) => number(*value),
        Value::Mean(mean, half) if half.is_finite() => {
            format!("{} ± {}", number::figure(*mean), number::figure(*half))
        }
        Value::Mean(mean, _) => number::figure(*mean),
    }
}

/// Makes the report; `command` is the command line that repeats the run.
pub fn page(command: &str, judged: &[JudgedClaim]) -> Page {
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
    let html = document("Claims and experiments", command, Some(overview(judged)), sections);
    Page { html, pictures }
}

fn figures(judged: &JudgedClaim) -> Vec<Figure> {
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

/// Text with names in backticks.
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

fn overview(judged: &[JudgedClaim]) -> Element {
    let row = |judged: &JudgedClaim| {
        let link = Element::new("a")
            .attribute("href", format!("#{}", judged.claim.name))
            .child(words("span", judged.claim.title));
        Element::new("tr")
            .child(Element::new("td").child(link))
            .child(cell(judged.claim.source))
            .child(Element::new("td").child(verdict(judged.verdict)))
            .child(cell(&duration(judged.seconds)))
    };
    let body = Element::new("tbody").children(judged.iter().map(row));
    let table = Element::new("table")
        .child(header(&["claim", "source", "verdict", "run time"]))
        .child(body);
    Element::new("nav")
        .attribute("aria-label", "Claims")
        .child(Element::new("div").class("scroll").child(table))
}

fn section(judged: &JudgedClaim, figures: &[Figure]) -> Element {
    let claim = &judged.claim;
    let paragraph = |label: &str, text: &str| {
        Element::new("p")
            .child(Element::new("strong").text(label))
            .child(words("span", &format!(" {text}")))
    };
    let heading = words("h2", &format!("{} ", claim.title)).child(verdict(judged.verdict));
    let runs = match judged.seeds {
        Some((first, last)) => {
            format!("{} runs, seeds {first} to {last}, {}.", judged.runs, duration(judged.seconds))
        }
        None => format!("Computed in {}.", duration(judged.seconds)),
    };
    let again = Element::new("pre")
        .class("command")
        .child(Element::new("code").text(&format!("outlay reproduce {}", claim.name)));
    Element::new("section")
        .attribute("id", claim.name)
        .child(heading)
        .child(paragraph("Claim.", &format!("{} ({})", claim.statement, claim.source)))
        .child(paragraph("Criterion.", claim.criterion))
        .child(paragraph("Runs.", &runs))
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
            .child(cell(&number(check.measured)).class("number"))
            .child(cell(&condition(check.wanted)))
            .child(cell(mark))
    };
    let body = Element::new("tbody").children(checks.iter().map(row));
    let table =
        Element::new("table").child(header(&["check", "measured", "wanted", ""])).child(body);
    Element::new("div").class("scroll").child(table)
}

fn table(judged: &JudgedClaim) -> Element {
    let columns: Vec<&str> = judged.finding.table.columns.iter().map(String::as_str).collect();
    let value = |content: &Value| match content {
        Value::Text(text) => cell(text),
        Value::Number(_) | Value::Mean(..) => cell(&value(content)).class("number"),
    };
    let row = |row: &Vec<Value>| Element::new("tr").children(row.iter().map(value));
    let body = Element::new("tbody").children(judged.finding.table.rows.iter().map(row));
    Element::new("div")
        .class("scroll")
        .child(Element::new("table").child(header(&columns)).child(body))
}
