//! The command line of outlay: arguments in, the library's answer out as a table, JSON or CSV.
//!
//! Results go to standard output, everything else to standard error. Exit codes: 0 done, 1 ran but
//! a check failed, 2 bad usage or input, 130 stopped.

mod allocate;
#[cfg(feature = "serve")]
mod archive;
mod arguments;
mod bound;
mod check;
mod console;
mod daily;
mod decision_report;
#[cfg(feature = "serve")]
mod demo;
mod evaluate;
mod failure;
mod fit;
mod frontier;
mod input;
mod number;
mod origin;
mod page;
mod picture;
mod plan_file;
mod replay;
mod report;
mod reproduce;
mod rows;
mod run;
#[cfg(feature = "serve")]
mod serve;
mod shell;
mod simulate;
mod simulation_report;
mod table;
mod task_names;
mod values;
mod whole_file;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command};

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(console::report_bug));
    let arguments = Arguments::parse();
    let quiet = arguments.quiet;
    let report = match &arguments.command {
        Command::Allocate(arguments) => allocate::run(arguments, quiet),
        Command::Evaluate(arguments) => evaluate::run(arguments, quiet),
        Command::Frontier(arguments) => frontier::run(arguments, quiet),
        Command::Check(arguments) => check::run(arguments),
        Command::Fit(arguments) => fit::run(arguments, quiet),
        Command::Bound(arguments) => bound::run(arguments),
        Command::Simulate(arguments) => simulate::run(arguments, quiet),
        Command::Replay(arguments) => replay::run(arguments, quiet),
        Command::Reproduce(arguments) => reproduce::run(arguments, quiet),
        Command::New(arguments) => daily::new(arguments),
        Command::Next(arguments) => daily::next(arguments),
        Command::Tell(arguments) => daily::tell(arguments),
        Command::Status(arguments) => daily::status(arguments, quiet),
        Command::Undo(arguments) => daily::undo(arguments),
        #[cfg(feature = "serve")]
        Command::Serve(arguments) => serve::run(arguments, quiet),
        #[cfg(feature = "serve")]
        Command::Token(arguments) => serve::token(arguments),
        #[cfg(feature = "serve")]
        Command::Demo(arguments) => demo::run(arguments, quiet),
        #[cfg(feature = "serve")]
        Command::Backup(arguments) => archive::backup(arguments),
        #[cfg(feature = "serve")]
        Command::Restore(arguments) => archive::restore(arguments),
        #[cfg(feature = "serve")]
        Command::Export(arguments) => archive::export(arguments),
        #[cfg(feature = "serve")]
        Command::Import(arguments) => archive::import(arguments),
        #[cfg(feature = "serve")]
        Command::Verify(arguments) => archive::verify(arguments),
    };
    match report {
        Ok(report) => console::show(&report, quiet),
        Err(failure) => console::fail(&failure),
    }
}
