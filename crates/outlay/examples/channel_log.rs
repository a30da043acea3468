//! Draws a log of daily spends, conversions and revenue of channels whose true curves are known:
//! `cargo run --example channel_log -- examples/channels/truth.toml SEED > log.csv`.
//!
//! Spends vary evenly between 0.2 and 1.8 times the mean spend of the channel. The variance of the
//! counts is a multiple of their mean (`dispersion`), and a reward varies evenly between half and
//! one and a half times its mean.

use std::error::Error;

use outlay::Problem;
use outlay::problem::{CompletionLaw, NoFiles};
use outlay::random::{Draws, Purpose};

/// The number of days of a log.
pub(crate) const DAYS: u64 = 548;

/// One day of one channel.
pub(crate) struct Row {
    /// The day, from 1 on.
    pub(crate) day: u64,
    /// The position of the channel.
    pub(crate) task: usize,
    /// The spend, in cents precisely.
    pub(crate) spend: f64,
    /// The number of conversions.
    pub(crate) count: u64,
    /// The sum of their rewards, in cents precisely.
    pub(crate) revenue: f64,
}

/// The log of a problem whose tasks have `current`, `value` and `volume`.
pub(crate) fn rows(truth: &Problem, seed: u64) -> Vec<Row> {
    let dispersion = match truth.environment().completions {
        Some(CompletionLaw::NegativeBinomial { dispersion }) => dispersion,
        _ => 1.0,
    };
    let (spends, counts) =
        (Draws::new(seed, Purpose::Instance), Draws::new(seed, Purpose::Completion));
    let rewards = Draws::new(seed, Purpose::Reward);
    let mut rows = Vec::new();
    for day in 1..=DAYS {
        for (task, channel) in truth.tasks().iter().enumerate() {
            let (mean, value) = (channel.current().unwrap_or(0.0), channel.value().unwrap_or(0.0));
            let spend = cents(mean * (0.2 + 1.6 * spends.round(day).uniform(task)));
            let expected = channel.volume() * channel.curve().success(spend);
            let count = drawn_count(expected, dispersion, counts.round(day).uniform(task));
            let mut bits = rewards.round(day).many(task);
            let sum: f64 = (0..count).map(|_| value * (0.5 + bits.next_uniform())).sum();
            rows.push(Row { day, task, spend, count, revenue: cents(sum) });
        }
    }
    rows
}

fn cents(amount: f64) -> f64 {
    (amount * 100.0).round() / 100.0
}

/// A negative binomial count (Poisson if `dispersion` is 1), by inversion.
fn drawn_count(mean: f64, dispersion: f64, uniform: f64) -> u64 {
    const MOST: u64 = 100_000;
    let excess = dispersion - 1.0;
    let is_poisson = excess <= 0.0;
    let mut chance = if is_poisson { (-mean).exp() } else { dispersion.powf(-mean / excess) };
    let (mut count, mut left) = (0, uniform - chance);
    while left >= 0.0 && count < MOST {
        let next = (count + 1) as f64;
        chance *= if is_poisson {
            mean / next
        } else {
            (count as f64 + mean / excess) / next * excess / dispersion
        };
        count += 1;
        left -= chance;
    }
    count
}

/// The date of a day of the log, which starts on 2025-01-01.
fn date(day: u64) -> String {
    const MONTHS: [u64; 19] =
        [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31, 31, 28, 31, 30, 31, 30, 31];
    let (mut month, mut left) = (0, day);
    while month + 1 < MONTHS.len() && left > MONTHS[month] {
        left -= MONTHS[month];
        month += 1;
    }
    let (year, month) = (2025 + month / 12, month % 12 + 1);
    format!("{year}-{month:02}-{left:02}")
}

/// The log as CSV.
pub(crate) fn csv(truth: &Problem, seed: u64) -> String {
    let mut text = "date,channel,spend,conversions,revenue\n".to_owned();
    for row in rows(truth, seed) {
        let (date, channel) = (date(row.day), truth.tasks()[row.task].name());
        text += &format!("{date},{channel},{},{},{}\n", row.spend, row.count, row.revenue);
    }
    text
}

/// Prints the log.
pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: channel_log TRUTH.toml [SEED]")?;
    let seed = arguments.next().map_or(Ok(1), |seed| seed.parse())?;
    let truth = Problem::from_toml(&std::fs::read_to_string(path)?, &NoFiles)?;
    print!("{}", csv(&truth, seed));
    Ok(())
}
