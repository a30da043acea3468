//! A claim's verdict, checks and numbers as Markdown, to put on a page.

use outlay::claims::{Check, Value};

use super::Judged;
use super::table::wanted;
use crate::console;
use crate::number;

pub(super) fn claim(judged: &Judged) -> String {
    let passed = judged.finding.checks.iter().filter(|check| check.passed()).count();
    let seeds = judged
        .seeds
        .map(|(first, last)| format!("{} runs, seeds {first} to {last}; ", judged.runs))
        .unwrap_or_default();
    let (verdict, checks, time) =
        (judged.verdict.as_str(), judged.finding.checks.len(), console::duration(judged.seconds));
    let head = format!(
        "**Verdict: {verdict}.** {passed} of {checks} checks passed; {seeds}run time {time}.\n"
    );
    let criterion = format!("Shown if: {}\n", judged.claim.criterion);
    let checks =
        rows(&["check", "measured", "wanted", ""], judged.finding.checks.iter().map(check));
    let columns: Vec<&str> = judged.finding.table.columns.iter().map(String::as_str).collect();
    let numbers =
        rows(&columns, judged.finding.table.rows.iter().map(|row| row.iter().map(value).collect()));
    format!("{head}\n{criterion}\n{checks}\n{numbers}")
}

fn check(check: &Check) -> Vec<String> {
    let mark = if check.passed() { "yes" } else { "**no**" };
    vec![check.what.clone(), figure(check.measured), wanted(check.wanted), mark.to_owned()]
}

fn value(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Number(number) => figure(*number),
        Value::Mean(mean, half) if half.is_finite() => {
            format!("{} ± {}", number::figure(*mean), number::figure(*half))
        }
        Value::Mean(mean, _) => number::figure(*mean),
    }
}

/// A count as it is, another number with four digits.
pub(super) fn figure(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < 1e7 {
        number::grouped(&number.to_string())
    } else {
        number::figure(number)
    }
}

fn rows(columns: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let header: Vec<String> = columns.iter().map(|&column| column.to_owned()).collect();
    let rule = format!("|{}\n", "---|".repeat(columns.len()));
    let body: String = rows.map(|row| line(&row)).collect();
    format!("{}{rule}{body}", line(&header))
}
