//! Seconds of one plain pass over a file: all records of a CSV file, or one JSON document.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and a broken one must stop"
)]

use std::hint::black_box;
use std::time::Instant;

fn main() {
    let path = std::env::args().nth(1).unwrap();
    let begin = Instant::now();
    let text = std::fs::read_to_string(&path).unwrap();
    let count = if path.ends_with(".json") {
        black_box(serde_json::from_str::<serde_json::Value>(&text).unwrap());
        1
    } else {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let mut record = csv::StringRecord::new();
        let mut count = 0_u64;
        while reader.read_record(&mut record).unwrap() {
            black_box(&record);
            count += 1;
        }
        count
    };
    let seconds = begin.elapsed().as_secs_f64();
    println!("{}", serde_json::json!({ "seconds": seconds, "records": count }));
}
