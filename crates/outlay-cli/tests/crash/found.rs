//! The results of an experiment, and their row for `docs/reference/reliability.md`.

use std::io::Write;
use std::time::Instant;

use super::check::{Fault, Kind};
use super::clients::Promises;

/// Names the file that gets one row per experiment, if set: see `long`.
const RESULTS: &str = "OUTLAY_CRASH_RESULTS";

#[derive(Debug)]
pub struct Found {
    name: String,
    cycles: u64,
    done: u64,
    pub faulty_cycles: u64,
    /// The faults of the first faulty cycle.
    pub first: Vec<String>,
    pub outcomes: usize,
    pub asks: usize,
    /// Amendments that were acknowledged.
    pub amendments: u64,
    lost: usize,
    double: usize,
    invented: usize,
    begun: Instant,
}

impl Found {
    pub fn new(name: &str, cycles: u64) -> Self {
        Self {
            name: name.to_owned(),
            cycles,
            done: 0,
            faulty_cycles: 0,
            first: Vec::new(),
            outcomes: 0,
            asks: 0,
            amendments: 0,
            lost: 0,
            double: 0,
            invented: 0,
            begun: Instant::now(),
        }
    }

    /// Adds the results of one or more cycles.
    pub fn add(&mut self, cycles: u64, promises: &Promises, faults: Vec<Fault>) {
        let number = |kind| faults.iter().filter(|fault| fault.0 == kind).count();
        self.lost += number(Kind::Lost);
        self.double += number(Kind::Double);
        self.invented += number(Kind::Invented);
        self.outcomes += promises.kept.len();
        self.asks += promises.asked.len();
        self.amendments += promises.amended;
        self.faulty_cycles += u64::from(!faults.is_empty());
        if self.first.is_empty() {
            self.first = faults
                .into_iter()
                .take(5)
                .map(|(_, fault)| format!("cycle {}: {fault}", self.done))
                .collect();
        }
        let before = self.done;
        self.done += cycles;
        if before / 50 != self.done / 50 {
            eprintln!(
                "{}: {} of {} cycles, {} s",
                self.name,
                self.done,
                self.cycles,
                self.begun.elapsed().as_secs()
            );
        }
    }

    /// Prints the results and appends a row to the results file, if one is set. `detail` describes
    /// the experiment further.
    pub fn report(&self, detail: &str) {
        let Self { name, cycles, outcomes, asks, lost, double, invented, .. } = self;
        println!(
            "{name}: {cycles} cycles{}{detail}, {outcomes} outcomes and {asks} asks acknowledged, {lost} lost, {double} double, \
             {invented} invented, {} cycles with faults",
            if detail.is_empty() { "" } else { ", " },
            self.faulty_cycles
        );
        let Some(path) = std::env::var_os(RESULTS) else { return };
        let seconds = self.begun.elapsed().as_secs();
        let version = env!("CARGO_PKG_VERSION");
        let build = if cfg!(debug_assertions) { " (debug)" } else { "" };
        let row = format!(
            "{name},{cycles},{outcomes},{asks},{lost},{double},{invented},{seconds},{version}{build},{detail}\n"
        );
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        // A single write: other tests may append at the same time.
        file.and_then(|mut file| file.write_all(row.as_bytes())).expect("a row for the results");
    }

    /// Fails if any acknowledged item is missing or doubled, or if any item was invented.
    pub fn assert_no_faults(&self) {
        assert!(self.outcomes > 100, "too few outcomes were reported: {self:?}");
        assert_eq!(
            (self.faulty_cycles, self.lost, self.double, self.invented),
            (0, 0, 0, 0),
            "{:#?}",
            self.first
        );
    }
}
