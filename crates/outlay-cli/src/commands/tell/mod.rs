//! `outlay tell`: records outcomes, either the whole file or nothing.

mod csv_outcomes;
mod json_outcomes;

use outlay::ledger::{Entry, EntryError, InvalidEntry, Ledger, LedgerError, Reported};
use serde::Serialize;

use crate::args::TellArgs;
use crate::failure::Failure;
use crate::input::csv_table::CsvFile;
use crate::input::state_file::StateFile;
use crate::output::{CommandOutput, Format, csv, json};
use outlay_report::number::counted;

pub(crate) fn run(arguments: &TellArgs) -> Result<CommandOutput, Failure> {
    // Read before locking the state, because standard input can be slow.
    let file = CsvFile::read(&arguments.outcomes)?;
    let (held, mut ledger) = StateFile::open(&arguments.state)?;
    let outcomes = if json_outcomes::is_json(file.text()) {
        json_outcomes::read(&ledger, file.text())
    } else {
        csv_outcomes::read(&ledger, &file, arguments.csv.form())?
    };
    let empty = outcomes.empty;
    let reported = take(&mut ledger, outcomes, arguments.revise)
        .map_err(|errors| Failure::many(&file.name, &errors))?;
    if reported.new + reported.revised + reported.spends > 0 {
        held.save(&ledger)?;
    }
    let record = Record {
        new: reported.new,
        repeated: reported.repeated,
        revised: reported.revised,
        spends: reported.spends,
        clipped: reported.clipped,
        empty,
        open_rounds: ledger.open_rounds(),
    };
    let output = match arguments.format {
        Format::Table => CommandOutput::new(format!("{}\n", sentence(reported, &record))),
        Format::Json => CommandOutput::new(json(&record)?),
        Format::Csv => CommandOutput::new(csv([record])?),
    };
    Ok(output.with_remarks(file.remark.into_iter().collect()))
}

/// Records the entries, or returns all errors of the file: syntax errors, then contradictions.
fn take(ledger: &mut Ledger, outcomes: Outcomes, revises: bool) -> Result<Reported, Vec<String>> {
    let Outcomes { entries, places, mut errors, .. } = outcomes;
    let reported = if revises { ledger.revise(&entries) } else { ledger.report(&entries) };
    match reported {
        Ok(reported) if errors.is_empty() => return Ok(reported),
        Ok(_) => {}
        Err(LedgerError::Entries(refused)) => {
            let line = |InvalidEntry { position, reason }: &InvalidEntry| {
                let is_other = matches!(reason, EntryError::Contradiction { .. }) && !revises;
                let hint = if is_other { "; --revise replaces it" } else { "" };
                format!("{}: {reason}{hint}", places[*position])
            };
            errors.extend(refused.iter().map(line));
        }
        Err(other) => return Err(vec![other.to_string()]),
    }
    Err(errors)
}

#[derive(Serialize)]
struct Record {
    new: usize,
    repeated: usize,
    revised: usize,
    /// Outcomes that were reported before and now got their spend.
    spends: usize,
    /// New or corrected outcomes whose reward was above the largest one and was clipped.
    clipped: usize,
    /// Rows whose completions are empty, because the outcome is not known yet.
    empty: usize,
    open_rounds: usize,
}

fn sentence(reported: Reported, record: &Record) -> String {
    let mut parts = Vec::new();
    if reported.new > 0 {
        parts.push(format!("{} recorded", counted(reported.new, "outcome")));
    }
    if reported.revised > 0 {
        parts.push(format!("{} revised", counted(reported.revised, "outcome")));
    }
    if reported.spends > 0 {
        parts.push(format!("{} added to earlier outcomes", counted(reported.spends, "spend")));
    }
    if parts.is_empty() {
        parts.push("nothing new".to_owned());
    }
    if reported.repeated > 0 {
        parts.push(format!("{} already recorded", reported.repeated));
    }
    if reported.clipped > 0 {
        parts.push(format!("{} clipped to reward_max", counted(reported.clipped, "reward")));
    }
    if record.empty > 0 {
        parts.push(format!("{} still empty", record.empty));
    }
    parts.push(format!("{} open", counted(record.open_rounds, "round")));
    parts.join(" · ")
}

/// The entries of a file with their places, and all syntax errors.
#[derive(Default)]
struct Outcomes {
    entries: Vec<Entry>,
    /// The place of each entry in messages, such as `line 3`.
    places: Vec<String>,
    empty: usize,
    errors: Vec<String>,
}
