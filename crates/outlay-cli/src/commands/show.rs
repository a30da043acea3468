//! `outlay show`: prints an issued round again.

use outlay::ledger::LedgerError;

use super::issued_round::RoundView;
use crate::args::ShowArgs;
use crate::failure::Failure;
use crate::input::state_file;
use crate::output::CommandOutput;

pub(crate) fn run(arguments: &ShowArgs) -> Result<CommandOutput, Failure> {
    let ledger = state_file::read(&arguments.state)?;
    let (round, last) = (arguments.round, ledger.rounds());
    let issued = ledger.issued(round).ok_or(LedgerError::UnknownRound { round, last })?;
    RoundView::new(&ledger, &issued).output(arguments.format)
}
