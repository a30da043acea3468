//! `outlay cancel`: cancels a round that was not played.

use serde::Serialize;

use crate::args::CancelArgs;
use crate::failure::Failure;
use crate::input::state_file::StateFile;
use crate::output::{CommandOutput, Format, csv, json};
use outlay_report::number::counted;

#[derive(Serialize)]
struct Record {
    cancelled: u64,
    open_rounds: usize,
}

pub(crate) fn run(arguments: &CancelArgs) -> Result<CommandOutput, Failure> {
    let (held, mut ledger) = StateFile::open(&arguments.state)?;
    ledger.cancel(arguments.round)?;
    held.save(&ledger)?;
    let record = Record { cancelled: arguments.round, open_rounds: ledger.open_rounds() };
    Ok(CommandOutput::new(match arguments.format {
        Format::Table => {
            let open = counted(record.open_rounds, "round");
            format!("round {} cancelled · {open} open\n", record.cancelled)
        }
        Format::Json => json(&record)?,
        Format::Csv => csv([record])?,
    }))
}
