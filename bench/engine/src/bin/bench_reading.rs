//! Seconds of one plain pass over a file: all records of a CSV file, or one JSON document. With
//! `--problem` also those of reading a JSON problem, from its text and from a parsed document as the
//! service has it.
#![allow(clippy::print_stdout, reason = "a benchmark prints")]

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use outlay::Problem;
use outlay::problem::NoFiles;

/// The number of repetitions of `--problem`, of which the best counts.
const REPETITIONS: usize = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let record = match &arguments[..] {
        [path] => one_pass(path)?,
        [flag, path] if flag == "--problem" => problem(path)?,
        _ => return Err("usage: bench_reading [--problem] FILE".into()),
    };
    println!("{record}");
    Ok(())
}

fn one_pass(path: &str) -> Result<serde_json::Value, Box<dyn Error>> {
    let begin = Instant::now();
    let text = std::fs::read_to_string(path)?;
    let count = if path.ends_with(".json") {
        black_box(serde_json::from_str::<serde_json::Value>(&text)?);
        1
    } else {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let mut record = csv::StringRecord::new();
        let mut count = 0_u64;
        while reader.read_record(&mut record)? {
            black_box(&record);
            count += 1;
        }
        count
    };
    let seconds = begin.elapsed().as_secs_f64();
    Ok(serde_json::json!({ "seconds": seconds, "records": count }))
}

fn problem(path: &str) -> Result<serde_json::Value, Box<dyn Error>> {
    let text = std::fs::read_to_string(path)?;
    let document: serde_json::Value = serde_json::from_str(&text)?;
    let pass = best(|| serde_json::from_str::<serde_json::Value>(&text))?;
    let from_text = best(|| Problem::from_json(&text, &NoFiles))?;
    let from_value = best(|| Problem::from_value(&document, &NoFiles))?;
    Ok(serde_json::json!({
        "pass_seconds": pass,
        "text_seconds": from_text,
        "value_seconds": from_value,
    }))
}

/// The smallest time of several runs.
fn best<T, E>(run: impl Fn() -> Result<T, E>) -> Result<f64, E> {
    let mut best = f64::INFINITY;
    for _ in 0..REPETITIONS {
        let begin = Instant::now();
        black_box(run()?);
        best = best.min(begin.elapsed().as_secs_f64());
    }
    Ok(best)
}
