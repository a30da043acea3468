//! Campaigns of learners whose state is more than counts, saved by the version that kept these
//! states as JSON values: they load, are saved unchanged, and continue as that version did.

use std::path::Path;

use outlay::Problem;
use outlay::campaign::{Campaign, CampaignState};
use outlay::problem::NoFiles;
use serde_json::Value;

fn read(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn states_saved_as_json_values_continue() {
    let problem = Problem::from_json(&read("renamed-learners/problem.json"), &NoFiles).unwrap();
    let rows: Vec<Value> = serde_json::from_str(&read("learner-states.json")).unwrap();
    assert_eq!(rows.len(), 4);
    for row in rows {
        let learner = &row["learner"];
        let state = CampaignState::from_json(&row["state"].to_string()).unwrap();
        let mut campaign = Campaign::load(&problem, &state).unwrap();
        let saved: Value = serde_json::from_str(&campaign.save().to_json()).unwrap();
        assert_eq!(saved["learnt"], row["state"]["learnt"], "{learner}");
        let next: Vec<Vec<f64>> = serde_json::from_value(row["next"].clone()).unwrap();
        for expected in next {
            let found = &campaign.allocate(40.0, None).unwrap().allocation.spend;
            for (found, expected) in found.iter().zip(expected) {
                // The oracle may change in the last digits.
                assert!((found - expected).abs() <= 1e-9 * expected, "{learner}: {found}");
            }
        }
    }
}
