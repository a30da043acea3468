//! Instruction counts of the hot paths, compared with the committed baseline.
//!
//! ```text
//! outlay-instructions compare BASELINE COMPILER LIBRARY     exit code 1 if a case has grown by a tenth or more
//! outlay-instructions save BASELINE COMPILER LIBRARY        writes the baseline
//! outlay-instructions case NAME                             runs one case; the others call this under valgrind
//! outlay-instructions machine COMPILER LIBRARY              prints the machine as the process sees it
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command")]

mod baseline;
mod callgrind;
mod cases;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;

use baseline::{Baseline, Counts, Machine};

/// Valgrind processes at the same time. Counts do not depend on it.
const PROCESSES: usize = 2;

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
        ["compare", baseline, compiler, library] => {
            let baseline: Baseline = stored(baseline)?;
            if let Some(reason) = baseline.not_comparable(&machine(compiler, library)?) {
                println!("{reason}");
                return Ok(ExitCode::SUCCESS);
            }
            let compared = baseline.compare(&counts()?);
            print!("{compared}");
            Ok(if compared.faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        ["save", path, compiler, library] => {
            let made = Baseline { machine: machine(compiler, library)?, instructions: counts()? };
            std::fs::write(path, serde_json::to_string_pretty(&made)? + "\n")?;
            println!("{path}: {} cases", made.instructions.len());
            Ok(ExitCode::SUCCESS)
        }
        ["case", name] => {
            let all = cases::all();
            let case = all.iter().find(|case| case.name == name);
            case.ok_or_else(|| format!("there is no case `{name}`"))?.run();
            Ok(ExitCode::SUCCESS)
        }
        ["machine", compiler, library] => {
            println!("{}", serde_json::to_string(&Machine::here(compiler, library))?);
            Ok(ExitCode::SUCCESS)
        }
        _ => Err("usage: outlay-instructions compare|save BASELINE COMPILER LIBRARY".into()),
    }
}

/// The machine as a process under valgrind sees it.
fn machine(compiler: &str, library: &str) -> Result<Machine, Box<dyn Error>> {
    let output = Command::new("valgrind")
        .args(["--quiet", "--tool=none"])
        .arg(std::env::current_exe()?)
        .args(["machine", compiler, library])
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The counts of all cases, each measured in its own process.
fn counts() -> Result<Counts, Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("outlay-instructions-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let names: Vec<String> = cases::all().into_iter().map(|case| case.name).collect();
    let counted = count_all(&names, &folder);
    std::fs::remove_dir_all(&folder)?;
    Ok(counted?)
}

fn count_all(names: &[String], folder: &Path) -> Result<Counts, String> {
    let waiting = Mutex::new(names.iter());
    let counted = Mutex::new(Ok(Counts::new()));
    let lock = "no thread panics while it holds a lock";
    std::thread::scope(|scope| {
        for process in 0..PROCESSES {
            let profile: PathBuf = folder.join(process.to_string());
            let (waiting, counted) = (&waiting, &counted);
            scope.spawn(move || {
                loop {
                    let Some(name) = waiting.lock().expect(lock).next() else { break };
                    let count = callgrind::count(&["case", name], &profile);
                    let mut all = counted.lock().expect(lock);
                    match (all.as_mut(), count) {
                        (Ok(counts), Ok(count)) => drop(counts.insert(name.clone(), count)),
                        (Ok(_), Err(error)) => *all = Err(error.to_string()),
                        (Err(_), _) => break,
                    }
                }
            });
        }
    });
    counted.into_inner().expect(lock)
}

fn stored<T: serde::de::DeserializeOwned>(path: &str) -> Result<T, Box<dyn Error>> {
    serde_json::from_str(&read(path)?).map_err(|error| format!("{path}: {error}").into())
}

fn read(path: &str) -> Result<String, Box<dyn Error>> {
    std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}").into())
}
