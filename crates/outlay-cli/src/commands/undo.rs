//! `outlay undo`: reverts the last `tell`.

use serde::Serialize;

use crate::args::UndoArgs;
use crate::failure::Failure;
use crate::input::state_file::StateFile;
use crate::output::{CommandOutput, Format, csv, json};
use outlay_report::number::counted;

#[derive(Serialize)]
struct Record {
    removed: usize,
    open_rounds: usize,
}

pub(crate) fn run(arguments: &UndoArgs) -> Result<CommandOutput, Failure> {
    let (held, mut ledger) = StateFile::open(&arguments.state)?;
    let removed = ledger
        .undo()
        .map_err(|error| Failure(format!("{}: {error}", arguments.state.display())))?;
    held.save(&ledger)?;
    let record = Record { removed: removed.new, open_rounds: ledger.open_rounds() };
    Ok(CommandOutput::new(match arguments.format {
        Format::Table => format!(
            "{} removed · {} open\n",
            counted(record.removed, "outcome"),
            counted(record.open_rounds, "round")
        ),
        Format::Json => json(&record)?,
        Format::Csv => csv([record])?,
    }))
}
