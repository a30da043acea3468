//! `outlay undo`: takes back the last `tell`.

use super::state_file::StateFile;
use crate::arguments::UndoArguments;
use crate::failure::Failure;
use crate::number::counted;
use crate::report::Report;

pub(crate) fn run(arguments: &UndoArguments) -> Result<Report, Failure> {
    let (held, mut ledger) = StateFile::open(&arguments.state)?;
    let taken_back = ledger
        .undo()
        .map_err(|error| Failure(format!("{}: {error}", arguments.state.display())))?;
    held.save(&ledger)?;
    let outcomes = counted(taken_back.new, "outcome");
    Ok(Report::new(format!(
        "{outcomes} taken back · {} open\n",
        counted(ledger.open_rounds(), "round")
    )))
}
