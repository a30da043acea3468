//! Files that an earlier version wrote, when `kl-ucb-plus` was called `sharp`, `algorithm-1`
//! `paper`, `kl-ucb-mixture` `tight` and `kl-ucb` `kl-log`: they load, and the next allocation is
//! the one that the earlier version computed from them.

use std::path::Path;

use outlay::Problem;
use outlay::campaign::{Campaign, CampaignState};
use outlay::ledger::Ledger;
use outlay::problem::NoFiles;
use serde_json::Value;

fn read(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/renamed-learners");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

fn expected(kind: &str) -> Vec<(String, String, Vec<f64>)> {
    let all: Value = serde_json::from_str(&read("expected.json")).unwrap();
    let rows: Vec<(String, String, Vec<f64>)> = serde_json::from_value(all[kind].clone()).unwrap();
    assert_eq!(rows.len(), 5);
    rows
}

/// The oracle may change in the last digits.
fn assert_same(found: &[f64], expected: &[f64], learner: &str) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-9 * expected, "{learner}: {found} {expected}");
    }
}

fn file_name(kind: &str, learner: &str) -> String {
    format!("{kind}-{}.json", learner.replace([':', '='], "-"))
}

#[test]
fn states_of_the_daily_loop_continue() {
    for (old, new, spend) in expected("ledger") {
        let mut ledger = Ledger::from_json(&read(&file_name("ledger", &old))).unwrap();
        assert_eq!(ledger.settings().learner.to_string(), new);
        let round = ledger.next(None, &[]).unwrap();
        assert_eq!(round.round, 5);
        assert_same(&round.allocation.spend, &spend, &old);
        assert!(ledger.to_json().contains(&format!("\"learner\": \"{new}\"")));
    }
}

#[test]
fn states_of_campaigns_continue() {
    let problem = Problem::from_json(&read("problem.json"), &NoFiles).unwrap();
    for (old, new, spend) in expected("campaign") {
        let state = CampaignState::from_json(&read(&file_name("campaign", &old))).unwrap();
        let mut campaign = Campaign::load(&problem, &state).unwrap();
        assert_eq!(campaign.learner().to_string(), new);
        assert_same(&campaign.allocate(40.0, None).unwrap().allocation.spend, &spend, &old);
    }
}
