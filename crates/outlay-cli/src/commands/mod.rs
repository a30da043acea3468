//! The commands: one file or folder for each.

mod allocate;
mod amend;
#[cfg(feature = "serve")]
mod backup;
mod bound;
#[cfg(feature = "serve")]
mod campaign;
mod cancel;
mod check;
#[cfg(feature = "serve")]
mod demo;
mod evaluate;
#[cfg(feature = "serve")]
mod export;
mod fit;
mod frontier;
#[cfg(feature = "serve")]
mod gc;
#[cfg(feature = "serve")]
mod import;
mod issued_round;
mod new;
mod next;
mod replay;
mod reproduce;
#[cfg(feature = "serve")]
mod restore;
#[cfg(feature = "serve")]
mod serve;
mod show;
mod simulate;
mod status;
mod target;
mod tell;
#[cfg(feature = "serve")]
mod token;
mod undo;
#[cfg(feature = "serve")]
mod verify;

use crate::args::Command;
use crate::failure::Failure;
use crate::output::CommandOutput;

/// Runs a command; `quiet` turns off progress and remarks that are printed while it runs.
pub(crate) fn run(command: &Command, quiet: bool) -> Result<CommandOutput, Failure> {
    match command {
        Command::Allocate(args) => allocate::run(args, quiet),
        Command::Evaluate(args) => evaluate::run(args, quiet),
        Command::Frontier(args) => frontier::run(args, quiet),
        Command::Check(args) => check::run(args),
        Command::Fit(args) => fit::run(args, quiet),
        Command::Bound(args) => bound::run(args),
        Command::Simulate(args) => simulate::run(args, quiet),
        Command::Replay(args) => replay::run(args, quiet),
        Command::Reproduce(args) => reproduce::run(args, quiet),
        Command::New(args) => new::run(args),
        Command::Next(args) => next::run(args),
        Command::Show(args) => show::run(args),
        Command::Cancel(args) => cancel::run(args),
        Command::Tell(args) => tell::run(args),
        Command::Status(args) => status::run(args, quiet),
        Command::Amend(args) => amend::run(args),
        Command::Undo(args) => undo::run(args),
        #[cfg(feature = "serve")]
        Command::Serve(args) => serve::run(args, quiet),
        #[cfg(feature = "serve")]
        Command::Token(args) => token::run(args),
        #[cfg(feature = "serve")]
        Command::Demo(args) => demo::run(args, quiet),
        #[cfg(feature = "serve")]
        Command::Backup(args) => backup::run(args),
        #[cfg(feature = "serve")]
        Command::Restore(args) => restore::run(args),
        #[cfg(feature = "serve")]
        Command::Export(args) => export::run(args),
        #[cfg(feature = "serve")]
        Command::Import(args) => import::run(args),
        #[cfg(feature = "serve")]
        Command::Verify(args) => verify::run(args),
        #[cfg(feature = "serve")]
        Command::Gc(args) => gc::run(args),
        #[cfg(feature = "serve")]
        Command::Campaign(args) => campaign::run(args),
        #[cfg(not(feature = "serve"))]
        Command::Service { .. } => Err(Failure(
            "this program was built without the service; build it without --no-default-features, \
             for example with `cargo install --path crates/outlay-cli`"
                .to_owned(),
        )),
    }
}
