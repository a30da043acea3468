//! `outlay next`: plans the next round and saves the split before printing it.

use outlay::ledger::{LedgerError, RoundRequest};

use super::issued_round::RoundView;
use crate::args::NextArgs;
use crate::failure::Failure;
use crate::input::state_file::StateFile;
use crate::output::CommandOutput;

pub(crate) fn run(arguments: &NextArgs) -> Result<CommandOutput, Failure> {
    let (held, mut ledger) = StateFile::open(&arguments.state)?;
    let without: Vec<&str> = arguments.without.iter().map(String::as_str).collect();
    let request = RoundRequest {
        budget: arguments.budget,
        without: &without,
        key: arguments.key.as_deref(),
        unit: arguments.round,
    };
    let rounds = ledger.rounds();
    let round = ledger.issue(&request).map_err(|error| match error {
        LedgerError::UnknownTask(name) => {
            let found = ledger.problem().task_position(&name).err();
            Failure(format!("--without: {}", found.map_or(name, |error| error.to_string())))
        }
        LedgerError::Rounding(error) => Failure(format!("--round: {error}")),
        other => other.into(),
    })?;
    if ledger.rounds() > rounds {
        held.save(&ledger)?;
    }
    RoundView::new(&ledger, &round).output(arguments.format)
}
