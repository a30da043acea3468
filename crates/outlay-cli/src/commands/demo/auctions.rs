//! The problem of the demo: nine kinds of auction with recorded closing prices, as in
//! `examples/auctions`.

use outlay::Problem;
use outlay::problem::NoFiles;
use serde_json::{Value, json};

use crate::failure::Failure;

const PRICES: &str = include_str!("../../../../../examples/data/ebay_closing_prices.csv");
/// Budget of one round.
const BUDGET: f64 = 1200.0;
/// Mean delay of reports in rounds.
const MEAN_DELAY: f64 = 6.0;
/// Concentration `a + b` of the beta distribution of the rewards.
const CONCENTRATION: f64 = 6.0;

/// Name, item and days in the record, and the mean reward of winning as a share of the largest.
const KINDS: [(&str, &str, &str, f64); 9] = [
    ("watch, 3 days", "Cartier wristwatch", "3", 0.9),
    ("watch, 5 days", "Cartier wristwatch", "5", 1.0),
    ("watch, 7 days", "Cartier wristwatch", "7", 0.95),
    ("pda, 3 days", "Palm Pilot M515 PDA", "3", 0.405),
    ("pda, 5 days", "Palm Pilot M515 PDA", "5", 0.45),
    ("pda, 7 days", "Palm Pilot M515 PDA", "7", 0.4275),
    ("console, 3 days", "Xbox game console", "3", 0.225),
    ("console, 5 days", "Xbox game console", "5", 0.25),
    ("console, 7 days", "Xbox game console", "7", 0.2375),
];

/// The campaign's problem: curves without values.
pub(super) fn campaign() -> Result<Value, Failure> {
    let tasks =
        KINDS.iter().map(|kind| task(kind).map(Value::Object)).collect::<Result<Vec<_>, _>>()?;
    Ok(json!({ "budget": BUDGET, "task": tasks }))
}

/// The simulated environment: the problem with its rewards.
pub(super) fn world() -> Result<Problem, Failure> {
    let mut document = campaign()?;
    document["environment"] = json!({ "delay": { "law": "geometric", "mean": MEAN_DELAY } });
    for (task, (.., worth)) in document["task"].as_array_mut().into_iter().flatten().zip(KINDS) {
        task["reward"] = match worth {
            // The largest mean leaves no room for variation.
            1.0 => json!({ "law": "constant", "mean": 1.0 }),
            mean => json!({ "law": "beta", "mean": mean, "concentration": CONCENTRATION }),
        };
    }
    Problem::from_value(&document, &NoFiles)
        .map_err(|errors| Failure::problem("the demo's problem", &errors))
}

fn task(
    (name, item, days, _): &(&str, &str, &str, f64),
) -> Result<serde_json::Map<String, Value>, Failure> {
    let mut reader = csv::Reader::from_reader(PRICES.as_bytes());
    let mut prices = Vec::new();
    for row in reader.records() {
        let row = row?;
        if (row.get(0), row.get(1)) == (Some(item), Some(days)) {
            prices.push(row.get(3).unwrap_or_default().parse::<f64>()?);
        }
    }
    let curve = json!({ "family": "empirical", "samples": prices });
    Ok([("name".to_owned(), json!(name)), ("curve".to_owned(), curve)].into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::ProblemFile;
    use std::path::Path;

    #[test]
    fn the_demo_uses_the_problem_of_the_examples() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/auctions/auctions.toml");
        let example = ProblemFile::read(Path::new(path)).unwrap().problem().unwrap();
        let ours = world().unwrap();
        assert_eq!(ours.budget(), example.budget());
        assert_eq!(ours.tasks().len(), example.tasks().len());
        for (ours, example) in ours.tasks().iter().zip(example.tasks()) {
            assert_eq!(ours.name(), example.name());
            assert_eq!(ours.reward().map(|law| law.mean()), example.value(), "{}", ours.name());
            for bid in [0.0, 42.0, 121.5, 150.0, 233.0, 480.0, 1200.0] {
                assert_eq!(
                    ours.curve().success(bid),
                    example.curve().success(bid),
                    "{} at {bid}",
                    ours.name()
                );
            }
        }
    }
}
