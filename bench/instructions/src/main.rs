//! Instructions of the hot paths next to the committed baseline. `bench/instructions/run` calls it:
//!
//! ```text
//! outlay-instructions machine COMPILER LIBRARY     what decides how many instructions are executed; to be run under valgrind
//! outlay-instructions comparable MACHINE BASELINE     exit code 0 if the baseline was made on such a machine, 3 if not
//! outlay-instructions compare COUNTS BASELINE     exit code 1 if a case has grown by a tenth or more
//! outlay-instructions save COUNTS MACHINE BASELINE
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command")]

mod baseline;

use std::error::Error;
use std::process::ExitCode;

use baseline::{Baseline, Machine, counts};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    run(&arguments).unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(2)
    })
}

fn run(arguments: &[&str]) -> Result<ExitCode, Box<dyn Error>> {
    match *arguments {
        ["machine", compiler, library] => {
            println!("{}", serde_json::to_string(&Machine::here(compiler, library))?);
            Ok(ExitCode::SUCCESS)
        }
        ["comparable", machine, baseline] => {
            let Some(reason) = stored::<Baseline>(baseline)?.not_comparable(&stored(machine)?) else { return Ok(ExitCode::SUCCESS) };
            println!("{reason}");
            Ok(ExitCode::from(3))
        }
        ["compare", counted, baseline] => {
            let compared = stored::<Baseline>(baseline)?.compare(&counts(&read(counted)?)?);
            print!("{compared}");
            Ok(if compared.faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        ["save", counted, machine, baseline] => {
            let made = Baseline { machine: stored(machine)?, instructions: counts(&read(counted)?)? };
            std::fs::write(baseline, serde_json::to_string_pretty(&made)? + "\n")?;
            println!("{baseline}: {} cases", made.instructions.len());
            Ok(ExitCode::SUCCESS)
        }
        _ => Err("usage: outlay-instructions machine|comparable|compare|save …; the source says what follows".into()),
    }
}

fn stored<T: serde::de::DeserializeOwned>(path: &str) -> Result<T, Box<dyn Error>> {
    serde_json::from_str(&read(path)?).map_err(|error| format!("{path}: {error}").into())
}

fn read(path: &str) -> Result<String, Box<dyn Error>> {
    std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}").into())
}
