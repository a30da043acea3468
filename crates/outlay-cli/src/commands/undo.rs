//! `outlay undo`: reverts the last `tell`.

use crate::args::UndoArgs;
use crate::failure::Failure;
use crate::input::state_file::StateFile;
use crate::output::CommandOutput;
use outlay_report::number::counted;

pub(crate) fn run(arguments: &UndoArgs) -> Result<CommandOutput, Failure> {
    let (held, mut ledger) = StateFile::open(&arguments.state)?;
    let removed = ledger
        .undo()
        .map_err(|error| Failure(format!("{}: {error}", arguments.state.display())))?;
    held.save(&ledger)?;
    let outcomes = counted(removed.new, "outcome");
    Ok(CommandOutput::new(format!(
        "{outcomes} removed · {} open\n",
        counted(ledger.open_rounds(), "round")
    )))
}
