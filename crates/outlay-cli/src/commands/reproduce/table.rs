//! Verdicts as text.

use outlay::claims::{Check, Claim, Verdict};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::table::{Align, Table};
use crate::output::{self, CommandOutput, Format};
use outlay_report::number;
use outlay_report::reproduction::{JudgedClaim, condition};

/// One line per claim, followed by the failed checks.
pub(super) fn verdicts(judged: &[JudgedClaim]) -> String {
    let columns = [
        ("claim", Align::Left),
        ("verdict", Align::Left),
        ("checks", Align::Right),
        ("runs", Align::Right),
        ("seeds", Align::Right),
        ("run time", Align::Right),
        ("", Align::Left),
    ];
    let mut table = Table::new(&columns);
    for judged in judged {
        let checks = &judged.finding.checks;
        let passed = checks.iter().filter(|check| check.passed()).count();
        table.row(vec![
            judged.claim.name.to_owned(),
            judged.verdict.as_str().to_owned(),
            format!("{passed} of {}", checks.len()),
            if judged.runs > 0 { number::grouped(&judged.runs.to_string()) } else { String::new() },
            judged.seeds.map(|(first, last)| format!("{first}–{last}")).unwrap_or_default(),
            number::duration(judged.seconds),
            judged.claim.title.to_owned(),
        ]);
    }
    let mut text = table.render();
    for judged in judged.iter().filter(|judged| judged.verdict == Verdict::NotShown) {
        text.push_str(&format!("\n{} is not shown:\n", judged.claim.name));
        for check in judged.finding.checks.iter().filter(|check| !check.passed()) {
            text.push_str(&format!("  {}\n", sentence(check)));
        }
    }
    text
}

/// `kl-ucb-plus: worst regret ÷ (K√T) is 0.21, wanted at most 11.6`.
pub(super) fn sentence(check: &Check) -> String {
    format!(
        "{} is {}, wanted {}",
        check.what,
        number::figure(check.measured),
        condition(check.wanted)
    )
}

#[derive(Serialize)]
struct Listed {
    claim: &'static str,
    title: &'static str,
    source: &'static str,
    statement: &'static str,
    criterion: &'static str,
}

/// Lists the claims.
pub(super) fn list(claims: &[Claim], format: Format) -> Result<CommandOutput, Failure> {
    let listed = claims.iter().map(|claim| Listed {
        claim: claim.name,
        title: claim.title,
        source: claim.source,
        statement: claim.statement,
        criterion: claim.criterion,
    });
    Ok(CommandOutput::new(match format {
        Format::Json => output::json(&listed.collect::<Vec<_>>())?,
        Format::Csv => output::csv(listed)?,
        Format::Table => listed.map(|claim| paragraph(&claim)).collect::<Vec<_>>().join("\n"),
    }))
}

fn paragraph(claim: &Listed) -> String {
    format!(
        "{} ({})\n  {}\n  criterion: {}\n",
        claim.claim, claim.source, claim.statement, claim.criterion
    )
}
