//! `outlay undo`: reverts the last `tell` or `amend`.

use outlay::ledger::Undone;
use serde::Serialize;

use crate::args::UndoArgs;
use crate::failure::Failure;
use crate::input::state_file::StateFile;
use crate::output::{CommandOutput, Format, csv, json};
use outlay_report::number::counted;

#[derive(Serialize)]
struct Record {
    removed: usize,
    /// 1 if an amendment was reverted, else absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    amendments: Option<usize>,
    open_rounds: usize,
}

pub(crate) fn run(arguments: &UndoArgs) -> Result<CommandOutput, Failure> {
    let (held, mut ledger) = StateFile::open(&arguments.state)?;
    let undone = ledger
        .undo()
        .map_err(|error| Failure(format!("{}: {error}", arguments.state.display())))?;
    held.save(&ledger)?;
    let (removed, amendments) = match undone {
        Undone::Outcomes(removed) => (removed, None),
        Undone::Amendment(_) => (0, Some(1)),
    };
    let record = Record { removed, amendments, open_rounds: ledger.open_rounds() };
    Ok(CommandOutput::new(match arguments.format {
        Format::Table => format!(
            "{} removed · {} open\n",
            match amendments {
                Some(amendments) => counted(amendments, "amendment"),
                None => counted(record.removed, "outcome"),
            },
            counted(record.open_rounds, "round")
        ),
        Format::Json => json(&record)?,
        Format::Csv => csv([record])?,
    }))
}
