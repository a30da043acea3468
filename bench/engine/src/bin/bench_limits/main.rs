//! The engine compared with the limits of the machine, call by call in one process. Prints one line
//! of JSON per case.
//!
//! `bench_limits SECONDS [FAMILY…]`: seconds per case, and families from the list below (default:
//! all).
#![allow(clippy::print_stdout, reason = "its output is its purpose")]

mod dense;
mod empirical;
mod hill;
mod steps;
mod threads;
mod turns;

use std::error::Error;

use serde_json::Value;
use turns::Effort;

/// Measures the cases of one family.
type Measure = fn(Effort) -> Vec<Value>;

/// One file of this folder per family. A new family is a file and a line here.
const FAMILIES: [(&str, Measure); 5] = [
    ("dense", dense::measure),
    ("threads", threads::measure),
    ("hill", hill::measure),
    ("steps", steps::measure),
    ("empirical", empirical::measure),
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (seconds, wanted) =
        arguments.split_first().ok_or("usage: bench_limits SECONDS [FAMILY…]")?;
    let effort = Effort { seconds: seconds.parse()?, stretches: 5 };
    for (name, measure) in FAMILIES {
        if wanted.is_empty() || wanted.iter().any(|family| family == name) {
            for case in measure(effort) {
                println!("{case}");
            }
        }
    }
    Ok(())
}
