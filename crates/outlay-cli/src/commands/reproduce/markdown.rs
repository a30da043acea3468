//! A claim's verdict, checks and numbers as Markdown. The text does not depend on the machine.

use outlay::claims::Check;

use outlay_report::reproduction::{JudgedClaim, condition, number, value};

pub(super) fn claim(judged: &JudgedClaim) -> String {
    let passed = judged.finding.checks.iter().filter(|check| check.passed()).count();
    let seeds = judged
        .seeds
        .map(|(first, last)| format!("; {} runs, seeds {first} to {last}", judged.runs))
        .unwrap_or_default();
    let (verdict, checks) = (judged.verdict.as_str(), judged.finding.checks.len());
    let head = format!("**Verdict: {verdict}.** {passed} of {checks} checks passed{seeds}.\n");
    let criterion = format!("Criterion: {}\n", judged.claim.criterion);
    let checks =
        rows(&["check", "measured", "wanted", ""], judged.finding.checks.iter().map(check));
    let columns: Vec<&str> = judged.finding.table.columns.iter().map(String::as_str).collect();
    let numbers =
        rows(&columns, judged.finding.table.rows.iter().map(|row| row.iter().map(value).collect()));
    format!("{head}\n{criterion}\n{checks}\n{numbers}")
}

fn check(check: &Check) -> Vec<String> {
    let mark = if check.passed() { "yes" } else { "**no**" };
    vec![check.what.clone(), number(check.measured), condition(check.wanted), mark.to_owned()]
}

fn rows(columns: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let header: Vec<String> = columns.iter().map(|&column| column.to_owned()).collect();
    let rule = format!("|{}\n", "---|".repeat(columns.len()));
    let body: String = rows.map(|row| line(&row)).collect();
    format!("{}{rule}{body}", line(&header))
}
