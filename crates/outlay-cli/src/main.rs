//! The `outlay` program: parses the arguments, runs a command and writes its output.
//!
//! Results go to standard output, everything else to standard error. Exit codes: 0 success, 1 a
//! check failed, 2 invalid usage or input, 130 interrupted.

mod args;
mod commands;
mod failure;
mod input;
mod output;
mod run;

use std::process::ExitCode;

use clap::Parser;

use args::Cli;
use output::console;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(console::report_bug));
    let cli = Cli::parse();
    match commands::run(&cli.command, cli.quiet) {
        Ok(output) => console::show(&output, cli.quiet),
        Err(failure) => console::fail(&failure),
    }
}
