//! The speed of the oracle compared with Clarabel and with the limits of the machine.
//!
//! `cargo run --release -p outlay-bench-engine --bin oracle [-- --quick]`; a word such as `hill`
//! or `steps` runs only the cases whose name contains it. Nothing is asserted: a loaded machine
//! must not fail a build. Ratios are taken within one run.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and a broken one must stop"
)]

mod conic;
mod sigmoid;
mod steps;

use std::hint::black_box;

use outlay::{Options, Oracle, Status};
use outlay_bench_engine::clock::{CYCLE, Effort, time};
use outlay_bench_engine::instances::{Instance, Kind, Random, instance};
use outlay_bench_engine::limits;
use outlay_bench_engine::table::{Table, seconds, span};

const GOAL: f64 = 1000.0;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let filter =
        arguments.into_iter().find(|argument| !argument.starts_with("--")).unwrap_or_default();
    let runs = Runs {
        effort: if quick {
            Effort { seconds: 0.03, blocks: 200 }
        } else {
            Effort { seconds: 0.3, blocks: 2000 }
        },
        seeds: if quick { 1 } else { 5 },
        filter,
    };
    println!(
        "Seconds per call: the least mean over blocks of calls. Cold: no price is remembered. Warm: every value moves by up to 0.5 %."
    );
    runs.concave();
    runs.others();
    runs.staircases();
    sigmoid::run(runs.effort, runs.seeds, |name| runs.wants(name));
    runs.limits();
}

struct Runs {
    effort: Effort,
    seeds: u64,
    filter: String,
}

/// The times of one instance.
#[derive(Clone, Copy)]
struct Measured {
    cold: f64,
    warm: f64,
    value: f64,
    nodes: u64,
    states: u64,
    gap: f64,
    limited: bool,
}

impl Runs {
    fn wants(&self, name: &str) -> bool {
        name.contains(&self.filter)
    }

    /// Cold calls on the instance itself, warm ones on values that move a little from call to call.
    fn measure(&self, instance: &Instance, seed: u64) -> Measured {
        self.measure_with(instance, seed, &Options::default())
    }

    fn measure_with(&self, instance: &Instance, seed: u64, options: &Options) -> Measured {
        let Instance { problem, values } = instance;
        let mut random = Random::new(seed + 1000);
        let mut jitter =
            || values.iter().map(|value| value * random.between(0.995, 1.005)).collect();
        let moving: Vec<Vec<f64>> = (0..CYCLE).map(|_| jitter()).collect();
        let mut oracle = Oracle::new(problem);
        let cold = time(self.effort, || {
            oracle.reset();
            black_box(oracle.allocate(black_box(values), 1.0, options).unwrap());
        });
        oracle.reset();
        let answer = oracle.allocate(values, 1.0, options).unwrap();
        let (value, nodes, states, gap, limited) = (
            answer.value,
            answer.nodes,
            answer.labels,
            answer.gap(),
            answer.status == Status::Limit,
        );
        let mut round = 0;
        let warm = time(self.effort, || {
            round += 1;
            black_box(oracle.allocate(black_box(&moving[round % CYCLE]), 1.0, options).unwrap());
        });
        Measured { cold, warm, value, nodes, states, gap, limited }
    }

    fn concave(&self) {
        if !self.wants("concave") {
            return;
        }
        let mut table = Table::new(&[
            "K",
            "cold",
            "warm",
            "gap",
            "Clarabel",
            "its value against ours",
            "faster, cold",
            "goal",
        ]);
        for tasks in [10, 100, 10_000, 1_000_000] {
            let (mut ours, mut peers, mut ratios, mut short) =
                (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            for seed in 1..=if tasks > 1000 { self.seeds.min(3) } else { self.seeds } {
                let instance = instance(Kind::Concave, tasks, seed);
                let measured = self.measure(&instance, seed);
                if tasks <= 10_000 {
                    let peer = conic::solve(&instance, self.effort);
                    ratios.push(peer.seconds / measured.cold);
                    short.push(peer.value / measured.value - 1.0);
                    peers.push(peer.seconds);
                    println!(
                        "concave K = {tasks} seed {seed}: Clarabel {:?} in {} iterations",
                        peer.status, peer.iterations
                    );
                }
                ours.push(measured);
            }
            let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
            let has_goal = tasks == 100 || tasks == 10_000;
            table.row([
                tasks.to_string(),
                times(&ours, |measured| measured.cold),
                times(&ours, |measured| measured.warm),
                format!("{:.0e}", ours.iter().map(|measured| measured.gap).fold(0.0, f64::max)),
                span(&peers, f64::total_cmp, seconds),
                span(&short, f64::total_cmp, |short| format!("{short:+.0e}")),
                span(&ratios, f64::total_cmp, |ratio| format!("{ratio:.0}x")),
                if has_goal { goal(least) } else { String::new() },
            ]);
        }
        table.print("Concave: power, exponential and saturating, a third each");
    }

    fn others(&self) {
        let cases: [(&str, Kind, &[usize]); 9] = [
            ("power", Kind::Power, &[10, 100, 10_000, 1_000_000]),
            ("hill", Kind::Hill, &[10, 100, 1000]),
            ("hill, equal curves and values", Kind::EqualHill, &[100, 1000]),
            ("steps, 1-4 jumps", Kind::Steps, &[10, 100, 1000, 10_000]),
            ("steps, 100 jumps", Kind::Stairs { jumps: 100 }, &[100]),
            ("empirical, 2000 samples", Kind::Empirical { samples: 2000 }, &[100]),
            ("empirical, 1000 samples", Kind::Empirical { samples: 1000 }, &[1000]),
            ("thresholds, fund K/20", Kind::Sets, &[1000, 10_000]),
            ("mixed, every family", Kind::Mixed, &[100, 1000]),
        ];
        let mut table =
            Table::new(&["curves", "K", "cold", "warm", "nodes", "states", "worst gap", ""]);
        for (name, kind, sizes) in cases.into_iter().filter(|(name, ..)| self.wants(name)) {
            for &tasks in sizes {
                let ours: Vec<Measured> = (1..=self.seeds)
                    .map(|seed| self.measure(&instance(kind, tasks, seed), seed))
                    .collect();
                let limited = ours.iter().filter(|measured| measured.limited).count();
                table.row([
                    name.to_owned(),
                    tasks.to_string(),
                    times(&ours, |measured| measured.cold),
                    times(&ours, |measured| measured.warm),
                    span(
                        &ours,
                        |a, b| a.nodes.cmp(&b.nodes),
                        |measured| measured.nodes.to_string(),
                    ),
                    span(
                        &ours,
                        |a, b| a.states.cmp(&b.states),
                        |measured| measured.states.to_string(),
                    ),
                    format!("{:.0e}", ours.iter().map(|measured| measured.gap).fold(0.0, f64::max)),
                    if limited > 0 {
                        format!("{limited} of {} stopped at a limit", ours.len())
                    } else {
                        String::new()
                    },
                ]);
            }
        }
        table.print(&format!("Other curves ({} instances each, least .. most)", self.seeds));
    }

    /// The time of a call in passes over the data.
    fn limits(&self) {
        if !self.wants("limits") {
            return;
        }
        let mut table = Table::new(&[
            "K",
            "triad",
            "exp, library",
            "exp, vector",
            "concave warm / triad",
            "/ library exp",
            "/ vector exp",
        ]);
        for tasks in [10, 100, 10_000, 1_000_000] {
            let triad = limits::triad(tasks, self.effort);
            let library = limits::exponentials(tasks, self.effort);
            let vector = limits::vector_exponentials(tasks, self.effort);
            let warm = self.measure(&instance(Kind::Concave, tasks, 1), 1).warm;
            table.row([
                tasks.to_string(),
                seconds(triad),
                seconds(library),
                seconds(vector),
                format!("{:.1}", warm / triad),
                format!("{:.1}", warm / library),
                format!("{:.1}", warm / vector),
            ]);
        }
        table.print("The machine's limit: one pass over K numbers");
        println!("\nerror of the vector exponential: {:.1e}", limits::vector_error());
    }
}

fn times(measured: &[Measured], which: impl Fn(&Measured) -> f64) -> String {
    span(&measured.iter().map(which).collect::<Vec<f64>>(), f64::total_cmp, seconds)
}

fn goal(ratio: f64) -> String {
    format!(">= {GOAL}x: {}", if ratio >= GOAL { "met" } else { "NOT met" })
}
