//! Whole simulated rounds per second on one core, compared with the same algorithm written by hand.
//!
//! `cargo run --release -p outlay-bench-engine --bin rounds [-- --quick]`; a word such as `power`
//! or `kl-ucb-plus` runs only the cases whose instance and learner contain it. Nothing is asserted:
//! a loaded machine must not fail a build. Ratios are taken within one run.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and a broken one must stop"
)]

use outlay::instance::Instance;
use outlay_bench_engine::by_hand;
use outlay_bench_engine::clock::Effort;
use outlay_bench_engine::play::{BY_HAND, measure};
use outlay_bench_engine::table::{Table, seconds};

/// Instances with their horizons; true if there is a hand-written version.
const INSTANCES: [(&str, u64, bool); 6] = [
    ("square-roots", 1_000_000, true),
    ("power:tasks=10", 1_000_000, true),
    ("power:tasks=100", 100_000, true),
    ("k-armed", 1_000_000, true),
    ("m-set", 1_000_000, false),
    ("saturating-jobs", 500_000, false),
];
const LEARNERS: [&str; 7] =
    ["algorithm-1", "kl-ucb-plus", "kl-ucb-mixture", "hoeffding", "thompson", "cucb", "uniform"];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let filter =
        arguments.into_iter().find(|argument| !argument.starts_with("--")).unwrap_or_default();
    let effort = Effort { seconds: if quick { 0.3 } else { 3.0 }, blocks: 200 };
    rounds(&filter, if quick { 10 } else { 1 }, effort);
    if "parts".contains(&filter) {
        parts(Effort { seconds: if quick { 0.03 } else { 0.3 }, blocks: 2000 });
    }
}

fn rounds(filter: &str, shorter: u64, effort: Effort) {
    let mut table = Table::new(&[
        "instance",
        "learner",
        "rounds/s",
        "a round",
        "time of `algorithm-1`",
        "time by hand",
        "gap",
        "regret",
    ]);
    for (instance, horizon, has_limit) in INSTANCES {
        let wanted = |learner: &&str| format!("{instance} {learner}").contains(filter);
        if !LEARNERS.iter().any(wanted) {
            continue;
        }
        let horizon = horizon / shorter;
        let paper = measure(instance, "algorithm-1", horizon, 1, effort).unwrap();
        let by_hand = has_limit.then(|| measure(instance, BY_HAND, horizon, 1, effort).unwrap());
        let by_hand_learner = if instance == "k-armed" { "cucb" } else { "algorithm-1" };
        let others =
            LEARNERS.iter().filter(|learner| **learner != "algorithm-1" && wanted(learner));
        let others = others
            .map(|&learner| (learner, measure(instance, learner, horizon, 1, effort).unwrap()));
        let rows = std::iter::once(("algorithm-1", paper.clone()))
            .chain(others)
            .chain(by_hand.clone().map(|measured| (BY_HAND, measured)));
        for (learner, measured) in rows {
            let against_hand = by_hand.as_ref().filter(|_| learner == by_hand_learner);
            table.row([
                instance.to_owned(),
                learner.to_owned(),
                thousands(measured.rounds_per_second),
                seconds(1.0 / measured.rounds_per_second),
                format!("{:.2}x", paper.rounds_per_second / measured.rounds_per_second),
                against_hand.map_or_else(String::new, |hand| {
                    format!("{:.2}x", hand.rounds_per_second / measured.rounds_per_second)
                }),
                measured.oracle_gap.map_or_else(|| "none".to_owned(), |gap| format!("{gap:.0e}")),
                format!("{:.6}", measured.regret),
            ]);
        }
    }
    table.print("Whole simulated rounds, one core");
    println!(
        "\nTimes are those of a round, as multiples: of `algorithm-1` on the instance, and of the same algorithm by hand."
    );
}

fn parts(effort: Effort) {
    let mut table =
        Table::new(&["instance", "draws", "indices", "one pass of the price", "success by powf"]);
    for (instance, ..) in &INSTANCES[..3] {
        let problem = instance.parse::<Instance>().unwrap().problem(1000, 1).unwrap();
        let (exponents, _) = by_hand::powers(&problem).unwrap();
        let parts = by_hand::parts(&exponents, effort);
        table.row([
            instance.to_string(),
            seconds(parts.draws),
            seconds(parts.indices),
            seconds(parts.pass),
            seconds(parts.success),
        ]);
    }
    table.print("The parts of a round, every task in each, by hand");
}

/// A whole number with commas.
fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
