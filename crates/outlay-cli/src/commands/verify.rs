//! `outlay verify`: recomputes the counts of a store from its feedback and compares them.

use outlay_server::store::{SqliteStore, Verified};
use serde::Serialize;

use crate::args::VerifyArgs;
use crate::failure::Failure;
use crate::input::store::{existing_database, folder_or_default};
use crate::output::store_contents::counts_text;
use crate::output::{CommandOutput, Ending, Format, csv, json};

pub(crate) fn run(arguments: &VerifyArgs) -> Result<CommandOutput, Failure> {
    let verified = match arguments.store.database() {
        Some(url) => existing_database(&url)?.verify(),
        None => SqliteStore::verify_in(folder_or_default(arguments.store.data.as_deref())),
    };
    let verified = verified.map_err(|error| Failure(error.what))?;
    let sound = verified.faults.is_empty();
    let result = match arguments.format {
        Format::Table => text(&verified),
        Format::Json => json(&Record::new(&verified))?,
        Format::Csv if sound => csv([Row::new(&verified, "")])?,
        Format::Csv => csv(verified.faults.iter().map(|fault| Row::new(&verified, fault)))?,
    };
    Ok(CommandOutput {
        ending: if sound { Ending::Success } else { Ending::CheckFailed },
        ..CommandOutput::new(result)
    })
}

fn text(verified: &Verified) -> String {
    let Verified { campaigns, rounds, items, faults } = verified;
    let counts = counts_text(*campaigns, *rounds, *items);
    if faults.is_empty() {
        return format!("sound: {counts}; every count matches the recorded feedback\n");
    }
    let faults: String = faults.iter().map(|fault| format!("  {fault}\n")).collect();
    format!("not sound: {counts}\n{faults}")
}

#[derive(Serialize)]
struct Record<'a> {
    sound: bool,
    campaigns: u64,
    rounds: u64,
    items: u64,
    faults: &'a [String],
}

impl<'a> Record<'a> {
    fn new(verified: &'a Verified) -> Self {
        let Verified { campaigns, rounds, items, faults } = verified;
        Self {
            sound: faults.is_empty(),
            campaigns: *campaigns,
            rounds: *rounds,
            items: *items,
            faults,
        }
    }
}

#[derive(Serialize)]
struct Row<'a> {
    sound: bool,
    campaigns: u64,
    rounds: u64,
    items: u64,
    fault: &'a str,
}

impl<'a> Row<'a> {
    fn new(verified: &Verified, fault: &'a str) -> Self {
        let Verified { campaigns, rounds, items, faults } = verified;
        Self {
            sound: faults.is_empty(),
            campaigns: *campaigns,
            rounds: *rounds,
            items: *items,
            fault,
        }
    }
}
