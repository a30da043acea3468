//! Draws a log of hourly spends, purchases and revenue from the seasonal example:
//! `cd examples/seasonal && cargo run --release -p outlay --example seasonal_log > log.csv`.
//!
//! Two weeks of the regions of known.toml with its traffic. The spend of a region varies evenly
//! between 0.3 and 1.7 times its share of the mean budget, whatever the hour.

use std::error::Error;

use outlay::Problem;
use outlay::feedback::Feedback;
use outlay::problem::Files;
use outlay::random::{Draws, Purpose};
use outlay::simulation::Environment;

const HOURS: u64 = 336;
const SEED: u64 = 20_261_118;

/// The present folder.
struct Folder;

impl Files for Folder {
    fn read(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(path).map_err(|error| error.to_string())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let problem = Problem::from_toml(&std::fs::read_to_string("known.toml")?, &Folder)?;
    let environment = Environment::new(&problem, SEED)?;
    let spends = Draws::new(SEED, Purpose::Instance);
    let tasks = problem.tasks();
    let profiles = problem.environment();
    println!("hour,region,spend,orders,revenue,traffic,volume");
    for hour in 1..=HOURS {
        let of_hour = |list: &[f64]| list[(hour as usize - 1) % list.len()];
        let scale: Vec<f64> =
            tasks.iter().map(|task| of_hour(&profiles.scale[task.name()])).collect();
        let volume: Vec<f64> =
            tasks.iter().map(|task| of_hour(&profiles.volume[task.name()])).collect();
        let mean = problem.budget() / tasks.len() as f64;
        let cents = |amount: f64| (amount * 100.0).round() / 100.0;
        let spend: Vec<f64> = (0..tasks.len())
            .map(|task| cents(mean * (0.3 + 1.4 * spends.round(hour).uniform(task))))
            .collect();
        let curves = tasks.iter().zip(&spend).zip(&scale);
        let success: Vec<f64> =
            curves.map(|((task, spend), scale)| task.curve().success(spend / scale)).collect();
        let mut outcomes = vec![outlay::feedback::Outcome::Missing; tasks.len()];
        // The environment knows the volume of the hour.
        environment.play(hour, &success, Feedback::Censored, &mut outcomes);
        for (place, task) in tasks.iter().enumerate() {
            let drawn = outcomes[place].completions();
            let revenue = cents(drawn.reward_sum() as f64 / 1e9 * problem.reward_max());
            println!(
                "{hour},{},{},{},{revenue},{},{}",
                task.name(),
                spend[place],
                drawn.count(),
                scale[place],
                volume[place]
            );
        }
    }
    Ok(())
}
