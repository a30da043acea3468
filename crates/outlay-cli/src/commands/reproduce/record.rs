//! Verdicts as JSON and CSV. They do not depend on the clock or on the number of threads.

use outlay::claims::{Check, Value, Verdict, Wanted};
use serde::Serialize;

use crate::failure::Failure;
use crate::output;
use outlay_report::reproduction::JudgedClaim;

#[derive(Serialize)]
struct Record<'a> {
    outlay: &'static str,
    command: &'a str,
    claims: Vec<ClaimRecord<'a>>,
}

#[derive(Serialize)]
struct ClaimRecord<'a> {
    claim: &'static str,
    title: &'static str,
    source: &'static str,
    statement: &'static str,
    criterion: &'static str,
    verdict: &'static str,
    runs: usize,
    seeds: Option<(u64, u64)>,
    checks: Vec<CheckRecord<'a>>,
    table: TableRecord<'a>,
}

#[derive(Serialize)]
struct CheckRecord<'a> {
    what: &'a str,
    measured: f64,
    wanted: Wanted,
    passed: bool,
}

#[derive(Serialize)]
struct TableRecord<'a> {
    columns: &'a [String],
    rows: Vec<Vec<serde_json::Value>>,
}

fn check(check: &Check) -> CheckRecord<'_> {
    CheckRecord {
        what: &check.what,
        measured: check.measured,
        wanted: check.wanted,
        passed: check.passed(),
    }
}

/// A mean with the half-width of its 95 % interval.
fn value(value: &Value) -> serde_json::Value {
    match value {
        Value::Text(text) => text.as_str().into(),
        Value::Number(number) => (*number).into(),
        Value::Mean(mean, half) => serde_json::json!({ "mean": mean, "half95": half }),
    }
}

fn claim(judged: &JudgedClaim) -> ClaimRecord<'_> {
    let rows =
        judged.finding.table.rows.iter().map(|row| row.iter().map(value).collect()).collect();
    ClaimRecord {
        claim: judged.claim.name,
        title: judged.claim.title,
        source: judged.claim.source,
        statement: judged.claim.statement,
        criterion: judged.claim.criterion,
        verdict: judged.verdict.as_str(),
        runs: judged.runs,
        seeds: judged.seeds,
        checks: judged.finding.checks.iter().map(check).collect(),
        table: TableRecord { columns: &judged.finding.table.columns, rows },
    }
}

pub(super) fn json(command: &str, judged: &[JudgedClaim]) -> Result<String, Failure> {
    output::json(&Record {
        outlay: env!("CARGO_PKG_VERSION"),
        command,
        claims: judged.iter().map(claim).collect(),
    })
}

/// One row per check.
#[derive(Serialize)]
struct Row<'a> {
    claim: &'static str,
    verdict: &'static str,
    check: &'a str,
    measured: f64,
    at_least: Option<f64>,
    at_most: Option<f64>,
    passed: bool,
}

pub(super) fn csv(judged: &[JudgedClaim]) -> Result<String, Failure> {
    let rows = judged.iter().flat_map(|judged| {
        judged.finding.checks.iter().map(|check| row(judged.claim.name, judged.verdict, check))
    });
    output::csv(rows)
}

fn row<'a>(claim: &'static str, verdict: Verdict, check: &'a Check) -> Row<'a> {
    let (at_least, at_most) = match check.wanted {
        Wanted::AtMost(most) => (None, Some(most)),
        Wanted::AtLeast(least) => (Some(least), None),
        Wanted::Between(least, most) => (Some(least), Some(most)),
        Wanted::Exactly(number) => (Some(number), Some(number)),
    };
    let verdict = verdict.as_str();
    Row {
        claim,
        verdict,
        check: &check.what,
        measured: check.measured,
        at_least,
        at_most,
        passed: check.passed(),
    }
}
