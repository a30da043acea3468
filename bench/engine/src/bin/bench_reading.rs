//! Seconds of one plain pass over a file: all records of a CSV file, or one JSON document.
#![allow(clippy::print_stdout, reason = "a benchmark prints")]

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: bench_reading FILE")?;
    let begin = Instant::now();
    let text = std::fs::read_to_string(&path)?;
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
    println!("{}", serde_json::json!({ "seconds": seconds, "records": count }));
    Ok(())
}
