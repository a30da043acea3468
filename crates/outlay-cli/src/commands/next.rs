//! `outlay next`: plans the next round and saves the split before printing it.

use outlay::ledger::{Ledger, LedgerError, RoundRequest};

use super::issued_round::RoundView;
use crate::args::NextArgs;
use crate::failure::Failure;
use crate::input::state_file::StateFile;
use crate::output::CommandOutput;

pub(crate) fn run(arguments: &NextArgs) -> Result<CommandOutput, Failure> {
    let (held, mut ledger) = StateFile::open(&arguments.state)?;
    let without: Vec<&str> = arguments.without.iter().map(String::as_str).collect();
    check_names("--without", without.iter().copied(), &ledger)?;
    let scale = named("--scale", &arguments.scale, &ledger)?;
    let volume = named("--volume", &arguments.volume, &ledger)?;
    let request = RoundRequest {
        budget: arguments.budget,
        without: &without,
        scale: &scale,
        volume: &volume,
        key: arguments.key.as_deref(),
        unit: arguments.round,
    };
    let rounds = ledger.rounds();
    let round = ledger.issue(&request).map_err(|error| match error {
        LedgerError::Rounding(error) => Failure(format!("--round: {error}")),
        other => other.into(),
    })?;
    if ledger.rounds() > rounds {
        held.save(&ledger)?;
    }
    RoundView::new(&ledger, &round).output(arguments.format)
}

/// The numbers of a repeated flag by task.
fn named<'a>(
    flag: &str,
    numbers: &'a [(String, f64)],
    ledger: &Ledger,
) -> Result<Vec<(&'a str, f64)>, Failure> {
    check_names(flag, numbers.iter().map(|(task, _)| task.as_str()), ledger)?;
    Ok(numbers.iter().map(|(task, number)| (task.as_str(), *number)).collect())
}

/// Fails if a flag names an unknown task.
fn check_names<'a>(
    flag: &str,
    mut names: impl Iterator<Item = &'a str>,
    ledger: &Ledger,
) -> Result<(), Failure> {
    let unknown = names.find_map(|name| ledger.problem().task_position(name).err());
    unknown.map_or(Ok(()), |unknown| Err(Failure(format!("{flag}: {unknown}"))))
}
